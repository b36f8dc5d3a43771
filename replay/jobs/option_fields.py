"""What one option of `record` is: its flag, its bounds or words, and how it is read from a command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, field
from typing import Any

from replay.errors import WrongSetting, printable


class WrongOption(WrongSetting):
    """An option that can't be meant so, or that this version can't follow."""


@dataclass(frozen=True, slots=True)
class Option:
    """`special` options mean something to some jobs only; the others refuse them."""

    what: str
    flag: str = ""
    metavar: str = "N"
    special: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """How `argparse` is to read it."""
        return {"type": str}

    def value(self, flag: str, given: Any) -> Any:
        """From what `argparse` read."""
        return given

    def check(self, flag: str, value: Any) -> None:
        """Refuses what it can't be."""


@dataclass(frozen=True, slots=True)
class Number(Option):
    """A whole number within bounds."""

    low: float = 0
    high: float = 0

    @property
    def arguments(self) -> dict[str, Any]:
        """How `argparse` is to read it."""
        return {"type": str}

    def value(self, flag: str, given: Any) -> Any:
        """From what `argparse` read."""
        return None if given is None else self._read(flag, given, int)

    def _read(self, flag: str, text: str, kind: type[int] | type[float]) -> Any:
        try:
            return kind(text)
        except ValueError:
            what = "whole number" if kind is int else "number"
            remedy = f"It must be a {what} between {self.low} and {self.high}"
            raise WrongOption(f"{flag} is {printable(text, 40)!r}", remedy=remedy) from None

    def check(self, flag: str, value: Any) -> None:
        """Refuses what lies outside of the bounds, and NaN."""
        if not self.low <= value <= self.high:
            raise WrongOption(f"{flag} is {value}", remedy=f"It must lie between {self.low} and {self.high}")


@dataclass(frozen=True, slots=True)
class Measure(Number):
    """A number within bounds, which need not be whole."""

    def value(self, flag: str, given: Any) -> Any:
        """From what `argparse` read."""
        return None if given is None else self._read(flag, given, float)


@dataclass(frozen=True, slots=True)
class Word(Option):
    """One of some words; those in `later` have a name, but are not built in yet."""

    now: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    def check(self, flag: str, value: Any) -> None:
        """Refuses any other word."""
        if value in self.now:
            return
        rule = f"This version records {', '.join(self.now)}"
        if value in self.later:
            raise WrongOption(f"{flag} {value} isn't built in yet", remedy=rule)
        raise WrongOption(f"{flag} is {value!r}, which is unknown", remedy=f"It must be one of {', '.join(self.now)}")


@dataclass(frozen=True, slots=True)
class Texts(Option):
    """Repeatable; each one is read by `parse`, which raises where it can't."""

    parse: Callable[[str], object] = str

    @property
    def arguments(self) -> dict[str, Any]:
        """How `argparse` is to read it."""
        return {"action": "append"}

    def value(self, flag: str, given: Any) -> Any:
        """None where it was never given."""
        return tuple(given or ())

    def check(self, flag: str, value: Any) -> None:
        """Refuses what can't be read."""
        for one in value:
            self.parse(one)


@dataclass(frozen=True, slots=True)
class NumberOrFull(Number):
    """A whole number within bounds, or `full`, which is None."""

    @property
    def arguments(self) -> dict[str, Any]:
        """How `argparse` is to read it."""
        return {"type": str}

    def value(self, flag: str, given: Any) -> Any:
        """From what `argparse` read."""
        return None if given is None else number_or_full(given, self.flag)


def number_or_full(text: str, flag: str) -> int | None:
    """`full` is None."""
    if text == "full":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise WrongOption(f"{flag} is {text!r}", remedy="It must be 0, 1, 2, … or full")
    return int(text)


def number(default: int | None, low: int, high: int, what: str, **more: Any) -> Any:
    """A field of `RecordOptions` that is a whole number."""
    return field(default=default, metadata={"option": Number(what, low=low, high=high, **more)})


def measure(default: float | None, low: float, high: float, what: str, **more: Any) -> Any:
    """A field of `RecordOptions` that is a number."""
    return field(default=default, metadata={"option": Measure(what, low=low, high=high, **more)})


def word(default: str | None, now: tuple[str, ...], what: str, later: tuple[str, ...] = (), **more: Any) -> Any:
    """A field of `RecordOptions` that is one of some words."""
    return field(default=default, metadata={"option": Word(what, now=now, later=later, **{"metavar": "WORD", **more})})


def texts(flag: str, metavar: str, parse: Callable[[str], object], what: str) -> Any:
    """A field of `RecordOptions` that can be given several times."""
    return field(default=(), metadata={"option": Texts(what, flag=flag, metavar=metavar, parse=parse)})


def option_of(one: Field[Any]) -> Option | None:
    """What a field of `RecordOptions` says of itself; None where it isn't an option."""
    return one.metadata.get("option")


def flag_of(one: Field[Any]) -> str:
    """As on the command line."""
    option = option_of(one)
    return (option.flag if option else "") or "--" + one.name.replace("_", "-")
