#!/usr/bin/env python3
"""The check of .def tables: a row that a document lacks, or has with another number, is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_defs  # noqa: E402

TABLE = """/* a
 table, of STATUS(a, b) */
#ifndef COMMAND
#define COMMAND(id, \\
                text)
#endif
STATUS(OK, 0, false, "fine")
STATUS(END, 1, false, "no more, (ever)")
COMMAND(plan, MACRO(1, 2),
        "plans a step,\\n"
        "then another")
"""
PATTERN = r"\| *{1} *\| *`?{0}`? *\|"


class Tables(unittest.TestCase):
    def problems(self, document, kind="STATUS", pattern=PATTERN):
        return check_defs.check_table("x.def", TABLE, [(kind, "X.md", document, pattern)])

    def test_rows_are_read_over_lines_and_brackets(self):
        self.assertEqual(list(check_defs.rows(TABLE)), [
            ("STATUS", ["OK", "0", "false", "fine"]),
            ("STATUS", ["END", "1", "false", "no more, (ever)"]),
            ("COMMAND", ["plan", "MACRO(1,2)", "plans a step,\\nthen another"]),
        ])

    def test_documented_rows_pass(self):
        self.assertEqual(self.problems("| 0 | `OK` | fine |\n| 1 | END | more |\n"), [])

    def test_missing_row_is_named(self):
        found = self.problems("| 0 | OK | fine |\n")
        self.assertEqual(len(found), 1, found)
        self.assertIn("END is not in X.md", found[0])

    def test_wrong_number_is_found(self):
        self.assertEqual(len(self.problems("| 0 | OK | fine |\n| 2 | END | more |\n")), 1)

    def test_escaped_hyphens_of_a_man_page_are_hyphens(self):
        self.assertEqual(self.problems(".B \\-\\-plan\n", "COMMAND", "--{0}"), [])

    def test_kind_without_rows_is_a_problem(self):
        self.assertEqual(len(self.problems("", "OPTION")), 1)


if __name__ == "__main__":
    unittest.main()
