"""What nothing executes again must at least be what an engine can have made: records, snapshots and what they name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import damaged, placed_buffers
from replay.errors import CorruptMember
from replay.model import TaskId, read_json
from replay.runtime.body.watermarks import END_OF_TIME

_MOST_BYTES = 16 << 20
"""As much as is executed again where there are logs."""
_SIZE_BYTES = 4


def check_states(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first snapshot that can't be read, or that names channels its task hasn't."""
    if source.manifest.clock.kind != "virtual":
        return
    for task in source.graph.order:
        for attempt in source.attempts(task):
            before: Mapping[str, Any] = {}
            for checkpoint in source.epochs(task, attempt, "state"):
                member = member_name(task, attempt, "state", checkpoint)
                try:
                    state = source.state(task, attempt, checkpoint) or {}
                except CorruptMember as fault:
                    raise damaged(fault, member, None) from None
                _check_channels(source, task, member, state)
                before = _check_watermarks(member, state, before)


def _check_channels(source: RecordingSource, task: TaskId, member: str, state: Mapping[str, Any]) -> None:
    shape = source.graph.task(task)
    inputs, outputs = set(shape.inputs), {one.channel for one in shape.outputs}
    for name, channels in (("inputs", inputs), ("outputs", outputs), ("watermarks", inputs), ("idle", inputs)):
        listed = state.get(name)
        for channel in listed if isinstance(listed, Mapping) else ():
            if channel not in channels:
                side = "output" if name == "outputs" else "input"
                _impossible(member, f"has {channel!r} among its {name}, which is no {side} of {task}")


def _check_watermarks(member: str, state: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    marks = state.get("watermarks")
    if not isinstance(marks, Mapping):
        return before
    for channel, mark in marks.items():
        if not isinstance(mark, int) or mark > END_OF_TIME:
            _impossible(member, f"has the watermark {mark!r} of {channel}, but event time ends with {END_OF_TIME}")
        if isinstance(before.get(channel), int) and mark < before[channel]:
            _impossible(
                member,
                f"has the watermark {mark} of {channel}, but the snapshot before it {before[channel]}: none goes back",
            )
    return marks


def _impossible(member: str, why: str) -> NoReturn:
    raise DivergenceFound(f"{member} {why}.", member=member)


def check_records(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first buffer whose bytes are no records. Where choices are logged it is executed
    instead."""
    if source.manifest.clock.kind != "virtual" or source.manifest.protocol.logs:
        return
    buffers = (name for name in source.members.names("tasks/") if name.endswith(".buf"))
    if sum(source.members.size(name) for name in buffers) > _MOST_BYTES:
        return
    for task in source.graph.order:
        for attempt in source.attempts(task):
            for k in range(len(source.graph.task(task).outputs)):
                _Stream(source, task, attempt, k).run()


class _Stream:
    """Records go over from one buffer to the next, and none over an event."""

    def __init__(self, source: RecordingSource, task: TaskId, attempt: int, k: int):
        self.source = source
        self.of = task, attempt, k
        self.sources = {str(one) for one in source.graph.order if not source.graph.task(one).inputs}
        self.held = bytearray()
        self.places: list[tuple[int, str, int, int]] = []
        """Of what is held: (where it begins there, member, offset, buffer)."""

    def run(self) -> None:
        before: int | None = None
        known = True
        for placed in placed_buffers(self.source, *self.of):
            frame = placed.frame
            if before is not None and frame.seq != before + 1:
                self._forget()
                known = False  # in the middle of a record, perhaps
            before = frame.seq
            place = len(self.held), placed.path, placed.offset, frame.seq
            if frame.is_event:
                if known and self.held:
                    self._no_record(0, f"{len(self.held)} bytes of a record stand before it, which does not end", place)
                self._forget()
                known = True
            elif known:
                self.places.append(place)
                self.held += frame.payload
                self._take()

    def _forget(self) -> None:
        self.held.clear()
        self.places.clear()

    def _take(self) -> None:
        at = 0
        while at + _SIZE_BYTES <= len(self.held):
            size = int.from_bytes(self.held[at : at + _SIZE_BYTES], "big", signed=True)
            if size < 2:
                self._no_record(at, f"a record has {size} bytes by its length")
            end = at + _SIZE_BYTES + size
            if end > len(self.held):
                break
            self._check_record(at + _SIZE_BYTES, bytes(self.held[at + _SIZE_BYTES : end]))
            at = end
        if at:
            del self.held[:at]
            self.places = [(max(begins - at, 0), *rest) for begins, *rest in self._from(at)]  # type: ignore[misc]

    def _from(self, at: int) -> list[tuple[int, str, int, int]]:
        """Those of which bytes are left."""
        ends = [*(one[0] for one in self.places[1:]), len(self.held) + at]
        return [one for one, end in zip(self.places, ends, strict=True) if end > at]

    def _check_record(self, at: int, body: bytes) -> None:
        try:
            fields = read_json(body)
        except json.JSONDecodeError as fault:
            self._no_record(at + len(fault.doc[: fault.pos].encode()), f"a record is not JSON: {fault.msg}")
        except UnicodeDecodeError as fault:
            self._no_record(at + fault.start, "a record is not UTF-8")
        except ValueError as fault:
            self._no_record(at, f"a record is not JSON: {fault}")
        if not isinstance(fields, list):
            self._no_record(at, "a record is no list of key, time and value")
        self._check_lineage(at, fields[3] if len(fields) > 3 else None)

    def _check_lineage(self, at: int, lineage: object) -> None:
        for pair in lineage if isinstance(lineage, list) else ():
            if not isinstance(pair, list) or len(pair) != 2 or pair[0] not in self.sources:
                self._no_record(
                    at, f"a record names {json.dumps(pair)[:80]} as what it came from, which no source gave"
                )

    def _no_record(self, at: int, why: str, place: tuple[int, str, int, int] | None = None) -> NoReturn:
        if place is None:
            place = next(one for one in reversed(self.places) if one[0] <= at)
        _, path, offset, buffer = place
        raise DivergenceFound(
            f"{path} at offset {offset}: buffer {buffer} holds what no task writes: {why}.",
            member=path,
            offset=offset,
            buffer=buffer,
            channel=self.source.graph.task(self.of[0]).outputs[self.of[2]].channel,
        )
