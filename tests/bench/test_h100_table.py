#!/usr/bin/env python3
"""h100_table.py on generated figures: what it subtracts, scales and leaves out, and that Ballast
reads what it writes; on the published ones too, where they are at hand."""
import os
import subprocess
import sys
import tempfile
import unittest

import h100_data

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCH = 20.0  # us
BALLASTD = os.path.join(os.environ.get("BALLAST_BUILD", ""), "daemon", "ballastd")


def work(tokens, tp, cp):
    """Microseconds: a parabola, rounded so that the text of it is exact."""
    return round((tokens * 0.004 + tokens * tokens * 4e-6) / tp / cp, 6)


def write_data(directory):
    attention = os.path.join(directory, "attention.csv")
    linear = os.path.join(directory, "linear.tsv")
    pairs = [(tp, cp) for tp in (1, 2, 4, 8) for cp in (1, 2)]
    with open(attention, "w", encoding="ascii") as file:
        print("L,cp,tp,duration_per_doc", file=file)
        for tp, cp in pairs:
            print(f"16,{cp},{tp},{LAUNCH / 1000}", file=file)
            for tokens in (2 ** i for i in range(10, 17)):
                print(f"{tokens},{cp},{tp},{(LAUNCH + work(tokens, tp, cp)) / 1000:.9f}", file=file)
    with open(linear, "w", encoding="ascii") as file:
        print("ctx_length", "tp", "cp", "a", "b", sep="\t", file=file)
        for tp, cp in pairs:
            print(32768, tp, cp, 3 / tp / cp, 1 / tp / cp, sep="\t", file=file)
    return ["--attention", attention, "--linear", linear]


def convert(*arguments):
    done = subprocess.run([sys.executable, os.path.join(HERE, "h100_table.py"), *arguments],
                          check=True, capture_output=True, text=True)
    rows = [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]
    return done, {(op, int(tp), int(cp), int(q)): (int(kv), float(latency))
                  for op, tp, cp, q, kv, latency in rows[1:]}


class Table(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.data = write_data(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def test_scales_layers_and_passes_and_subtracts_launches(self):
        _, rows = convert(*self.data, "--layers", "2")
        kv, latency = rows["attention", 1, 2, 8192]
        self.assertEqual(kv, 12288)
        self.assertAlmostEqual(latency, 7 * work(16384, 1, 2), delta=0.01)
        self.assertEqual(rows["linear", 2, 1, 32768], (0, 2 * 3 * 2000))
        _, rows = convert(*self.data, "--layers", "2", "--passes", "forward", "--keep-launch")
        kv, latency = rows["attention", 1, 1, 16384]
        self.assertAlmostEqual(latency, 2 * (LAUNCH + work(16384, 1, 1)), delta=0.01)

    def test_leaves_out_what_launches_drown(self):
        _, rows = convert(*self.data, "--layers", "1", "--tp", "8", "--cp", "1")
        kept = sorted(q for op, _, _, q in rows if op == "attention")
        self.assertEqual(kept, [n for n in (2 ** i for i in range(10, 17))
                                if work(n, 8, 1) >= LAUNCH / 2])
        self.assertLess(len(kept), 7)

    def test_heads_take_the_rows_of_as_many_heads_on_a_gpu(self):
        done, rows = convert(*self.data, "--layers", "1", "--heads", "32", "--passes", "forward")
        self.assertAlmostEqual(rows["attention", 4, 1, 65536][1], work(65536, 8, 1), delta=0.01)
        self.assertNotIn(("attention", 8, 1, 65536), rows)
        self.assertIn("left out tp 8 cp 1: not published for 32 heads", done.stderr)

    @unittest.skipUnless(os.path.exists(BALLASTD), "no ballastd")
    def test_ballast_reads_it(self):
        self.check_config(self.data)

    @unittest.skipUnless(os.path.exists(BALLASTD), "no ballastd")
    @unittest.skipUnless(os.path.exists(h100_data.LINEAR), "no published figures")
    def test_ballast_reads_the_published_ones(self):
        self.check_config([])

    def check_config(self, data):
        done, _ = convert(*data, "--layers", "32")
        path = os.path.join(self.directory.name, "job.yaml")
        with open(os.path.join(self.directory.name, "t.csv"), "w", encoding="ascii") as file:
            file.write(done.stdout)
        with open(path, "w", encoding="ascii") as file:
            file.write("job: j\nsources: [{ name: a, format: lengths, paths: [a] }]\n"
                       "context_window: 65536\ncost: { table: t.csv }\n")
        for tp in (1, 2, 4, 8):
            for cp in (1, 2):
                subprocess.run([BALLASTD, "--check-config", "--config", path,
                                "--set", f"parallel.tp={tp}", "--set", f"parallel.cp={cp}"],
                               check=True, capture_output=True)


if __name__ == "__main__":
    unittest.main()
