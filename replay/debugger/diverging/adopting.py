"""Follows a log beyond what contradicts it: the log's word is taken, what it has too much is skipped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from replay.debugger.recorded.logs import Reappended
from replay.errors import InvariantError
from replay.log.codec import encode
from replay.log.determinants import Determinant, Order, Rng, Serializable, Timestamp, is_async
from replay.model import MAIN, Thread, json_bytes
from replay.services import Cursor, Divergence

D = TypeVar("D", bound=Determinant)  # one kind of determinant

_LOOKS_AHEAD = 16
_CALL = 3


class AdoptingCursor(Cursor):
    """Tells `differs` of what the task asks otherwise, and finds it something to go on with."""

    def __init__(self, logs: Mapping[int, bytes], differs: Callable[[Divergence], None]):
        super().__init__(logs)
        self._differs = differs
        self.last_ms = 0
        self.uncounted: dict[tuple[Thread, int], int] = {}

    def refuse(self, epoch: int, asked: str) -> None:
        """The task asks for something else than what stands here: told, and not raised."""
        self._differs(self.divergence(epoch, asked))

    def take(self, epoch: int, kind: type[D]) -> D:
        """The next one of that kind, if it is near; else one that is made up, and of which the log knows nothing."""
        if not isinstance(self.peek(epoch), kind):
            self.refuse(epoch, f"a {kind.kind} determinant")
            if not self._skip_to(epoch, kind):
                self.uncounted[MAIN, epoch] = self.uncounted.get((MAIN, epoch), 0) + 1
                return self._something(kind)
        taken = super().take(epoch, kind)
        if isinstance(taken, Timestamp):
            self.last_ms = taken.value
        return taken

    def skip(self, epoch: int) -> None:
        """Leaves out all that stands before the next choice of an input, or the next interruption."""
        while not isinstance(following := self.peek(epoch), Order) and following is not None:
            if is_async(following):
                break
            super().skip(epoch)

    def counts(self, log: Reappended, thread: Thread, determinant: Determinant, epoch: int) -> bool:
        """Whether a determinant that is appended again stands in the log; `log` is moved to where it does."""
        size = len(encode(determinant))
        if self.uncounted.pop((thread, epoch), 0):
            if thread != MAIN:
                log.lengths[thread, epoch] = log.length(thread, epoch) + size
            return False
        if thread == MAIN and epoch in self._offsets:
            log.lengths[thread, epoch] = self.offset(epoch) - size
        return True

    def _skip_to(self, epoch: int, kind: type[Any]) -> bool:
        """Moves on to the next of that kind in the epoch, where only choices of other kinds stand before it."""
        before, ahead = self.offset(epoch), self._ahead.get(epoch)
        for _ in range(_LOOKS_AHEAD):
            following = self.peek(epoch)
            if following is None or is_async(following):
                break
            if isinstance(following, kind):
                return True
            _, end = self._ahead.pop(epoch)
            if end == len(self._logs[epoch]):
                break
            self._offsets[epoch] = end
        self._offsets[epoch] = before
        self._ahead.pop(epoch, None)
        if ahead is not None:
            self._ahead[epoch] = ahead
        return False

    def _something(self, kind: type[D]) -> D:
        made: Any = made_up(kind, self.last_ms)
        if not isinstance(made, kind):
            raise InvariantError(f"nothing stands for a {kind.kind} determinant")
        return made


def made_up(kind: type[Any], last_ms: int = 0) -> Determinant:
    """What an operator is given where the log has no answer: the time that it was given last, no chance, no value."""
    if kind is Timestamp:
        return Timestamp(last_ms)
    if kind is Rng:
        return Rng(0)
    if kind is Order:
        return Order(0)
    if kind is Serializable:
        return Serializable.of(_CALL, json_bytes({"call": "external", "name": "", "effect": "read", "value": None}))
    raise InvariantError(f"a {kind.kind} determinant is never asked for")
