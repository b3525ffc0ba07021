"""What the benchmarks have in common: where things are, and the table of results."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "integration"))
DATA = os.path.join(os.path.dirname(ROOT), "shared", "data")


class Table:
    """Rows of target | figure | verdict, printed as they come."""

    def __init__(self, title):
        self.missed = 0
        print(f"\n{title}\n{'what':<52} {'target':>16} {'figure':>16}  verdict")

    def row(self, what, target, figure, holds=None):
        """`holds` is None for a figure without a target."""
        verdict = {True: "ok", False: "MISSED", None: "-"}[holds]
        self.missed += holds is False
        print(f"{what:<52} {target:>16} {figure:>16}  {verdict}", flush=True)

    def at_most(self, what, target, figure, form="{:.3f}"):
        self.row(what, "<= " + form.format(target), form.format(figure), figure <= target)

    def at_least(self, what, target, figure, form="{:.3f}"):
        self.row(what, ">= " + form.format(target), form.format(figure), figure >= target)

    def near(self, what, target, figure, tolerance):
        self.row(what, f"{target:.3f} +- {tolerance}", f"{figure:.4f}",
                 abs(figure - target) <= tolerance)


def start(main, quick):
    """Runs main(*numbers of the command line); `--quick` gives `quick`, and asks for no target."""
    if "--quick" in sys.argv:
        main(*quick)
    elif main(*(int(each) for each in sys.argv[1:] if each != "--details")):
        sys.exit("a target was missed")
