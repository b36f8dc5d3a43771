"""The choices of a main thread: made and logged while it runs, taken from the log and logged again while it replays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from replay.errors import InvariantError
from replay.log.determinants import Determinant
from replay.services.cursor import Cursor, Divergence

D = TypeVar("D", bound=Determinant)  # one kind of determinant
Append = Callable[[Determinant, int], object]


class Wall(Protocol):
    """The world outside of a task, where it is not replayed."""

    def now_ms(self) -> int:
        """The wall clock."""

    def random_int32(self) -> int:
        """A number from -2**31 up to, and without, 2**31."""

    def external(self, call: str, request: Any, effect: str) -> Any:
        """The outside world's answer; raises `ExternalFault` where it gives none."""


class ChoiceObserver(Protocol):
    """Is told of every determinant that was taken from the returned log, and of every one that was appended."""

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """A determinant of the returned log was used; `offset` is where it stands there."""

    def appended(self, determinant: Determinant, epoch: int) -> None:
        """A determinant was appended to the task's own main log."""


class Beside(Protocol):
    """Stands beside choices that follow a log which may not apply: those of a fork. `Divergence` is no end there."""

    def look(self) -> None:
        """Before the log is asked."""

    def left(self, found: Divergence) -> None:
        """The log holds something else than what is asked for; from here on nothing of it is followed."""

    def gives(self, kind: type[D], unlike: Callable[[D], str | None] | None) -> D | None:
        """What is chosen where no log says it; None leaves it to the wall."""

    def chosen(self, determinant: Any, epoch: int) -> Any:
        """What stands for a choice that no log says; another of its kind, where that is asked for."""

    def followed(self, determinant: Determinant) -> None:
        """A determinant of the log was used."""


class Choices:
    """Live without a cursor. With one, follows it to its end and goes on live from there, even in mid-record."""

    def __init__(self, append: Append | None, *, cursor: Cursor | None = None, epoch: int = 0):
        """`append` None: the protocol logs nothing (sharing depth 0)."""
        self.epoch = epoch
        self.observer: ChoiceObserver | None = None
        self.beside: Beside | None = None
        self._append = append
        # The place in the returned log; None as soon as it is used up.
        self.cursor = cursor if cursor is not None and not cursor.used_up else None

    @property
    def replaying(self) -> bool:
        """Whether the next choice comes from the returned log."""
        return self.cursor is not None

    def sync(self, kind: type[D], make: Callable[[], D], unlike: Callable[[D], str | None] | None = None) -> D:
        """The next choice of that kind. Appended in both cases: after a replay the log must equal the lost one.

        `unlike` says what was asked for, of a logged determinant that can't be the answer to it.
        """
        if self.beside is not None:
            return self._sync_beside(self.beside, kind, make, unlike)
        if self.cursor is None:
            chosen = make()
            self.append(chosen)
            return chosen
        return self.follow(kind, unlike)

    def _sync_beside(
        self, beside: Beside, kind: type[D], make: Callable[[], D], unlike: Callable[[D], str | None] | None
    ) -> D:
        beside.look()
        cursor = self.cursor
        if cursor is not None:
            ahead = cursor.peek(self.epoch)
            asked = unlike(ahead) if unlike is not None and isinstance(ahead, kind) else None
            if isinstance(ahead, kind) and asked is None:
                beside.followed(ahead)
                return self.follow(kind, unlike)
            beside.left(cursor.divergence(self.epoch, asked or f"a {kind.kind} determinant"))
        chosen: D = beside.chosen(beside.gives(kind, unlike) or make(), self.epoch)
        self.append(chosen)
        return chosen

    def follow(self, kind: type[D], unlike: Callable[[D], str | None] | None = None) -> D:
        """Takes the next determinant of the returned log and appends it again before anything else can be appended."""
        cursor = self.cursor
        if cursor is None:
            raise InvariantError(f"a {kind.kind} determinant is to be followed where nothing is replayed")
        ahead = cursor.peek(self.epoch) if unlike is not None else None
        if unlike is not None and isinstance(ahead, kind) and (asked := unlike(ahead)) is not None:
            cursor.refuse(self.epoch, asked)
        offset = cursor.offset(self.epoch)
        taken = cursor.take(self.epoch, kind)
        if self.observer is not None:
            self.observer.took(taken, self.epoch, offset)
        self.append(taken)
        if cursor.used_up:
            self.cursor = None
        return taken

    def due(self, record_count: int) -> Determinant | None:
        """The asynchronous determinant that must be executed now, before the next element."""
        if self.beside is not None:
            self.beside.look()
        return None if self.cursor is None else self.cursor.peek_due(self.epoch, record_count)

    def append(self, determinant: Determinant) -> None:
        """Appends to the task's main log, in the current epoch."""
        if self._append is not None:
            self._append(determinant, self.epoch)
        if self.observer is not None:
            self.observer.appended(determinant, self.epoch)
