"""Listening and serving: uvicorn, told to end its children before it waits for anything else."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from django.conf import settings

from dashboard.management.base import Failure

# Connections get this long to finish; with what work needs to end it stays below five seconds.
GRACE_S = 1
# Whoever keeps a connection for the next request closes it first: one that is sent while it is closed here is lost, and
# some clients keep theirs for the five seconds that are uvicorn's own, proxies for a minute.
KEEP_ALIVE_S = 75


def address_of(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise Failure(
            f"{host}:{port} cannot be listened on: {error.strerror}. Choose another with --host and --port."
        ) from None


class Server(uvicorn.Server):
    def __init__(self, *, on_ready: Callable[[], None]) -> None:
        self._on_ready = on_ready
        super().__init__(
            uvicorn.Config(
                "dashboard.asgi:application",
                lifespan="on",
                log_level="warning",
                access_log=False,
                timeout_graceful_shutdown=GRACE_S,
                timeout_keep_alive=KEEP_ALIVE_S,
                server_header=False,
                proxy_headers=settings.BEHIND_TLS,
            )
        )

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As uvicorn's own, but a server that was told to end and did has ended well."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def serve_on(self, listening: socket.socket) -> None:
        self.run(sockets=[listening])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        from dashboard.work.service import service

        # At once, beside the connections' grace: children take their own time to end.
        if settings.WORKER_IN_PROCESS:
            service().stopping.set()
        super().handle_exit(sig, frame)
