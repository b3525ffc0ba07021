"""A thousand connections to one daemon, and 64 ranks that stream at once among them.

    run_crowd.py [--full]       small: 100 connections, 20 steps; full: 1000, 150 steps

Every connection says HELLO and then asks for a header, all in turn, over and over, while 64 ranks
(dp 8, cp 8; bench_stream latency) train with pauses of 20 ms. Reported: how long `next` takes with
and without the crowd, memory and descriptors of the daemon. Asserted: everyone is answered, and
memory stays within the ring, what may be under way, and an allowance.
"""
import json
import os
import resource
import subprocess
import sys
import threading

import zmq

import ranks

import corpora
import harness
from harness import ballast_wire

DP, CP = 8, 8
RING = 64 << 20
ALLOWANCE_KIB = 64 << 10
PAUSE_US = 20000
ROUND_S = 1.0


class Crowd(threading.Thread):
    """Connections that are greeted, and then ask in turn until the block ends."""

    def __init__(self, endpoint, count):
        super().__init__()
        self.context, self.over = zmq.Context(), threading.Event()
        self.asked, self.failure = 0, None
        self.context.set(zmq.MAX_SOCKETS, 2 * count + 16)
        self.sockets = [self.context.socket(zmq.DEALER) for _ in range(count)]
        for peer in self.sockets:
            peer.linger = 0
            peer.connect(endpoint)

    def _ask(self, peer, message, **values):
        peer.send(ballast_wire.encode(message, **values))

    def _answer(self, peer):
        assert peer.poll(1000 * harness.DEADLINE_S), "no answer"
        kind, values = ballast_wire.decode(peer.recv_multipart()[0])
        assert values["status"] == 0, (kind, values)
        self.asked += 1

    def greet(self):
        """All at once, as after a daemon's restart."""
        for n, peer in enumerate(self.sockets):
            self._ask(peer, "Hello", rank={"dp": n % DP, "cp": n // DP % CP, "pp": n // (DP * CP)},
                      client=f"crowd-{n}", incarnation=n)
        for peer in self.sockets:
            self._answer(peer)

    def run(self):
        try:
            while not self.over.is_set():
                for n, peer in enumerate(self.sockets):
                    self._ask(peer, "GetBatch", request=n, step=0, parts=0, deadline_ms=60000)
                    self._answer(peer)
                    if self.over.wait(ROUND_S / len(self.sockets)):
                        break
        except BaseException as failure:  # told by the block's end, in its own thread
            self.failure = failure

    def __enter__(self):
        self.greet()
        self.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.join()
        self.context.destroy()
        if self.failure:
            raise self.failure


def latency(daemon, first, steps):
    """Figures of 64 ranks that train with pauses."""
    done = subprocess.run([harness.program("bench_stream"), "latency", daemon.endpoint, str(first),
                           str(steps), str(PAUSE_US)], capture_output=True, check=False,
                          timeout=ranks.AWAIT_S)
    text = done.stderr.decode(errors="replace")
    assert done.returncode == 0 and not harness.SANITIZER.search(text), text
    return json.loads(done.stdout)


def descriptors(daemon):
    return len(os.listdir(f"/proc/{daemon.process.pid}/fd"))


def told(figures):
    return ", ".join(f"{name} {figures[name + '_us']:.0f} us" for name in ("p50", "p99", "max"))


def main(connections, steps):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with harness.Workplace() as place:
        corpus = corpora.real() or corpora.generated(place.folder.name)
        path = place.write("job", harness.configuration(
            corpus, window=131072, dp=DP, cp=CP, microbatches=2, serve={"cache_bytes": RING}))
        with harness.Daemon(path) as daemon:
            alone = latency(daemon, 0, steps)
            with Crowd(daemon.endpoint, connections) as crowd:
                among = latency(daemon, steps, steps)
                status, files = daemon.status(), descriptors(daemon)
                assert status["clients"] >= connections, status
            peak = daemon.resident_kib(peak=True)
    bound = harness.memory_allowance(ALLOWANCE_KIB + 3 * RING // 1024)
    assert peak < bound, (peak, bound)
    ranks.show(f"{connections} connections, 64 ranks streaming, {steps} steps",
               next_alone=told(alone), next_in_the_crowd=told(among),
               requests_of_the_crowd=crowd.asked, descriptors_of_the_daemon=files,
               resident_KiB_at_most=peak, bound_KiB=bound, ring_bytes=RING)


if __name__ == "__main__":
    sys.exit(main(*ranks.size((100, 20), (1000, 150))))
