"""Token shards that turn bad while ranks train: with on_bad_shard: skip nobody notices.

    run_bad_shards.py [--full]      small: 60 steps; full: 600

At random moments one shard of a source, and later another, loses all its tokens; the daemon is
killed (-9) and started again after each. Asserted: no rank fails or waits in vain; what every rank
has received, and the pieces in it, is what `ballastctl plan --state` plans with the ledger that the
daemon wrote; nothing of a dropped shard comes from its step on.
"""
import os
import random
import re

import ranks

import corpora
import harness

SHARDS = ["heavy-01", "light-00"]
RING = 64 << 20  # whatever one rank has had is kept for those that are behind


def dropped(state):
    """[(step, shard)] of the ledger."""
    (name,) = [name for name in os.listdir(state) if name.endswith(".ledger")]
    with open(os.path.join(state, name), encoding="ascii") as file:
        return [(int(step), shard) for step, shard in re.findall(
            r"^drop (\d+) \S+ \d+ (\S+)\.idx$", file.read(), re.MULTILINE)]


def wait_for_drop(team, daemon, count):
    """Until that many are dropped; the ranks go on meanwhile."""
    assert team.until(lambda: daemon.answers() and
                      daemon.status()["bad_shards"]["dropped"] == count, ranks.AWAIT_S), (
        "it is not dropped", daemon.stderr()[-2000:])
    assert team.running, "they ended before"


def main(steps, pause_us):
    rng = random.Random(7)
    with harness.Workplace() as place:
        state = place.path("state")
        path = place.write("job", ranks.configuration(
            corpora.generated(place.folder.name), on_bad_shard="skip",
            serve={"cache_bytes": RING}, state={"directory": state, "snapshot_every": 10}))
        daemon = ranks.LooseDaemon(path)
        with ranks.Team(lambda n: daemon.endpoint, steps, place.path("streams"),
                        pause_us) as team:
            for n, shard in enumerate(SHARDS):
                share = (n + rng.uniform(0.5, 1)) / (len(SHARDS) + 1)  # and enough comes after
                assert team.until(lambda: team.progress >= share * steps * len(team.ranks),
                                  ranks.AWAIT_S), team.said()
                os.truncate(place.path(shard + ".bin"), 0)
                wait_for_drop(team, daemon, n + 1)
                daemon.kill()
                daemon = ranks.LooseDaemon(path)
                assert team.until(daemon.answers, ranks.AWAIT_S), daemon.stderr()
            reports = team.finish()
        daemon.stop()
        ranks.check_reports(reports)
        found = dropped(state)
        assert [shard for _, shard in found] == SHARDS, found
        pieces = ranks.check_documents(place.path("streams"), path, steps, "--state", state)
        ranks.show(f"shards that turn bad under 8 ranks, {steps} steps",
                   dropped=", ".join(f"{shard} from step {step}" for step, shard in found),
                   pieces_served_as_planned=pieces)


if __name__ == "__main__":
    main(*ranks.size((60, 5000), (600, 5000)))
