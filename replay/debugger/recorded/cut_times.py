"""When a source cut its buffers: nothing else of it tells the time, as it has no receipts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from replay.debugger.recorded.logs import Built
from replay.runtime.body.output import OutputWriter


@dataclass(slots=True)
class CutTimes:
    """`cut_us`: when the attempt cut a buffer of an output, where that is known; None for a task that has receipts.

    `main_first_us`: when its main thread had come as far as it is to go before a later buffer is cut.
    """

    cut_us: Callable[[int, int], int | None] | None = None
    main_first_us: Callable[[], int | None] = lambda: None
    _next: tuple[int | None, int | None] | None = None

    def forget(self) -> None:
        """A buffer was cut: another one comes next."""
        self._next = None

    def earliest(
        self, pending: Sequence[deque[Built]], writers: Sequence[OutputWriter]
    ) -> tuple[int | None, int | None]:
        """When the buffer that comes next was cut, and on which output; (None, None) where nothing tells."""
        if self._next is None:
            times = (
                (us, k)
                for k, named in enumerate(pending)
                if self.cut_us is not None and named and (us := self.cut_us(k, writers[k].next_seq)) is not None
            )
            self._next = min(times, default=(None, None))
        return self._next

    def turns(self, pending: Sequence[deque[Built]], writers: Sequence[OutputWriter]) -> Collection[int]:
        """The outputs of which a buffer may be cut now, for all that the recording tells of the times."""
        cut_us, k = self.earliest(pending, writers)
        if cut_us is None or k is None:
            return range(len(pending))
        main_us = self.main_first_us()
        return () if main_us is not None and main_us < cut_us else (k,)
