#!/usr/bin/env python3
"""The check of the client's header, exports and pages: what differs is found."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_client  # noqa: E402

HEADER = """/* BALLAST_API int not_this(void); */
BALLAST_API const char *ballast_text(ballast_status status);
BALLAST_API int ballast_go(client *c,
                           int timeout_ms);
"""
EXPORTS = "X { global: ballast_go; /* ballast_old; */ ballast_text; local: *; };"
PAGES = {
    "ballast.3": "about all\n",
    "ballast_go.3": '.Nm ballast_go ,\n.Nm ballast_text\n.Ft int\n.Fo ballast_go\n'
                    '.Fa "client *c"\n.Fa "int timeout_ms"\n.Fc\n.Ft const char *\n'
                    '.Fn ballast_text "ballast_status status"\n',
    "ballast_text.3": ".so man3/ballast_go.3\n",
}


class Client(unittest.TestCase):
    def problems(self, header=HEADER, exports=EXPORTS, **pages):
        changed = {**PAGES, **{f"{name}.3": text for name, text in pages.items()}}
        return check_client.check_all(
            header, exports, {name: text for name, text in changed.items() if text is not None})

    def one(self, part, *arguments, **pages):
        problems = self.problems(*arguments, **pages)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(part, problems[0])

    def test_agreement(self):
        self.assertEqual(self.problems(), [])

    def test_not_exported(self):
        self.one("ballast_text is declared", HEADER, EXPORTS.replace("ballast_text;", ""))

    def test_not_declared(self):
        self.one("ballast_more is exported", HEADER,
                 EXPORTS.replace("global:", "global: ballast_more;"))

    def test_no_page(self):
        self.one("ballast_text has no page", ballast_text=None)

    def test_page_about_nothing(self):
        self.one("ballast_old.3: is about no function", ballast_old=".Nm ballast_old\n")

    def test_redirect_to_a_page_that_does_not_name_it(self):
        self.one("NAME lacks ballast_text", ballast_text=".so man3/ballast.3\n")

    def test_other_prototype(self):
        self.one("the header has", HEADER.replace("int timeout_ms", "long timeout_ms"))


if __name__ == "__main__":
    unittest.main()
