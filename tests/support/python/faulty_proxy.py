"""A network that fails, without privileges: a TCP proxy that delays, stalls, tears and cuts.

    with FaultyProxy(port) as proxy:
        proxy.delay_s = 0.05        # and jitter_s: every piece comes so much later
        proxy.stalled = True        # connections stay, nothing moves, as behind a dead router
        proxy.refusing = True       # new connections are closed at once
        proxy.cut()                 # every connection ends by a reset
        proxy.tear()                # every connection ends in the middle of the next piece

Settings hold for connections that are open as well. Threads: one of its own; settings may be
changed from any thread at any time.
"""
import asyncio
import random
import socket
import struct
import threading

PIECE_BYTES = 65536
TICK_S = 0.005  # how often a stalled piece looks whether it may go on


class FaultyProxy:
    def __init__(self, target_port, seed=1):
        self.target_port, self.random = target_port, random.Random(seed)
        self.delay_s = self.jitter_s = 0.0
        self.stalled = self.refusing = False
        self.connections = 0  # accepted so far
        self._torn, self._open = 0, set()
        self._loop, self._ready = asyncio.new_event_loop(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *unused):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    @property
    def endpoint(self):
        return f"tcp://127.0.0.1:{self.port}"

    def cut(self):
        self._loop.call_soon_threadsafe(self._reset_all)

    def tear(self):
        """The next piece of every connection, either way, loses its end, and the rest with it."""
        self._torn += 1

    def _run(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._reset_all()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    def _reset_all(self):
        for writer in list(self._open):
            _reset(writer)
        self._open.clear()

    async def _accept(self, reader, writer):
        self.connections += 1
        if self.refusing:
            _reset(writer)
            return
        try:
            target = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            _reset(writer)
            return
        for end in (writer, target[1]):
            end.transport.set_write_buffer_limits(0)  # what was drained has left us
        self._open |= {writer, target[1]}
        ways = [asyncio.ensure_future(self._pass(reader, target[1])),
                asyncio.ensure_future(self._pass(target[0], writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # the proxy ends; a task that says so is logged as a fault
            pass
        for way in ways:
            way.cancel()
        for end in (writer, target[1]):
            end.close()
        self._open -= {writer, target[1]}

    async def _pass(self, reader, writer):
        torn = self._torn
        try:
            while piece := await reader.read(PIECE_BYTES):
                await asyncio.sleep(self.delay_s + self.random.uniform(0, self.jitter_s))
                while self.stalled:
                    await asyncio.sleep(TICK_S)
                if self._torn != torn:
                    writer.write(piece[:self.random.randrange(len(piece))])
                    await writer.drain()
                    return
                writer.write(piece)
                await writer.drain()
        except OSError:
            pass


def _reset(writer):
    """Closes with RST, so that the other side notices at once and nothing lingers."""
    link = writer.get_extra_info("socket")
    if link is not None and link.fileno() >= 0:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
