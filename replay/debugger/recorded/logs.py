"""Logs that a replay follows, returned or an attempt's own, and the check that what is appended equals them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from replay.debugger.outcome import DivergenceFound
from replay.errors import CorruptDeterminant
from replay.log.codec import decode_all, encode
from replay.log.determinants import BufferBuilt, Determinant
from replay.model import MAIN, TaskId, Thread, output_of_thread

Logs = Mapping[Thread, Mapping[int, bytes]]


class Built(NamedTuple):
    """A buffer that an output log names: the so-and-so-many-th determinant of its epoch."""

    epoch: int
    seq: int
    offset: int
    buffer_bytes: int


def built_buffers(logs: Logs, thread: Thread, where: str) -> deque[Built]:
    """The buffers that an output thread's log names, in order."""
    found: deque[Built] = deque()
    for epoch, data in sorted(logs.get(thread, {}).items()):
        for seq, (offset, _, determinant) in enumerate(_decoded(data, thread, epoch, where)):
            if not isinstance(determinant, BufferBuilt):
                raise DivergenceFound(
                    f"{where}: {thread}, epoch {epoch}, offset {offset} holds a {determinant.kind} determinant; an "
                    f"output thread's log names buffers only.",
                    thread=thread,
                    epoch=epoch,
                    offset=offset,
                    asked="buffer-built",
                    logged=repr(determinant),
                )
            found.append(Built(epoch, seq, offset, determinant.buffer_bytes))
    return found


def check_decodable(logs: Logs, where: str, inputs: int) -> None:
    """Every determinant decodes, and is of a kind that its thread can have appended."""
    for thread in logs:
        if output_of_thread(thread) is not None:
            built_buffers(logs, thread, where)
            continue
        for epoch, data in sorted(logs[thread].items()):
            for offset, _, determinant in _decoded(data, thread, epoch, where):
                channel = getattr(determinant, "channel", 0)
                if isinstance(determinant, BufferBuilt) or not 0 <= channel < max(inputs, 1):
                    raise DivergenceFound(
                        f"{where}: main, epoch {epoch}, offset {offset} holds {determinant}, which this main thread "
                        f"can't have appended.",
                        thread=MAIN,
                        epoch=epoch,
                        offset=offset,
                        logged=repr(determinant),
                    )


def _decoded(data: bytes, thread: Thread, epoch: int, where: str) -> Iterator[tuple[int, int, Determinant]]:
    try:
        yield from decode_all(data)
    except CorruptDeterminant as fault:
        raise DivergenceFound(
            f"{where}: {thread}, epoch {epoch} does not decode at offset {fault.offset}: {fault.why}.",
            thread=thread,
            epoch=epoch,
            offset=fault.offset,
            tag=fault.tag,
            why=fault.why,
        ) from None


@dataclass(slots=True)
class Reappended:
    """Compares what a replay appends with the log it follows, byte by byte, without keeping it."""

    task: TaskId
    expected: Logs
    where_at: Callable[[Thread, int, int], str]
    differs: Callable[[DivergenceFound], None]
    lengths: dict[tuple[Thread, int], int] = field(default_factory=dict)
    own_choices: int = 0

    def append(self, thread: Thread, determinant: Determinant, epoch: int) -> None:
        """Takes one determinant; past the end of the expected log it only counts."""
        data = encode(determinant)
        at = self.lengths.get((thread, epoch), 0)
        self.lengths[thread, epoch] = at + len(data)
        wanted = self.expected.get(thread, {}).get(epoch, b"")[at : at + len(data)]
        if not wanted:
            self.own_choices += 1
        elif wanted != data:
            found = DivergenceFound(
                f"The replay of {self.task} appends {determinant} to {thread}, epoch {epoch}, at offset {at}, where "
                f"{self.where_at(thread, epoch, at)} holds {wanted.hex()}.",
                thread=thread,
                epoch=epoch,
                offset=at,
                asked=repr(determinant),
                logged=wanted.hex(),
            )
            self.differs(found)

    def length(self, thread: Thread, epoch: int) -> int:
        """How much of an epoch was appended so far."""
        return self.lengths.get((thread, epoch), 0)

    def reached(self, thread: Thread, upto: Mapping[int, bytes]) -> bool:
        """Whether each of these epochs was appended that far."""
        return all(self.length(thread, epoch) >= len(data) for epoch, data in upto.items())

    def check_complete(self, upto: Logs | None = None) -> None:
        """At the end everything was appended again; or so much of it."""
        for thread, by_epoch in (self.expected if upto is None else upto).items():
            for epoch, data in by_epoch.items():
                done = self.length(thread, epoch)
                if done < len(data):
                    found = DivergenceFound(
                        f"The replay of {self.task} ends with {done} bytes of {thread}, epoch {epoch}, where "
                        f"{self.where_at(thread, epoch, done)} holds {len(data)}: {len(data) - done} bytes are left "
                        f"over.",
                        thread=thread,
                        epoch=epoch,
                        offset=done,
                        asked="nothing more",
                        logged=data[done : done + 16].hex(),
                    )
                    self.differs(found)
