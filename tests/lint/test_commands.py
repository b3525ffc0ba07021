#!/usr/bin/env python3
"""The check of the manual pages: what one side lacks is found, whichever side it is."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_commands  # noqa: E402

TABLE = '''
OPTION(HELP, "help", FLAG,    NULL)
OPTION(SET,  "set",  SETTING, "KEY=VALUE")
OPTION(JSON, "json", FLAG,    NULL)
COMMAND(plan, LOCAL, NULL, 0, 0,
        "plan", "Plans.", "x")
NEEDS(plan, SET, "set it")
TAKES(plan, HELP, "show this help")
COMMAND(drain, DAEMON, NULL, 0, 0, "drain", "Drains.", "x")
TAKES(drain, JSON, "print JSON")
TAKES(drain, HELP, "show this help")
'''
PAGE = '''.Sh SYNOPSIS
.Nm
.Cm plan
.Fl -set Ar KEY Ns = Ns Ar VALUE
.Nm
.Cm drain
.Op Fl -json
.Sh DESCRIPTION
.Ss Local
.It Cm plan
.It Fl -set Ar KEY Ns = Ns Ar VALUE
.It Fl -help
.Ss On a daemon
.It Cm drain
Drains.
.It Fl -json
.It Fl -help
'''
KEYS = '{ .path = "job" }, { .path = "cost" }, { .path = "cost.model" },' \
       '{ .path = "cost.model.tp" }, { .path = "serve.list" }, { .path = "serve.list[]" }'


class Commands(unittest.TestCase):
    def problems(self, old, new):
        self.assertIn(old, PAGE)
        return check_commands.check_ctl(TABLE, PAGE.replace(old, new))

    def test_a_page_that_says_the_same_passes(self):
        self.assertEqual(check_commands.check_ctl(TABLE, PAGE), [])

    def test_a_missing_command_is_found(self):
        self.assertTrue(self.problems(".It Cm drain\n", ""))
        self.assertTrue(self.problems(".Cm plan\n", ""))

    def test_a_missing_option_is_found(self):
        self.assertEqual(len(self.problems(".It Fl -set Ar KEY Ns = Ns Ar VALUE\n", "")), 1)
        self.assertEqual(len(self.problems(".Op Fl -json\n", "")), 1)
        self.assertEqual(len(self.problems(".It Fl -json\n", "")), 1)

    def test_an_option_of_the_page_alone_is_found(self):
        self.assertEqual(len(self.problems(".It Fl -help\n.Ss", ".It Fl -help\n.It Fl -x\n.Ss")), 1)
        self.assertTrue(self.problems(".It Cm drain\n", ".It Cm drain\n.It Cm reload\n"))

    def test_another_argument_is_found(self):
        self.assertTrue(self.problems(".It Fl -set Ar KEY Ns = Ns Ar VALUE", ".It Fl -set Ar K"))

    def test_an_empty_table_is_a_problem(self):
        self.assertTrue(check_commands.check_ctl("", PAGE))


class Keys(unittest.TestCase):
    def test_keys_with_a_value_must_be_named(self):
        page = ".It Cm job , serve.list\n.Cm cost.model.tp ,\n"
        self.assertEqual(check_commands.check_keys(KEYS, page), [])
        self.assertEqual(len(check_commands.check_keys(KEYS, page.replace("job", ""))), 1)
        self.assertEqual(len(check_commands.check_keys(KEYS, page.replace("model.tp", "x"))), 2)


if __name__ == "__main__":
    unittest.main()
