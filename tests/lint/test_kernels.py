#!/usr/bin/env python3
"""The check of what kernels declare, export and explain: each difference is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_kernels  # noqa: E402

HEADER = """/* BALLAST_ATTENTION_API int not_this(void); */
BALLAST_ATTENTION_API int ballast_attention_one(int a,
                                                int b);
BALLAST_ATTENTION_API ballast_attention_status
ballast_attention_two(const struct x *x);
int inside(void);
"""
MAP = "X {\nglobal:\n    ballast_attention_one;\n    ballast_attention_two;\nlocal:\n    *;\n};\n"
SOURCE = '''const char usage[] =
    "usage: x --layers N\\n"
    "  --out FILE  the table\\n";
    { "layers", required_argument, NULL, 1 },
    { "out", required_argument, NULL, 2 },
'''
PAGE = ".It Fl -layers Ar N\n.It Fl -out Ar FILE\n"


class Kernels(unittest.TestCase):
    def exports(self, version_map):
        return check_kernels.check_exports(check_kernels.declared(HEADER), version_map)

    def test_the_same_on_both_sides_passes(self):
        self.assertEqual(self.exports(MAP), [])
        self.assertEqual(check_kernels.check_options(SOURCE, PAGE), [])

    def test_declared_but_not_exported_is_found(self):
        found = self.exports(MAP.replace("    ballast_attention_two;\n", ""))
        self.assertEqual(len(found), 1)
        self.assertIn("ballast_attention_two is declared", found[0])

    def test_exported_but_not_declared_is_found(self):
        found = self.exports(MAP.replace("local", " inside;\nlocal"))
        self.assertIn("inside is exported", found[0])

    def test_an_option_without_help_or_item_is_found(self):
        self.assertIn("not in its help",
                      check_kernels.check_options(SOURCE.replace("  --out", "  out"), PAGE)[0])
        self.assertIn("--out is not in deploy",
                      check_kernels.check_options(SOURCE, PAGE.splitlines()[0] + "\n")[0])

    def test_an_option_that_is_none_is_found(self):
        self.assertEqual(len(check_kernels.check_options(SOURCE, PAGE + ".It Fl -fast\n")), 1)
        self.assertEqual(len(check_kernels.check_options(SOURCE.replace("  --out", "  --on --out"),
                                                         PAGE)), 1)

    def test_nothing_to_read_is_a_problem(self):
        self.assertTrue(check_kernels.check_options("", ""))


if __name__ == "__main__":
    unittest.main()
