#!/usr/bin/env python3
"""The dependency-law check on small trees with one violation each: it must find every one."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import check_dependency_law as law  # noqa: E402

LAWFUL = {
    "daemon/base/error.h": "",
    "daemon/pack/pack.h": '#include "base/error.h"\n',
    "daemon/cp/cp.h": '#include "base/error.h"\n',
    "daemon/plan/plan.c": '#include "pack/pack.h"\n#include "cp/cp.h"\n#include <stdint.h>\n',
    "daemon/serve/loop.c": '#include <uv.h>\n#include <zmq.h>\n#include "wire/frame.h"\n',
    "daemon/main.c": '#include "pack/pack.h"\n',
    "proto/wire/frame.h": "",
    "client/include/ballast/ballast.h": "",
    "client/src/client.c": '#include "ballast/ballast.h"\n#include "wire/frame.h"\n',
    "client/examples/rank.c": "#include <ballast/ballast.h>\n",
    "kernels/tiles/tiles.h": "",
    "kernels/include/ballast/attention.h": "",
    "kernels/common/mma.h": "#include <cuda_runtime.h>\n",
    "kernels/attention/a.cu": '#include "kernels/common/mma.h"\n#include <ballast/attention.h>\n',
    "kernels/cp/gather.cpp": "#include <nccl.h>\n",
    "daemon/cost/cost.c": '#include "kernels/tiles/tiles.h"\n',
    "tests/unit/pack/test_pack.c": '#include <uv.h>\n#include "cp/cp.h"\n',
}


class DependencyLaw(unittest.TestCase):
    def problems(self, extra):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in {**LAWFUL, **extra}.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return law.check(root)[0]

    def assert_one(self, extra, where, what):
        found = self.problems(extra)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(where), found)
        self.assertIn(what, found[0])

    def test_lawful_tree_has_no_problem(self):
        self.assertEqual(self.problems({}), [])

    def test_pack_does_not_know_cp(self):
        self.assert_one({"daemon/pack/wlb.c": '\n#include "cp/cp.h"\n'},
                        "daemon/pack/wlb.c:2:", "pack must not include cp")

    def test_client_does_not_know_daemon(self):
        self.assert_one({"client/src/next.c": '#include "base/error.h"\n'},
                        "client/src/next.c:1:", "client must not include base")

    def test_example_sees_the_public_header_only(self):
        self.assert_one({"client/examples/rank.c": '#include "wire/frame.h"\n'},
                        "client/examples/rank.c:1:", "client/examples must not include proto")

    def test_path_out_of_the_folder_is_seen_through(self):
        self.assert_one({"client/src/next.c": '#include "../../daemon/pack/pack.h"\n'},
                        "client/src/next.c:1:", "client must not include pack")

    def test_daemon_knows_of_the_kernels_their_tiles_only(self):
        self.assert_one({"daemon/cost/x.c": '#include "kernels/common/mma.h"\n'},
                        "daemon/cost/x.c:1:", "cost must not include kernels/common")

    def test_kernels_do_not_know_the_daemon(self):
        self.assert_one({"kernels/attention/x.cu": '#include "base/error.h"\n'},
                        "kernels/attention/x.cu:1:", "kernels/attention must not include base")

    def test_kernels_do_not_know_the_wire(self):
        self.assert_one({"kernels/cp/x.cpp": '#include "wire/frame.h"\n'},
                        "kernels/cp/x.cpp:1:", "kernels/cp must not include proto")

    def test_tiles_know_no_gpu(self):
        self.assert_one({"kernels/tiles/x.c": "#include <cuda_runtime_api.h>\n"},
                        "kernels/tiles/x.c:1:", "kernels/tiles must not use CUDA")

    def test_attention_knows_no_communication(self):
        self.assert_one({"kernels/attention/x.cuh": "#include <nccl.h>\n"},
                        "kernels/attention/x.cuh:1:", "kernels/attention must not use NCCL")

    def test_pure_unit_does_not_know_libuv(self):
        self.assert_one({"daemon/plan/wait.c": "#  include <uv.h>\n"},
                        "daemon/plan/wait.c:1:", "plan must not use libuv")

    def test_pure_unit_does_not_know_the_schema(self):
        self.assert_one({"daemon/cp/send.c": '#include "ballast/v1/ballast.pb-c.h"\n'},
                        "daemon/cp/send.c:1:", "cp must not use protobuf-c")

    def test_planner_knows_no_clock(self):
        self.assert_one({"daemon/plan/now.c": "#include <time.h>\n"},
                        "daemon/plan/now.c:1:", "plan must not use clocks")

    def test_product_does_not_include_tests(self):
        self.assert_one({"tests/support/x.h": "",
                         "daemon/base/x.c": '#include "../../tests/support/x.h"\n'},
                        "daemon/base/x.c:1:", "outside the product")

    def test_unknown_folder_is_refused(self):
        self.assert_one({"daemon/extra/x.c": ""}, "daemon/extra/x.c:1:", "not in the law")

    def test_commented_include_counts_not(self):
        self.assertEqual(self.problems({"daemon/pack/a.c": '/*\n#include "cp/cp.h"\n*/\n'}), [])

    def test_cycle_is_found(self):
        found = self.problems({"daemon/base/back.h": '#include "pack/pack.h"\n'})
        self.assertTrue(any(line.startswith("cycle: ") for line in found), found)

    def test_law_itself_has_no_cycle(self):
        edges = {(unit, other): "" for unit, others in law.LAW.items() for other in others}
        self.assertEqual(law.find_cycle(edges), [])

    def test_pure_units_use_no_library_of_the_server(self):
        for library, _, allowed in law.LIBRARIES:
            if library in ("libuv", "libzmq", "protobuf-c"):
                self.assertEqual(set(allowed) & set(law.PURE), set(), library)


if __name__ == "__main__":
    unittest.main()
