#!/usr/bin/env python3
"""The check for forbidden words, on texts with one each and on look-alikes without any."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_forbidden  # noqa: E402

BAD = [
    ("README.md", "one\nTO" + "DO: more\n", 2),
    ("deploy/x.sh", "cd /ro" + "ot/ballast\n", 1),
    ("deploy/Containerfile", "RUN echo http://de" + "b.example.org/debian\n", 1),
    ("daemon/ctl/x.c", "\n\nstrcpy(a, b);\n", 3),
    ("daemon/pack/x.c", "int a = rand();\n", 1),
    ("client/src/x.c", 'printf("%d", 1);\n', 1),
    ("daemon/serve/x.c", "    exit(1);\n", 1),
    ("tests/unit/x.c", "usleep(10);\n", 1),
    ("kernels/attention/x.cu", "\nprintf(1);\n", 2),
    ("kernels/common/x.cuh", "// fine\nstrcpy(a, b);\n", 2),
    ("kernels/cp/x.cpp", "assert(ranks);\n", 1),
    ("tests/kernels/x.cpp", "usleep(1);\n", 1),
    ("daemon/corpus/x.c", "/* a\n b */ assert(size > 0);\n", 2),
]
GOOD = [
    ("daemon/ctl/x.c", 'snprintf(a, sizeof a, "strcpy(");\n'),
    ("daemon/ctl/x.c", "/* unlike strcpy(a, b) */\n"),
    ("daemon/ctl/x.c", 'fprintf(stderr, "x");\nexit(EX_USAGE);\n'),
    ("daemon/base/x.c", '_Static_assert(sizeof(int) == 4, "int");\n'),
    ("daemon/serve/x.c", "session->exit(session);\n"),
    ("tests/x.c", 'char template[] = "/tmp/x-' + 'X' * 6 + '";\n'),
    ("kernels/emulation/x.cpp", "abort();\nstatic_assert(sizeof(int) == 4);\n"),
    ("README.md", "--config /etc/ballast/ballast.yaml, a workload, network/rooting\n"),
]


class Forbidden(unittest.TestCase):
    def test_each_bad_text_is_found_once_at_its_line(self):
        for name, text, line in BAD:
            with self.subTest(name=name, text=text):
                found = check_forbidden.check_text(pathlib.Path(name), text)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f"{name}:{line}: "), found)

    def test_look_alikes_pass(self):
        for name, text in GOOD:
            with self.subTest(name=name, text=text):
                self.assertEqual(check_forbidden.check_text(pathlib.Path(name), text), [])


if __name__ == "__main__":
    unittest.main()
