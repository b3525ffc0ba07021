"""The fault shim (tests/support/faults.h): of a running program, one call that could fail does."""
import contextlib
import mmap
import os
import struct

import harness

NONE, MEMORY, INTERRUPTED, SHORT, IO, FULL, DESCRIPTORS = range(7)
NAMES = ("none", "memory", "interrupted", "short", "I/O", "full", "descriptors")
EVERY = (MEMORY, INTERRUPTED, SHORT, IO, FULL, DESCRIPTORS)
HARMLESS = (INTERRUPTED, SHORT)  # what programs must put up with
SYSEXITS = range(64, 79)
LAYOUT = struct.Struct("<IIQQQQ")  # fault, goes_on, at, count, hits, thread


class Faults:
    """The file that the shim in another process maps."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(bytes(LAYOUT.size))
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), LAYOUT.size)

    def arm(self, fault, at=0, goes_on=False):
        """From now on: the at-th call counts from here; 0 only counts."""
        LAYOUT.pack_into(self.map, 0, NONE, 0, 0, 0, 0, 0)
        LAYOUT.pack_into(self.map, 0, fault, goes_on, at, 0, 0, 0)

    def count(self):
        return LAYOUT.unpack_from(self.map)[3]

    def hits(self):
        return LAYOUT.unpack_from(self.map)[4]

    def environment(self):
        """Of a program under the shim. A sanitizer's own malloc stands behind the shim's."""
        asan = os.environ.get("ASAN_OPTIONS", "")
        return {**os.environ, "LD_PRELOAD": library(), "BALLAST_FAULTS": self.path,
                "ASAN_OPTIONS": f"verify_asan_link_order=0:quarantine_size_mb=8:{asan}"}

    def run(self, arguments, fault, at=0, goes_on=False, **options):
        self.arm(fault, at, goes_on)
        return harness.run(arguments, env=self.environment(), **options)

    def close(self):
        self.map.close()
        self.file.close()


def library():
    return os.path.join(os.environ["BALLAST_BUILD"], "tests", "support", "libfaults.so")


@contextlib.contextmanager
def faults(workplace):
    control = Faults(workplace.path("faults"))
    try:
        yield control
    finally:
        control.close()
