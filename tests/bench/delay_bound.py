"""The least delay at a given excess, and the least excess at a given delay, of any policy.

    delay_bound.py LENGTHS [WINDOW]

For N large only: then the same lengths arrive in every step, and micro-batches can be filled like
vessels. A step of level l (its largest workload, in units of the mean that arrives) serves only
pieces whose workload is at most l, together at most l. Of the arrivals of a class of lengths, x
steps' worth served in one step came in ceil(x) different steps, so they waited h(x) at least: h is
linear between h(m) = m (m - 1) / 2. A mix of steps must serve all that arrives at a mean level of
1 + excess. The least mean wait is a linear program. It is solved for a price of the level by
generating columns; any prices of the classes prove a value, so that rounding, or an early end, only
weakens the bound. Lengths are gathered in classes; the level that a class asks for is that of its
shortest. S_max is not looked at: it only adds.
"""
import bisect
import math
import sys

CROSSOVER = 24576
CLASSES_PER_OCTAVE, OCTAVES = 6, 5  # shorter pieces than S / 2^OCTAVES are one class
PRICES = [8 / 2 ** step for step in range(10)]  # of a level, in steps of delay
STEEPEST, MOST_SERVED = 24, 1000  # h goes on straight from there; arrivals that a step may serve
PRECISION, MOST_COLUMNS = 2e-3, 1500
STEADINESS, GOLDEN = 0.8, 0.618034


