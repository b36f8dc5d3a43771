"""Few at a time: what requests have done beside one another. Who finds all places taken waits a while, then is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.problems import Problem


class Turns:
    """So many places of this process; `busy` is what is said to who got none in time."""

    def __init__(self, busy: str, *, at_once: int = 1, wait_s: float = 10.0) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._busy, self._wait_s = busy, wait_s

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A place for as long as this is open. Raises `Problem` where none became free."""
        if not self._places.acquire(timeout=self._wait_s):
            raise Problem(503, self._busy)
        try:
            yield
        finally:
            self._places.release()
