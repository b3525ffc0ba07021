"""Peak memory of ballastd, over a shard of 1 GiB and a sparse one of 1 TiB.

    memory.py [LARGE_GIB [SMALL_MIB]]        default 1024 and 1024

A ring of 64 MiB is configured (serve.cache_bytes). A rank fetches 40 steps of two micro-batches of
128K tokens; then the daemon's VmHWM, pages of mapped files included, is read. Documents are 64K
tokens long, so that the large shard has 8.4 million of them and an index of 160 MiB.
"""
import os
from array import array

from figures import Table, start

import harness
import megatron
from wire import batches

MIB = 1 << 20
RING_MIB, ALLOWANCE_MIB = 64, 64
DOCUMENT_TOKENS = 65536
STEPS = 40


def write_shard(prefix, size):
    """A shard of `size` bytes of token 0 in u16, sparse, every document of one length."""
    document_bytes = 2 * DOCUMENT_TOKENS
    count = size // document_bytes
    with open(prefix + ".bin", "wb") as file:
        file.truncate(count * document_bytes)
    with open(prefix + ".idx", "wb") as file:
        file.write(megatron.HEADER.pack(megatron.MAGIC, 1, 8, count, count + 1))
        array("i", [DOCUMENT_TOKENS]).__mul__(count).tofile(file)
        array("q", range(0, count * document_bytes, document_bytes)).tofile(file)
        array("q", range(count + 1)).tofile(file)


def job(prefix):
    return {
        "job": "memory", "seed": 1, "vocab_size": 50257,
        "sources": [{"name": "zeros", "format": "megatron", "paths": [prefix + ".idx"],
                     "weight": 1, "epochs": "repeat"}],
        "parallel": {"dp": 1, "pp": 1, "cp": 1, "tp": 1, "microbatches": 2},
        "context_window": 131072, "max_sequence_length": 262144,
        "packing": {"policy": "wlb", "outlier_thresholds": [32768, 81920]},
        "cost": {"crossover_tokens": 24576},
        "serve": {"cache_bytes": RING_MIB * MIB},
    }


def peak_mib(workplace, name, size):
    prefix = workplace.path(name)
    write_shard(prefix, size)
    with harness.Daemon(workplace.write(name, job(prefix))) as daemon:
        for reply in batches(daemon.endpoint, range(STEPS), range(2), range(1)):
            assert reply.tokens > 0
        peak = daemon.resident_kib(peak=True) / 1024
    os.unlink(prefix + ".idx")
    os.unlink(prefix + ".bin")
    return peak


def main(large_gib=1024, small_mib=1024):
    table = Table(f"peak memory of ballastd, a ring of {RING_MIB} MiB configured")
    with harness.Workplace() as workplace:
        for name, size in ((f"{small_mib} MiB", small_mib * MIB),
                           (f"{large_gib} GiB, sparse", large_gib * 1024 * MIB)):
            table.at_most(f"shard of {name}: VmHWM, MiB", ALLOWANCE_MIB + RING_MIB,
                          peak_mib(workplace, "shard", size), "{:.0f}")
    return table.missed


if __name__ == "__main__":
    start(main, quick=(2, 64))
