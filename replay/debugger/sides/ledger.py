"""Everything that an execution gave away, by output and number, in eight bytes each: to be compared whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from replay.debugger.sides.trace import digest
from replay.runtime.body.output import Cut

WRITES = "outside"
"""What stands for a channel where a sink gives its records to the world outside."""

_DIGEST_BYTES = 8


@dataclass(slots=True)
class _Given:
    first: int
    digests: bytearray = field(default_factory=bytearray)
    steps: list[int] = field(default_factory=list)

    def at(self, number: int) -> bytes | None:
        at = (number - self.first) * _DIGEST_BYTES
        found = self.digests[at : at + _DIGEST_BYTES] if at >= 0 else b""
        return bytes(found) or None

    @property
    def end(self) -> int:
        return self.first + len(self.steps)


class Span(NamedTuple):
    """A run of an output's buffers (of a sink: of its writes), from the first to, and without, the end."""

    output: str
    first: int
    end: int

    @property
    def size(self) -> int:
        """How many."""
        return self.end - self.first

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        return {"output": self.output, "first": self.first, "last": self.end - 1, "count": self.size}


class Ledger:
    """By output (a channel, or `WRITES`): the buffers cut, or the records given, each with the step that gave it."""

    def __init__(self) -> None:
        self._given: dict[str, _Given] = {}

    def cut(self, channel: str, cut: Cut, step: int) -> None:
        """A buffer left."""
        given = self._given.setdefault(channel, _Given(cut.seq))
        given.digests += digest(b"%d %d " % (cut.epoch, cut.is_event) + cut.payload)
        given.steps.append(step)

    def wrote(self, data: bytes, step: int) -> None:
        """A record was given to the world."""
        given = self._given.setdefault(WRITES, _Given(0))
        given.digests += digest(data)
        given.steps.append(step)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Those that gave anything, in order."""
        return tuple(sorted(self._given))

    def span(self, output: str) -> Span:
        """All that an output gave."""
        given = self._given.get(output, _Given(0))
        return Span(output, given.first, given.end)

    def since(self, output: str, step: int) -> Span:
        """What an output gave at or after a step."""
        given = self._given.get(output, _Given(0))
        before = sum(one < step for one in given.steps)
        return Span(output, given.first + before, given.end)

    def step_of(self, output: str, number: int) -> int | None:
        """The step that gave it."""
        given = self._given.get(output)
        if given is None or not given.first <= number < given.end:
            return None
        return given.steps[number - given.first]

    def followed_by(self, other: Ledger) -> Ledger:
        """With what another execution gave beyond it: what was given stays given."""
        found = Ledger()
        for output in sorted({*self._given, *other._given}):
            mine, beyond = self._given.get(output), other._given.get(output)
            if mine is None or beyond is None:
                found._given[output] = mine or beyond or _Given(0)
                continue
            skipped = max(0, mine.end - beyond.first)
            digests = mine.digests + beyond.digests[skipped * _DIGEST_BYTES :]
            found._given[output] = _Given(mine.first, digests, mine.steps + beyond.steps[skipped:])
        return found

    def total(self) -> int:
        """All that was given."""
        return sum(len(given.steps) for given in self._given.values())

    def like(self, other: Ledger) -> Mapping[str, list[Span]]:
        """Against another execution: what is `equal`, what `changed`, and what only one of the two gave."""
        found: dict[str, list[Span]] = {"equal": [], "changed": [], "gone": [], "new": []}
        for output in sorted({*self._given, *other._given}):
            numbers = range(
                min(self.span(output).first, other.span(output).first),
                max(self.span(output).end, other.span(output).end),
            )
            for kind, run in groupby(numbers, partial(self._kind, other, output)):
                if kind:
                    these = list(run)
                    found[kind].append(Span(output, these[0], these[-1] + 1))
        return found

    def _kind(self, other: Ledger, output: str, number: int) -> str:
        mine, theirs = self._at(output, number), other._at(output, number)
        if mine is None or theirs is None:
            return "gone" if mine else "new" if theirs else ""
        return "equal" if mine == theirs else "changed"

    def _at(self, output: str, number: int) -> bytes | None:
        given = self._given.get(output)
        return None if given is None else given.at(number)


def counted_of(spans: Iterator[Span] | list[Span]) -> int:
    """How many buffers and writes these are."""
    return sum(span.size for span in spans)
