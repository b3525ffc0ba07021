#!/usr/bin/env python3
"""The check of .def tables: a row that a document lacks, or has with another number, is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_defs  # noqa: E402

TABLE = '/* a\n table */\nSTATUS(OK, 0, false, "fine")\nSTATUS(END, 1, false, "no more, ever")\n'
PATTERN = r"\| *{1} *\| *`?{0}`? *\|"


class Tables(unittest.TestCase):
    def problems(self, document):
        return check_defs.check_table("x.def", TABLE, [("X.md", document, PATTERN)])

    def test_documented_rows_pass(self):
        self.assertEqual(self.problems("| 0 | `OK` | fine |\n| 1 | END | more |\n"), [])

    def test_missing_row_is_named(self):
        found = self.problems("| 0 | OK | fine |\n")
        self.assertEqual(len(found), 1, found)
        self.assertIn("END is not in X.md", found[0])

    def test_wrong_number_is_found(self):
        self.assertEqual(len(self.problems("| 0 | OK | fine |\n| 2 | END | more |\n")), 1)

    def test_table_without_rows_is_a_problem(self):
        self.assertEqual(len(check_defs.check_table("x.def", "/* nothing */\n", [])), 1)


if __name__ == "__main__":
    unittest.main()
