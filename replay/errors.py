"""The error tree of `replay`: what is wrong with an input, where, and what to do; and the programmer's own errors."""

from __future__ import annotations

from typing import Any


class ReplayError(Exception):
    """Something the user can act on. Reads as one sentence: where, what rule was broken, and what to do."""

    def __init__(self, why: str, *, path: str | None = None, offset: int | None = None, remedy: str | None = None):
        super().__init__(why)
        self.why = why
        self.path = path
        self.offset = offset
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        # Fields are given by keyword, which pickle's own way of rebuilding an exception cannot do.
        return _rebuilt, (type(self), self.args, self.__dict__)

    @property
    def place(self) -> str:
        """Where the fault lies, or an empty string."""
        at = "" if self.offset is None else f"offset {self.offset}"
        if self.path is None:
            return at
        return f"{printable(self.path)} at {at}" if at else printable(self.path)

    def __str__(self) -> str:
        sentence = f"{self.place}: {self.why}." if self.place else f"{self.why}."
        return f"{sentence} {self.remedy}." if self.remedy else sentence


def _rebuilt(kind: type[ReplayError], args: tuple[Any, ...], fields: dict[str, Any]) -> ReplayError:
    fault = kind.__new__(kind, *args)
    fault.args = args
    fault.__dict__.update(fields)
    return fault


class BundleError(ReplayError):
    """A fault of container, manifest, name or limit: the bundle is refused whole."""


class NoManifest(BundleError):
    """What was opened is no bundle, for it has no `job.json`; `members` are the names that it has instead."""

    members: tuple[str, ...] = ()


class CorruptMember(ReplayError):
    """A fault inside one member: what stands before it is kept, the rest is rejected."""


class CorruptDeterminant(CorruptMember):
    """A determinant that does not decode; `offset` is where it begins, `tag` its first byte."""

    def __init__(
        self,
        why: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        tag: int | None = None,
        remedy: str | None = None,
    ):
        super().__init__(why, path=path, offset=offset, remedy=remedy)
        self.tag = tag


class DeltaGap(CorruptMember):
    """A delta begins past the end of what its receiver holds; nothing of its message was applied."""

    def __init__(
        self,
        why: str,
        *,
        channel: str,
        log: object,
        epoch: int,
        path: str | None = None,
        offset: int | None = None,
        remedy: str | None = None,
    ):
        super().__init__(why, path=path, offset=offset, remedy=remedy)
        self.channel = channel
        self.log = log
        self.epoch = epoch


class CorruptRecording(ReplayError):
    """Two copies of one log disagree; `holders` names who held them."""

    def __init__(
        self,
        why: str,
        *,
        holders: tuple[str, str],
        path: str | None = None,
        offset: int | None = None,
        remedy: str | None = None,
    ):
        super().__init__(why, path=path, offset=offset, remedy=remedy)
        self.holders = holders


class PoolExhausted(ReplayError):
    """A pool of a recorded job is too small for what its task must keep. `task` and `pool` name it."""

    def __init__(self, why: str, *, task: str, pool: str, remedy: str | None = None):
        super().__init__(why, remedy=remedy)
        self.task = task
        self.pool = pool


class WrongSetting(ReplayError):
    """What is asked for can't be meant so, or does not fit with what else is asked for."""


class InvariantError(Exception):
    """The program broke a rule of its own."""


class UnexpectedEvent(InvariantError):
    """A state machine was given an event that its state cannot take."""


def check(condition: object, why: str) -> None:
    """Raises `InvariantError` unless the condition holds; stays on under `python -O`."""
    if not condition:
        raise InvariantError(why)


def printable(name: str, limit: int = 200) -> str:
    """A name from a hostile file, fit to be shown: no control characters, no surrogates, not too long."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in name)
    return shown if len(shown) <= limit else f"{shown[:limit]}…"
