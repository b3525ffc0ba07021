"""CP sharding a second time, from DESIGN section 7: which rank owns which run of which piece."""
TILE_OVERHEAD_COLUMNS = 64


def tile_pairs(start, rows, tile):
    """Query-key pairs that rows [start, start + rows) of a piece cost in whole tiles."""
    pairs, end = 0, start + rows
    while start < end:
        stop = min(end, start + tile)
        pairs += tile * (-(-stop // tile) * tile + TILE_OVERHEAD_COLUMNS)
        start = stop
    return pairs


def deal(tokens, slots, turn):
    """Sizes of the slots that a run is cut into: equal shares, the remainder round robin."""
    sizes = [tokens // slots] * slots
    for i in range(tokens % slots):
        sizes[(turn + i) % slots] += 1
    return sizes


def chunks_of(bounds, cp, lengths):
    """Chunks of every rank, from the (piece, start, slot) at which each slot's run begins."""
    ranks = [[] for _ in range(cp)]
    for (piece, start, slot), (next_piece, next_start, _) in zip(bounds, bounds[1:]):
        end = next_start if next_piece == piece else lengths[piece]
        rank = ranks[min(slot, 2 * cp - 1 - slot)]
        if end == start:
            continue
        if rank and rank[-1][0] == piece and rank[-1][1] + rank[-1][2] == start:
            rank[-1][2] += end - start
        else:
            rank.append([piece, start, end - start])
    return ranks


def per_document(lengths, cp):
    bounds, turn, slots = [], 0, 2 * cp
    for piece, length in enumerate(lengths):
        at = 0
        for slot, size in enumerate(deal(length, slots, turn)):
            bounds.append((piece, at, slot))
            at += size
        turn += length % slots
    return chunks_of(bounds + [(len(lengths), 0, 0)], cp, lengths)


def per_sequence(lengths, cp):
    """As if the micro-batch were one document; a slot also begins anew where a piece does."""
    starts, at = [], 0
    for slot, size in enumerate(deal(sum(lengths), 2 * cp, 0)):
        starts.append((at, slot))
        at += size
    bounds, base = [], 0
    for piece, length in enumerate(lengths):
        slot_at_start = max(slot for at, slot in starts if at <= base)
        bounds.append((piece, 0, slot_at_start))
        bounds += [(piece, at - base, slot) for at, slot in starts if base < at < base + length]
        base += length
    return chunks_of(bounds + [(len(lengths), 0, 0)], cp, lengths)


RULES = {"per-document": per_document, "per-sequence": per_sequence}


def attention(ranks, tile):
    return [sum(tile_pairs(start, rows, tile) for _, start, rows in rank) for rank in ranks]


def expected(lengths, strategy, cp, tile):
    """(rule used, chunks of every rank); per-document wins ties. Of hybrid: what it has to beat."""
    names = RULES if strategy in ("adaptive", "hybrid") else [strategy]
    plans = {name: RULES[name](lengths, cp) for name in names}
    return min(plans.items(), key=lambda plan: max(attention(plan[1], tile)))


def check_cover(lengths, ranks):
    """Every token of every piece on exactly one rank; tables in order; totals within one token."""
    owned = sorted((piece, start, rows) for rank in ranks for piece, start, rows in rank)
    at = dict.fromkeys(range(len(lengths)), 0)
    for piece, start, rows in owned:
        assert rows >= 1 and start == at[piece], (piece, start, at[piece])
        at[piece] += rows
    assert list(at.values()) == lengths
    for rank in ranks:
        assert rank == sorted(rank)
    totals = [sum(rows for _, _, rows in rank) for rank in ranks]
    assert max(totals) - min(totals) <= 1, totals


def check(microbatch, strategy, cp, tile):
    lengths = [piece["length"] for piece in microbatch["pieces"]]
    ranks = [rank["chunks"] for rank in microbatch["ranks"]]
    check_cover(lengths, ranks)
    assert len(ranks) == cp
    name, right = expected(lengths, strategy, cp, tile)
    if microbatch["sharding"] == "hybrid":
        # Its cuts are its own affair: there may be none that touch, and they must pay.
        assert strategy == "hybrid"
        found, beaten = [(max(attention(plan, tile)), sum(map(len, plan)))
                         for plan in (ranks, right)]
        assert found < beaten
        for rank in ranks:
            for (piece, start, rows), (next_piece, next_start, _) in zip(rank, rank[1:]):
                assert piece != next_piece or start + rows < next_start
    else:
        assert ranks == right and microbatch["sharding"] == name
    assert [rank["attention"] for rank in microbatch["ranks"]] == attention(ranks, tile)
    assert [rank["tokens"] for rank in microbatch["ranks"]] == [
        sum(rows for _, _, rows in rank) for rank in ranks]
