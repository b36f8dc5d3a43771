"""A bar on the terminal for what takes long: on standard error, and only where a person looks at it."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TextIO

_AFTER_S = 1.0
_EVERY_S = 0.2
_CELLS = 30


class Bar:
    """Called with how much of how much is done. What is over at once shows nothing; at the end the line is cleared."""

    def __init__(self, what: str, stream: TextIO | None = None):
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._begun_s = self._shown_s = time.monotonic()
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now_s = time.monotonic()
        if now_s - self._begun_s < _AFTER_S or now_s - self._shown_s < _EVERY_S:
            return
        self._shown_s, self._shown = now_s, True
        cells = _CELLS * done // max(total, 1)
        self._stream.write(f"\r{'█' * cells}{'·' * (_CELLS - cells)} {done:,} of {total:,} {self._what}")
        self._stream.flush()

    def __enter__(self) -> Bar | None:
        return self if self._stream.isatty() else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
