"""Peers that no daemon should have to meet: noise, lies about sizes, and silence."""
import random
import socket
import struct
import threading
from urllib.parse import urlparse

import zmq

from wire import preamble

# A ZMTP 3.0 peer up to the end of its NULL handshake: everything after it is taken for frames.
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY_BODY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
HANDSHAKE = GREETING + bytes([4, len(READY_BODY)]) + READY_BODY


def _connect(endpoint):
    url = urlparse(endpoint)
    return socket.create_connection((url.hostname, url.port), timeout=5)


def noise(endpoint, rng):
    """Random bytes where a greeting should be."""
    with _connect(endpoint) as peer:
        peer.sendall(rng.randbytes(rng.randrange(1, 4096)))


def noise_after_handshake(endpoint, rng):
    """A good handshake, then random bytes for frames."""
    with _connect(endpoint) as peer:
        peer.sendall(HANDSHAKE + rng.randbytes(rng.randrange(1, 4096)))


def huge_frame(endpoint, rng):
    """The header of a frame of many GiB, and a little of it."""
    with _connect(endpoint) as peer:
        size = rng.choice([5000, 1 << 31, 6 << 30, (1 << 63) - 1])
        peer.sendall(HANDSHAKE + b"\x02" + struct.pack(">Q", size) + bytes(1000))


def bad_messages(endpoint, rng):
    """Whole ZeroMQ messages that are no requests."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as peer:
        peer.linger = 200
        peer.connect(endpoint)
        for _ in range(20):
            body = rng.randbytes(rng.randrange(64))
            peer.send_multipart(rng.choice([
                [b""], [body], [preamble(3) + body], [preamble(3, version=99) + body],
                [preamble(200) + body], [b"", body], [body] * 9, [preamble(3) + bytes(3000)],
                [preamble(3) + b"\x0a" * 2000]]))


KINDS = (noise, noise_after_handshake, huge_frame, bad_messages)


class Nuisance:
    """Does all of it, over and over from several threads, for as long as the block runs."""

    def __init__(self, endpoint, half_open=40, threads=2):
        self.endpoint, self.over, self.done = endpoint, threading.Event(), {}
        self.changed = threading.Condition()
        self.half_open = [_connect(endpoint) for _ in range(half_open)]
        self.threads = [threading.Thread(target=self._run, args=(seed,))
                        for seed in range(threads)]

    def _run(self, seed):
        rng = random.Random(seed)
        while not self.over.is_set():
            kind = rng.choice(KINDS)
            try:
                kind(self.endpoint, rng)
            except OSError:
                pass  # the daemon may well hang up on us
            with self.changed:
                self.done[kind.__name__] = self.done.get(kind.__name__, 0) + 1
                self.changed.notify_all()

    def await_each(self, times):
        """Returns when every kind has been done that often."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: all(self.done.get(kind.__name__, 0) >= times for kind in KINDS),
                timeout=60), self.done

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        for thread in self.threads:
            thread.join()
        for peer in self.half_open:
            peer.close()
