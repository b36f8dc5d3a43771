"""What a replay would do next: when that happened, and what must have been done before it."""

from __future__ import annotations

from typing import NamedTuple

from replay.debugger.recorded.story import Event


class Ahead(NamedTuple):
    """`t_us` is when it was recorded, or, where not `exact`, when the thing before it was.

    `event`: the recorded event that comes next, where it is one; `buffer`: (channel, sender's attempt, number) of the
    one that is taken.
    """

    t_us: int
    exact: bool = False
    event: Event | None = None
    buffer: tuple[str, int, int] | None = None

    @property
    def number(self) -> int | None:
        """The recorded event's."""
        number = None if self.event is None else self.event.get("n")
        return number if isinstance(number, int) else None

    @property
    def place(self) -> tuple[int, int]:
        """By time; at one time what has no number of its own comes first, and events in their order."""
        number = self.number
        return self.t_us, -1 if number is None else number
