#!/usr/bin/env python3
"""The check of ptxas's reports, on reports with one fault each."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_resources  # noqa: E402

TABLE = "# comment\nattention::forward<\tsm_80\t168\t128\nattention::forward<\tsm_90a\t255\t128\n"
LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN9attention7forwardILi64EEEvPf' for 'sm_80'
ptxas info    : Function properties for _ZN9attention7forwardILi64EEEvPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 160 registers, used 1 barriers, 400 bytes cmem[0]
ptxas info    : Compiling entry function '_ZN9attention7forwardILi64EEEvPf' for 'sm_90a'
ptxas info    : Function properties for _ZN9attention7forwardILi64EEEvPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 200 registers, used 1 barriers
"""
OTHER = LOG.replace("forward", "reorder")


class Resources(unittest.TestCase):
    def problems(self, table=TABLE, log=LOG):
        return check_resources.check(table, {"x.ptxas": log})[0]

    def assert_one(self, text, **what):
        found = self.problems(**what)
        self.assertEqual(len(found), 1, found)
        self.assertIn(text, found[0])

    def test_within_budget_passes(self):
        self.assertEqual(self.problems(), [])

    def test_listing_has_each_architecture(self):
        listing = check_resources.check(TABLE, {"x": LOG})[1]
        self.assertEqual([(name, kernel.arch, kernel.registers) for name, kernel, _ in listing],
                         [("attention::forward<64>", "sm_80", 160),
                          ("attention::forward<64>", "sm_90a", 200)])

    def test_spill_stores_and_loads_are_found(self):
        self.assert_one("spills 12 bytes", log=LOG.replace("0 bytes spill loads",
                                                           "12 bytes spill loads", 1))
        self.assert_one("spills 8 bytes", log=LOG.replace("0 bytes spill stores",
                                                          "8 bytes spill stores", 1))

    def test_spill_of_a_called_function_counts(self):
        called = ("ptxas info    : Function properties for _Z6calledv\n"
                  "    8 bytes stack frame, 8 bytes spill stores, 0 bytes spill loads\n")
        self.assert_one("spills 8 bytes", log=LOG.replace("ptxas info    : Used 160",
                                                          called + "ptxas info    : Used 160"))

    def test_serialised_wgmma_is_found(self):
        warning = ("ptxas info    : (C7518) Potential Performance Loss: wgmma.mma_async "
                   "instructions are serialized due to ill formed pipeline stage\n")
        self.assert_one("C7518", log=warning + LOG)

    def test_too_many_registers_are_found(self):
        self.assert_one("169 registers, over the 168", log=LOG.replace("160 reg", "169 reg"))

    def test_kernel_without_a_row_is_found(self):
        found = self.problems(log=LOG + OTHER)
        self.assertEqual(len(found), 2, found)
        self.assertIn("attention::reorder<64> for sm_80: expected one row", found[0])

    def test_kernel_with_two_rows_is_found(self):
        self.assert_one("found lines: 2, 4", table=TABLE + "attention\tsm_80\t255\t128\n")

    def test_row_without_a_kernel_is_found(self):
        self.assert_one("registers.tsv:4: no kernel matches", table=TABLE + "gone\t*\t32\t128\n")

    def test_bad_row_is_named(self):
        self.assert_one("registers.tsv:4: expected four fields", table=TABLE + "a b c\n")

    def test_empty_log_is_found(self):
        self.assertIn("no kernel found in any log", self.problems(log=""))


if __name__ == "__main__":
    unittest.main()
