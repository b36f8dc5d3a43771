"""What an execution did, written down in streams, and a second execution held against it item by item.

The first execution is spooled to nameless files and read back in step with the second, so that memory stays flat.
"""

from __future__ import annotations

import marshal
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol, cast

from replay.debugger.sides.parting import parts_of

Stream = Literal["step", "input", "determinant", "state", "output"]
STREAMS: tuple[Stream, ...] = ("step", "input", "determinant", "state", "output")
"""In which two executions are compared: their steps, and what was taken, chosen, kept and given."""

MOST_SAID = 1600
"""More bytes than this of anything are not put into words."""
_SHOWN = 400


class Item(NamedTuple):
    """Something that an execution did. `what` is compared; the rest says where it stands and how it reads.

    `call`: of a change of state, what the operator was given, counted from 0, as it changed; -1 where it is not known.
    """

    step: int
    epoch: int
    record_count: int
    what: tuple[Any, ...]
    said: str
    place: str = ""
    line: str = ""
    call: int = -1

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        fields = {"step": self.step, "epoch": self.epoch, "record_count": self.record_count, "said": self.said}
        return fields | {key: value for key, value in (("place", self.place), ("line", self.line)) if value}


class Difference(NamedTuple):
    """The first item of a stream in which two executions differ; None where one of them has no more."""

    stream: Stream
    number: int
    first: Item | None
    second: Item | None

    def to_json(self) -> dict[str, Any]:
        """As reports hold it."""
        sides = {"first": self.first, "second": self.second}
        parts = parts_of(self.first.what, self.second.what) if self.first and self.second else {}
        return {
            "stream": self.stream,
            "number": self.number,
            **{name: None if one is None else one.to_json() for name, one in sides.items()},
            **parts,
        }


class Noting(Protocol):
    """Is told what an execution does, item by item."""

    def note(self, stream: Stream, item: Item) -> None:
        """The next item of a stream."""


def digest(data: bytes) -> bytes:
    """Eight bytes that stand for any number of them."""
    return blake2b(data, digest_size=8).digest()


def shown(text: str) -> str:
    """Fit for a report."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class NothingNoted:
    """For an execution that nothing is held against."""

    def note(self, stream: Stream, item: Item) -> None:
        """Dropped."""


class Trace:
    """The first execution: written in the order of its doings, read back once, from the beginning."""

    def __init__(self) -> None:
        self._files: dict[Stream, BinaryIO] = {
            name: cast(BinaryIO, tempfile.TemporaryFile(prefix="clonoscope-trace-"))  # noqa: SIM115 - closed below
            for name in STREAMS
        }
        self.counts: dict[Stream, int] = dict.fromkeys(STREAMS, 0)

    def note(self, stream: Stream, item: Item) -> None:
        """Writes it down."""
        marshal.dump(tuple(item), self._files[stream])
        self.counts[stream] += 1

    def items(self, stream: Stream) -> Iterator[Item]:
        """What was noted, from the beginning."""
        file = self._files[stream]
        file.seek(0)
        for _ in range(self.counts[stream]):
            yield Item(*marshal.load(file))

    def close(self) -> None:
        """Lets go of the files."""
        for file in self._files.values():
            file.close()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Lockstep:
    """The second execution, held against the first. What follows the first difference of a stream is not compared."""

    def __init__(self, trace: Trace) -> None:
        self._expected: dict[Stream, Iterator[Item]] = {name: trace.items(name) for name in STREAMS}
        self.differences: dict[Stream, Difference] = {}
        self.counts: dict[Stream, int] = dict.fromkeys(STREAMS, 0)

    def note(self, stream: Stream, item: Item) -> None:
        """The second execution's next item."""
        number = self.counts[stream]
        self.counts[stream] += 1
        if stream in self.differences:
            return
        other = next(self._expected[stream], None)
        if other is None or other.what != item.what:
            self.differences[stream] = Difference(stream, number, other, item)

    def finish(self) -> list[Difference]:
        """The first difference of each stream, in the order in which the first execution came to them."""
        for stream in STREAMS:
            if stream not in self.differences and (left := next(self._expected[stream], None)) is not None:
                self.differences[stream] = Difference(stream, self.counts[stream], left, None)
        return sorted(self.differences.values(), key=_order)


def _order(one: Difference) -> tuple[int, int]:
    """By the step that shows it first; of one step, the choice comes before what it led to."""
    steps = [item.step for item in (one.first, one.second) if item is not None]
    return min(steps), ("step", "determinant", "input", "state", "output").index(one.stream)
