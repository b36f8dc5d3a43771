"""Opens a bundle in whatever it comes and hands out its members as what they mean."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from replay.bundle.containers import Container, open_container
from replay.bundle.content import content_id
from replay.bundle.folder_members import FolderMembers
from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame, read_buffers, read_receipts, read_sendings
from replay.bundle.limits import Limits
from replay.bundle.lines import read_events, read_lines, read_object
from replay.bundle.members import EVENTS, MANIFEST, MemberName, looks_like_task_member, member_name, parse_member
from replay.bundle.pack import GROWING_MAGIC, PACK_MAGIC, Pack, missing_manifest, pack_into, storing
from replay.log.codec import decode_all
from replay.log.deltas import LogIds
from replay.log.determinants import Determinant
from replay.model import Graph, Manifest, TaskId, Thread

KEPT_EVENTS_BYTES = 1 << 20
"""Of events up to this size what was read of them is kept: a replay asks for them hundreds of times."""


@dataclass(frozen=True, slots=True)
class Reject:
    """Something of a bundle that is kept but cannot be read."""

    path: str
    offset: int | None
    why: str


class Members(Protocol):
    """Members by name, in any order: a directory or a pack."""

    def names(self, prefix: str = "") -> Iterator[str]:
        """The members whose names begin so, in order."""
        ...

    def __contains__(self, name: object) -> bool: ...

    def size(self, name: str) -> int:
        """The member's size in bytes."""
        ...

    def read(self, name: str) -> bytes:
        """The member's bytes."""
        ...

    def open(self, name: str) -> BinaryIO:
        """The member as a stream that can seek."""
        ...

    def digest(self, name: str) -> bytes:
        """The member's SHA-256; the manifest's is that of its content id."""
        ...

    def close(self) -> None:
        """Lets go of the files."""
        ...


def open_bundle(path: Path | str, limits: Limits | None = None) -> Bundle:
    """A directory, a pack or an archive; archives are read once, into a nameless temporary pack."""
    path, limits = Path(path), limits or Limits()
    if path.is_dir():
        return Bundle(FolderMembers(path, limits), limits)
    if _is_pack(path):
        return Bundle(Pack(path), limits)
    with open_container(path, limits) as container:
        return Bundle(_temporary_pack(container, limits), limits)


def _temporary_pack(container: Container, limits: Limits) -> Pack:
    """A pack that has no name, so that nothing of it is left however this process ends."""
    with storing(tempfile.gettempdir()):
        file = tempfile.TemporaryFile(prefix="clonoscope-")  # noqa: SIM115 - the pack owns it
        try:
            pack_into(container, file, limits)
            file.flush()
            return Pack(cast(BinaryIO, file))
        except BaseException:
            file.close()
            raise


def _is_pack(path: Path) -> bool:
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(PACK_MAGIC)) in (PACK_MAGIC, GROWING_MAGIC)


