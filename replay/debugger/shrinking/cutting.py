"""Leaves members out of a recording, and the ends of those that stay, as long as its replay parts in the same way.

For what can't be taken apart into units: a recording that contradicts itself before anything is executed, and what
follows from a whole recovery. What stays is byte for byte where it was, so that a place in it is the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.bundle.frames import read_buffers, read_receipts, read_sendings
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.debugger.outcome import Outcome
from replay.debugger.replay import replay
from replay.debugger.shrinking.groups import groups_of
from replay.errors import ReplayError
from replay.log.codec import decode_all
from replay.model import json_bytes, read_json

_MANIFEST = "job.json"
MOST_REPLAYED_BYTES = 256 << 20
"""So much is replayed for one excerpt, all that is tried together: some half a minute."""
FEWEST_TRIED = 100
"""So often something is tried in any case."""
_REASON = " Likely reason: "
Members = Mapping[str, bytes]
Way = tuple[Any, ...]


@dataclass(slots=True)
class Cutting:
    """`asked` names the replay; `on_try` is told how many candidates were tried, and how many members there are."""

    members: Members
    asked: Mapping[str, Any]
    of: Mapping[str, Any]
    on_try: Callable[[int, int], None] = lambda tried, members: None
    tried: int = 0
    replayed_bytes: int = 0
    is_smallest: bool = True
    wanted: Way = ()
    varies: bool = False
    _known: dict[frozenset[tuple[str, int]], bool] = field(default_factory=dict)

    def run(self) -> tuple[MembersInMemory, Outcome]:
        """The smallest that was found: where it `is_smallest`, no member can go, and the end of none."""
        kept = dict(self.members)
        self.wanted = self._way(kept)
        self.varies = self._way(kept) != self.wanted
        kept = self._without_groups(kept)
        before: dict[str, bytes] | None = None
        while before != kept:
            before = kept
            kept = self._fewer(kept)
            for name in sorted(kept, key=lambda one: -len(kept[one])):
                kept = self._shorter(kept, name)
        made = self._named(kept)
        return MembersInMemory(made), self._replayed(made)

    # --- whether it parts in the same way ---

    def _diverges(self, kept: Members) -> bool:
        """What was tried once is not tried again, and nothing more once it has taken too long."""
        key = frozenset((name, len(data)) for name, data in kept.items())
        if key not in self._known:
            if self.replayed_bytes > MOST_REPLAYED_BYTES and self.tried >= FEWEST_TRIED:
                self.is_smallest = False
                return False
            self.tried += 1
            self.replayed_bytes += sum(map(len, kept.values()))
            self.on_try(self.tried, len(kept))
            self._known[key] = self._compared(self._way(kept)) == self._compared(self.wanted)
        return self._known[key]

    def _compared(self, way: Way) -> Way:
        """Where no two replays say the same, as with an unlogged clock: what they come to."""
        return way[:-1] if self.varies else way

    def _way(self, kept: Members) -> Way:
        try:
            return way_of(self._replayed(kept))
        except ReplayError as fault:
            return type(fault).__name__, str(fault)

    def _replayed(self, kept: Members) -> Outcome:
        return replay(Bundle(MembersInMemory(kept)), **self.asked)

    def _named(self, kept: Members) -> Members:
        """The manifest says what it was cut out of."""
        manifest = read_json(kept[_MANIFEST])
        named = {**manifest, "excerpt": {**self.of, "members": len(kept), "of_members": len(self.members)}}
        return {**kept, _MANIFEST: json_bytes(named)}

    # --- what can go ---

    def _without_groups(self, kept: dict[str, bytes]) -> dict[str, bytes]:
        """What belongs together stands or falls together: one without the other only contradicts it."""
        for gone in groups_of(kept):
            candidate = {name: data for name, data in kept.items() if name not in gone}
            if len(candidate) < len(kept) and self._diverges(candidate):
                kept = candidate
        return kept

    def _fewer(self, kept: dict[str, bytes]) -> dict[str, bytes]:
        """Halves, quarters, …, single members, in the order of their names, in which those of a task stand together."""
        names = sorted(kept.keys() - {_MANIFEST})
        size = max(1, len(names) // 2)
        while names:
            at, less = 0, False
            while at < len(names):
                gone = set(names[at : at + size])
                candidate = {name: data for name, data in kept.items() if name not in gone}
                if self._diverges(candidate):
                    kept, less = candidate, True
                    del names[at : at + size]
                else:
                    at += size
            if size == 1 and not less:
                break
            size = max(1, size // 2)
        return kept

    def _shorter(self, kept: dict[str, bytes], name: str) -> dict[str, bytes]:
        """Up to one of its frames, determinants or lines: the first half first, then ever less of the end."""
        data = kept[name]
        ends = [end for end in ends_in(name, data) if 0 < end < len(data)]
        less = len(ends)
        while less and ends:
            at = max(0, len(ends) - less)
            candidate = {**kept, name: data[: ends[at]]}
            if self._diverges(candidate):
                kept, ends = candidate, ends[:at]
                less = min(less, len(ends))
            else:
                less //= 2
        return kept


def way_of(outcome: Outcome) -> Way:
    """How a replay came out: its verdict, whose it was, and the sentence without what is likely to be behind it."""
    return outcome.verdict, outcome.task, outcome.attempt, outcome.failure, outcome.sentence.partition(_REASON)[0]


def ends_in(name: str, data: bytes) -> list[int]:
    """Where a member may be cut: after each of its frames, determinants or lines, as far as they can be read."""
    if name == _MANIFEST or name.endswith(".json"):
        return []
    starts: list[int] = []
    try:
        starts.extend(_starts(name, data))
    except ReplayError:
        pass  # from there on it is one piece
    return starts[1:]


def _starts(name: str, data: bytes) -> Iterable[int]:
    suffix = name.rpartition(".")[2]
    if suffix == "ndjson":
        at = 0
        for line in data.splitlines(keepends=True):
            yield at
            at += len(line)
    elif suffix == "det":
        yield from (at for at, _, _ in decode_all(data))
    elif suffix == "buf":
        yield from (at for at, _ in read_buffers(data, epoch=0))
    elif suffix == "dlt" and "/sent-" in name:
        yield from (at for at, _ in read_sendings(data))
    elif suffix == "rcv":
        yield from (at for at, _ in read_receipts(data))
