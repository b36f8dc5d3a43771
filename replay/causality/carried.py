"""Carried: bytes of one task's logs on their way, at one sharing depth, and who had them in the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from replay.causality.frames import Fault
from replay.causality.passing_on import Copies, Extent
from replay.causality.turns import Execution
from replay.model import ChannelId

Key = tuple[int, int, int]
"""(sender's attempt, sequence number, sending)"""


@dataclass(slots=True)
class Carried:
    """Bytes of one attempt's logs on one channel: what was sent is `new` to who got it, or there `again`, or it was
    still under way, or lost."""

    new: int = 0
    again: int = 0
    unarrived: int = 0
    sendings: int = 0

    @property
    def bytes(self) -> int:
        """All that was sent."""
        return self.new + self.again + self.unarrived

    def add(self, other: Carried) -> None:
        """Counts that as well."""
        self.new += other.new
        self.again += other.again
        self.unarrived += other.unarrived
        self.sendings += other.sendings


@dataclass(slots=True)
class Depth:
    """`depth` None is what was recorded; `given_up`: there is more to follow than is followed."""

    depth: int | None
    copies: dict[Execution, Copies] = field(default_factory=dict)
    carried: dict[ChannelId, Carried] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    given_up: bool = False
    extents: int = 0
    _under_way: dict[ChannelId, dict[Key, tuple[int, list[Extent]]]] = field(default_factory=dict)

    def send(self, channel: ChannelId, key: Key, t_us: int, extents: list[Extent]) -> None:
        """A sending that carries something."""
        self._under_way.setdefault(channel, {})[key] = t_us, extents
        self.extents += len(extents)

    def carries(self, channel: ChannelId, key: Key) -> bool:
        """Whether that sending carries something that did not arrive yet."""
        return key in self._under_way.get(channel, ())

    def arrive(self, channel: ChannelId, key: Key) -> tuple[int, list[Extent]] | None:
        """What a sending carried, once."""
        return self._under_way.get(channel, {}).pop(key, None)

    def lost(self, channel: ChannelId) -> Iterator[tuple[int, list[Extent]]]:
        """What never arrived."""
        yield from self._under_way.pop(channel, {}).values()

    def give_up(self) -> None:
        """Forgets everything."""
        self.given_up, self.extents = True, 0
        self.copies.clear()
        self.carried.clear()
        self._under_way.clear()


@dataclass(slots=True)
class Followed:
    """`recorded`, and beside it each depth from 1 to the one from which on all are alike. `unlike`: the sendings of
    relays that carry something else than computed for the recorded depth; `uncompared`: that was not followed;
    `unknown`: receipts of no known sending."""

    recorded: Depth
    computed: list[Depth]
    compared: int = 0
    unlike: int = 0
    first_unlike: tuple[ChannelId, int] | None = None
    uncompared: bool = False
    unknown: int = 0