class Bundle:
    """A recording, read lazily: nothing but the manifest and a few events is held in memory."""

    def __init__(self, members: Members, limits: Limits | None = None):
        self.members = members
        if MANIFEST not in members:
            raise missing_manifest({name: 0 for name in members.names() if name.endswith(f"/{MANIFEST}")})
        (limits or Limits()).check_size(MANIFEST, members.size(MANIFEST))
        self.manifest = Manifest.from_json(members.read(MANIFEST))
        self.graph = Graph(self.manifest)
        self.ids = LogIds.of(self.manifest)
        self._attempts: dict[str, tuple[int, ...]] = {}
        self._events: tuple[bytes, list[dict[str, Any]]] = (b"", [])

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the files."""
        self.members.close()

    def tasks(self) -> tuple[TaskId, ...]:
        """The tasks of the manifest."""
        return tuple(task.id for task in self.manifest.tasks)

    def attempts(self, task: str) -> tuple[int, ...]:
        """The attempts of a task that have any member."""
        if task not in self._attempts:
            found = {one.attempt for one in self._parsed(f"tasks/{task}/") if one.attempt is not None}
            self._attempts[task] = tuple(sorted(found))
        return self._attempts[task]

    def epochs(self, task: str, attempt: int, member_kind: str) -> tuple[int, ...]:
        """The epochs of `main`, `out-0`, `sent-0` (its buffers), `received-1`, `source`, `sink`, `state` or `world`."""
        found = {one.epoch for one in self._parsed(f"tasks/{task}/{attempt}/{member_kind}/") if one.epoch is not None}
        return tuple(sorted(found))

    def _parsed(self, prefix: str) -> Iterator[MemberName]:
        return (parse_member(name) for name in self.members.names(prefix))

    def log_bytes(self, task: str, attempt: int, thread: Thread, epoch: int) -> bytes:
        """A thread's log of one epoch; nothing where there is no such member."""
        name = member_name(task, attempt, thread, epoch)
        return self.members.read(name) if name in self.members else b""

    def determinants(
        self, task: str, attempt: int, thread: Thread, epoch: int
    ) -> Iterator[tuple[int, int, Determinant]]:
        """A thread's determinants of one epoch as (offset, length, determinant); a fault is a `CorruptDeterminant`."""
        name = member_name(task, attempt, thread, epoch)
        return decode_all(self.log_bytes(task, attempt, thread, epoch), name)

    def buffers(self, task: str, attempt: int, k: int) -> Iterator[BufferFrame]:
        """The buffers cut on output `k`, in order."""
        for name, epoch in self._files(task, attempt, f"sent-{k}", "buf"):
            with self.members.open(name) as stream:
                yield from (frame for _, frame in read_buffers(stream, epoch=epoch, path=name))

    def sendings(self, task: str, attempt: int, k: int) -> Iterator[SendingFrame]:
        """The sendings on output `k`, in order of epochs and in each as written."""
        for name, _ in self._files(task, attempt, f"sent-{k}", "dlt"):
            with self.members.open(name) as stream:
                yield from (frame for _, frame in read_sendings(stream, path=name))

    def receipts(self, task: str, attempt: int, i: int) -> Iterator[ReceiptFrame]:
        """What arrived on input `i`, in order of epochs and in each as taken."""
        for name, _ in self._files(task, attempt, f"received-{i}", "rcv"):
            with self.members.open(name) as stream:
                yield from (frame for _, frame in read_receipts(stream, path=name))

    def world(self, task: str, attempt: int) -> Iterator[SendingFrame]:
        """The determinants that a sink left with the outside world."""
        for name, _ in self._files(task, attempt, "world", "dlt"):
            with self.members.open(name) as stream:
                yield from (frame for _, frame in read_sendings(stream, path=name))

    def source(self, task: str, attempt: int) -> Iterator[dict[str, Any]]:
        """The lines of a source's records."""
        return self._lines(task, attempt, "source")

    def sink(self, task: str, attempt: int) -> Iterator[dict[str, Any]]:
        """The lines of what a sink gave to the outside."""
        return self._lines(task, attempt, "sink")

    def state(self, task: str, attempt: int, checkpoint: int) -> dict[str, Any] | None:
        """The snapshot that the attempt took for a checkpoint, if it did."""
        name = member_name(task, attempt, "state", checkpoint)
        return read_object(self.members.read(name), name) if name in self.members else None

    def events(self) -> Iterator[dict[str, Any]]:
        """What coordinator and tasks did and noticed, by `n`."""
        if EVENTS not in self.members:
            return
        if self.members.size(EVENTS) > KEPT_EVENTS_BYTES:
            with self.members.open(EVENTS) as stream:
                yield from (event for _, event in read_events(stream, EVENTS))
            return
        # Read again, for a folder may be written to, but parsed again only if it was. Whoever asks may change his own.
        data = self.members.read(EVENTS)
        parsed_of, kept = self._events
        if data == parsed_of:
            yield from map(dict, kept)
            return
        kept = []
        for _, event in read_events(io.BytesIO(data), EVENTS):
            kept.append(dict(event))
            yield event
        self._events = data, kept

    def _lines(self, task: str, attempt: int, folder: str) -> Iterator[dict[str, Any]]:
        for name, _ in self._files(task, attempt, folder, "ndjson"):
            with self.members.open(name) as stream:
                yield from (line for _, line in read_lines(stream, name))

    def _files(self, task: str, attempt: int, folder: str, suffix: str) -> list[tuple[str, int]]:
        """The members of a folder with that suffix, by epoch."""
        found = (one for one in self._parsed(f"tasks/{task}/{attempt}/{folder}/") if one.name.endswith(f".{suffix}"))
        return sorted(((one.name, one.epoch) for one in found if one.epoch is not None), key=lambda pair: pair[1])

    def content_id(self) -> str:
        """What makes this bundle the same as another; reads everything, where the container does not know it."""
        return content_id(self)

    def check_shape(self) -> list[Reject]:
        """Where members disagree with the manifest: they are kept, and not read."""
        rejects = (self._reject(parse_member(name)) for name in self.members.names("tasks/"))
        return [one for one in rejects if one is not None]

    def _reject(self, member: MemberName) -> Reject | None:
        if member.kind == "unknown" and looks_like_task_member(member.name):
            return Reject(member.name, None, "the name holds a number that is not plain decimal, or too large")
        if member.task is None:
            return None
        if member.task not in self.graph:
            return Reject(member.name, None, f"the manifest lists no task {member.task}")
        task = self.graph.task(member.task)
        sides = {"received": ("input", len(task.inputs)), "out": ("output", len(task.outputs))}
        sides["sent"] = sides["out"]
        side, count = sides.get((member.folder or "").partition("-")[0], ("", 0))
        if side and member.index is not None and member.index >= count:
            return Reject(member.name, None, f"task {member.task} has no {side} {member.index} in the manifest")
        return None
