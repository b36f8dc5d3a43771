"""Reads a returned main log one determinant ahead of the task that follows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from replay.errors import InvariantError
from replay.log.codec import decode_at
from replay.log.determinants import Determinant, is_async

D = TypeVar("D", bound=Determinant)  # one kind of determinant


class Divergence(Exception):
    """A replay asked for one thing and the log holds another: a result, with the place where they part."""

    def __init__(self, *, asked: str, logged: str, thread: str, epoch: int, offset: int):
        super().__init__(f"{thread}, epoch {epoch}, offset {offset}: asked for {asked}, the log holds {logged}")
        self.asked = asked
        self.logged = logged
        self.thread = thread
        self.epoch = epoch
        self.offset = offset


class Cursor:
    """A place in a log given by epoch. Epochs are explicit: what an epoch holds is only ever taken within it."""

    def __init__(self, logs: Mapping[int, bytes], *, thread: str = "main"):
        self.thread = thread
        self._logs = {epoch: data for epoch, data in logs.items() if data}
        self._offsets = dict.fromkeys(self._logs, 0)
        self._ahead: dict[int, tuple[Determinant, int]] = {}

    @property
    def used_up(self) -> bool:
        """Whether nothing is left in any epoch."""
        return not self._logs

    @property
    def epochs(self) -> tuple[int, ...]:
        """The epochs that still hold something, ascending."""
        return tuple(sorted(self._logs))

    def offset(self, epoch: int) -> int:
        """Where the next determinant of an epoch stands."""
        return self._offsets.get(epoch, 0)

    def peek(self, epoch: int) -> Determinant | None:
        """The next determinant of an epoch, left where it is; None where the epoch is used up."""
        if epoch not in self._logs:
            return None
        if epoch not in self._ahead:
            self._ahead[epoch] = decode_at(self._logs[epoch], self._offsets[epoch])
        return self._ahead[epoch][0]

    def peek_due(self, epoch: int, record_count: int) -> Determinant | None:
        """The next determinant of an epoch if it is asynchronous and its record count is reached, or over."""
        following = self.peek(epoch)
        if following is None or not is_async(following):
            return None
        due = following.record_count
        if due < record_count:
            self.refuse(epoch, f"nothing of record count {due}, being at {record_count}")
        return following if due <= record_count else None

    def take(self, epoch: int, kind: type[D]) -> D:
        """The next determinant of an epoch, which must be of that kind; moves on."""
        following = self.peek(epoch)
        if not isinstance(following, kind):
            self.refuse(epoch, f"a {kind.kind} determinant")
            raise InvariantError("a log that refuses to go on does not")
        _, end = self._ahead.pop(epoch)
        if end == len(self._logs[epoch]):
            del self._logs[epoch]
        self._offsets[epoch] = end
        return following

    def skip(self, epoch: int) -> None:
        """Leaves the next determinant of an epoch out, after one that was refused."""
        following = self.peek(epoch)
        if following is not None:
            self.take(epoch, type(following))

    def refuse(self, epoch: int, asked: str) -> None:
        """The task asked for something else than what stands here: raises `divergence`.

        A debugger's cursor may tell of it instead, and go on.
        """
        raise self.divergence(epoch, asked)

    def divergence(self, epoch: int, asked: str) -> Divergence:
        """The task asked for something else than what stands here."""
        following = self.peek(epoch)
        logged = "nothing more of this epoch" if following is None else repr(following)
        return Divergence(asked=asked, logged=logged, thread=self.thread, epoch=epoch, offset=self.offset(epoch))