def read(path, window):
    """Lengths of the pieces: documents over the window are split."""
    with open(path, encoding="ascii") as file:
        lengths = [int(line) for line in file]
    pieces = [window for length in lengths for _ in range(length // window)]
    return pieces + [length % window for length in lengths if length % window]


def work(length):
    return length + length * length / CROSSOVER


class Classes:
    """Shares of tokens and of work of each class, and the least level at which it is served."""

    def __init__(self, lengths, window):
        edges = [1] + [window / 2 ** OCTAVES * 2 ** (i / CLASSES_PER_OCTAVE)
                       for i in range(OCTAVES * CLASSES_PER_OCTAVE + 1)]
        tokens, works, least = ([0.0] * len(edges) for _ in range(3))
        for length in lengths:
            at = bisect.bisect_right(edges, length) - 1
            tokens[at] += length
            works[at] += work(length)
            least[at] = min(least[at] or length, length)
        kept = [i for i, share in enumerate(tokens) if share]
        mean = sum(works) / sum(tokens) * window  # work that arrives for one micro-batch
        self.tokens = [tokens[i] / sum(tokens) for i in kept]
        self.works = [works[i] / sum(works) for i in kept]
        self.levels = [work(least[i]) / mean for i in kept]


def wait(served):
    """h: what so many steps' arrivals, served in one step, have waited at least."""
    whole = min(math.floor(served), STEEPEST)
    return whole * (whole - 1) / 2 + (served - whole) * whole


class Column:
    """A step: its level, and how many steps' arrivals of each class it serves."""

    def __init__(self, classes, served, level):
        self.served, self.level = served, level
        self.delay = sum(share * wait(x) for share, x in zip(classes.tokens, served))


class Program:
    """The least of delay + price x mean level over mixes of steps."""

    def __init__(self, classes):
        self.classes, self.count = classes, len(classes.tokens)
        # The first serves all that arrives and a little more, by differing amounts: with equal ones
        # the simplex method would turn in circles.
        served = [1.02 + 0.08 * (k * GOLDEN % 1) for k in range(self.count)]
        filled = sum(share * x for share, x in zip(classes.works, served))
        self.columns = [Column(classes, served, max(filled, max(classes.levels)))]

    def best_step(self, price, values, top):
        """The step of least delay + price x level - value that serves classes up to `top`."""
        served, filled, least = [0.0] * self.count, 0.0, self.classes.levels[top]
        for density, k, steps in self.segments:
            if k > top:
                continue
            room = self.classes.works[k] * steps
            if density <= price:
                room = min(room, least - filled)
                if room <= 0:
                    break
            served[k] += room / self.classes.works[k]
            filled += room
        column = Column(self.classes, served, max(filled, least))
        worth = sum(value * x for value, x in zip(values, served))
        return column.delay + price * column.level - worth, column

    def best_column(self, price, values):
        self.segments = sorted(
            (((values[k] - s * self.classes.tokens[k]) / self.classes.works[k], k,
              1 if s < STEEPEST else MOST_SERVED)
             for k in range(self.count)
             for s in range(min(STEEPEST + 1, math.ceil(values[k] / self.classes.tokens[k])))),
            reverse=True)
        return min((self.best_step(price, values, top) for top in range(self.count)),
                   key=lambda found: found[0])

    def solve(self, price):
        """A value that delay + price x mean level is never below."""
        simplex = Simplex(self.count, self.columns[0], price)
        for column in self.columns[1:]:
            simplex.enter_if_better(column)
        proven, steady = 0.0, None
        for _ in range(MOST_COLUMNS):
            values = simplex.surpluses_out()
            for share in (STEADINESS, 0):  # prices near those that proved most lead there faster
                steady = steady or values
                tried = [share * old + (1 - share) * new for old, new in zip(steady, values)]
                least, column = self.best_column(price, tried)
                if sum(tried) + least > proven:
                    proven, steady = sum(tried) + least, tried
                if simplex.enter_if_better(column):
                    self.columns.append(column)
                    break
            else:
                break
            if proven >= simplex.objective() * (1 - PRECISION):
                break
        return proven


class Simplex:
    """Revised simplex: a row for each class, served once a step at least; one for the mix's sum."""

    def __init__(self, count, first, price):
        self.count, self.price = count, price
        size = count + 1  # basis: a surplus for every class, then the first column
        self.inverse = [[0.0] * size for _ in range(size)]
        for k in range(count):
            self.inverse[k][k], self.inverse[k][count] = -1.0, first.served[k]
        self.inverse[count][count] = 1.0
        self.costs = [0.0] * count + [self.cost(first)]
        self.solution = [first.served[k] - 1 for k in range(count)] + [1.0]

    def cost(self, column):
        return column.delay + self.price * column.level

    def objective(self):
        return sum(cost * x for cost, x in zip(self.costs, self.solution))

    def duals(self):
        return [sum(cost * row[i] for cost, row in zip(self.costs, self.inverse) if cost)
                for i in range(self.count + 1)]

    def pivot(self, entries, cost):
        """Brings a column into the basis; of equals the one of the largest pivot goes."""
        moved = [sum(a * b for a, b in zip(row, entries) if b) for row in self.inverse]
        ratios = [(max(0.0, x) / m, -m, i) for i, (x, m) in enumerate(zip(self.solution, moved))
                  if m > 1e-7]
        if not ratios:
            return False
        out = min(ratios)[2]
        row = [a / moved[out] for a in self.inverse[out]]
        step = self.solution[out] / moved[out]
        for i, factor in enumerate(moved):
            if i != out and factor:
                self.inverse[i] = [a - factor * b for a, b in zip(self.inverse[i], row)]
                self.solution[i] -= factor * step
        self.inverse[out], self.solution[out], self.costs[out] = row, step, cost
        return True

    def enter_if_better(self, column):
        duals, entries = self.duals(), column.served + [1.0]
        if self.cost(column) - sum(a * b for a, b in zip(duals, entries)) > -1e-12:
            return False
        return self.pivot(entries, self.cost(column))

    def surpluses_out(self):
        """Prices of the classes, none of them negative."""
        while True:
            duals = self.duals()
            k = min(range(self.count), key=lambda k: duals[k])
            if duals[k] >= -1e-12:
                return [max(0.0, value) for value in duals[:self.count]]
            self.pivot([-float(i == k) for i in range(self.count)] + [0.0], 0.0)


class Bound:
    """The frontier of delay and excess for one file of lengths and a window, N large."""

    def __init__(self, lengths, window):
        program = Program(Classes(lengths, window))
        self.lines = [(price, program.solve(price)) for price in PRICES]

    def least_excess(self, delay):
        return max(0.0, max((value - delay) / price for price, value in self.lines) - 1)

    def least_delay(self, excess):
        return max(0.0, max(value - price * (1 + excess) for price, value in self.lines))


def main(path, window=131072):
    bound = Bound(read(path, int(window)), int(window))
    print("excess  least delay")
    for excess in (0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1):
        print(f"{excess:<7g} {bound.least_delay(excess):.3f}")


def check(window=131072):
    """Equal lengths need no delay. Long pieces that fill every third step exactly wait for one."""
    assert Bound([window] * 10, window).least_delay(0) == 0
    long, short = work(window) / window, work(100) / 100
    share = (long - short) / (3 * long - short)  # of tokens: short + 3 x long work is then a level
    bound = Bound([window] * 100 + [100] * round(window * (1 - share) / share), window)
    assert abs(bound.least_delay(0) - share) < 0.01 * share, (bound.least_delay(0), share)
    assert bound.least_delay(0.1) > bound.least_delay(0.5) > bound.least_delay(20) == 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--quick"]:
        check()
    else:
        main(*sys.argv[1:])
