"""Executes what diverged once more, in silence, and remembers which line wrote which byte of which output."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

from replay.debugger.diverging.source_line import OperatorCode, SourceLine, line_of
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import Silent, operator_of
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.logs import Built, Logs
from replay.debugger.recorded.story import Story
from replay.log.determinants import Determinant
from replay.model import MAIN, Record, json_bytes, thread_of_output
from replay.runtime.body.output import Cut
from replay.runtime.body.task import TaskBody
from replay.runtime.operators import Operator, Timer

_FOLLOWING_RECORDS = 64


@dataclass(frozen=True, slots=True)
class Written:
    """What an output was given: its place in the stream since the beginning, the line that gave it, and of what.

    `after`: how many elements had been processed before the one that it was made of.
    """

    start: int
    data: bytes
    code: tuple[Any, int, dict[str, Any]] | None
    element: str
    after: int


class Probe(Silent):
    """Watches an execution and its body. What it saw is compared between executions by `digest`."""

    def __init__(self, comparison: Comparison, operator: Operator, recovered: Logs | None = None):
        super().__init__(comparison)
        self.recovered = recovered
        self.code = OperatorCode(operator)
        outputs = len(comparison.shape.outputs)
        self.written: list[deque[Written]] = [deque() for _ in range(outputs)]
        self.starts = [0] * outputs
        self.ends = [0] * outputs
        self.element = "the beginning"
        self.body: TaskBody | None = None
        self.cut_last: tuple[int, Cut] | None = None
        self._digest = hashlib.sha256()

    # --- the watcher of the execution ---

    def cut(self, k: int, cut: Cut, named: Built | None) -> None:
        """A buffer was cut: what it was made of is kept until it is known to be as recorded."""
        self._digest.update(f"{k} {cut.seq} ".encode() + cut.payload)
        self.cut_last = k, cut
        returned = None if self.recovered is None else self.recovered.get(thread_of_output(k), {})
        beyond = returned is not None and named is not None and named.offset >= len(returned.get(named.epoch, b""))
        self.comparison.cut(k, cut, beyond=beyond)
        self.starts[k] += len(cut.payload)
        written = self.written[k]
        while written and written[0].start + len(written[0].data) <= self.starts[k]:
            written.popleft()

    def wrote(self, record: Record) -> None:
        """A sink's write."""
        self._digest.update(json_bytes([record.key, record.timestamp, record.value]))
        super().wrote(record)

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """A snapshot is complete."""
        self._digest.update(json_bytes(state))
        super().snapshot_taken(checkpoint, state)

    # --- the observer of the body ---

    def delivering(self, record: Record, record_count: int) -> None:
        """A record is about to be processed."""
        self.element = f"record {record_count:,} of the epoch, with key {json.dumps(record.key, ensure_ascii=False)}"

    def taking_watermark(self, i: int, watermark_ms: int, record_count: int) -> None:
        """A watermark is about to be processed."""
        self.element = f"a watermark, element {record_count:,} of the epoch"

    def firing(self, determinant: Determinant) -> None:
        """An asynchronous determinant is about to be executed."""
        self.element = f"a {determinant.kind} of the log"

    def running(self, timer: Timer) -> None:
        """A timer is about to be given to the operator."""
        self.element = f"the timer {timer.name!r} set for {timer.at_ms}"

    def writing(self, k: int, record: Record, data: bytes) -> None:
        """A record is about to be written to an output."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not self.code.owns(frame):
            frame = frame.f_back
        self._given(k, data, None if frame is None else (frame.f_code, frame.f_lineno, frame.f_globals))

    def forwarding(self, k: int, event: dict[str, Any]) -> None:
        """A watermark is about to be written to an output."""
        self._given(k, json_bytes(event), None)

    def snapshotting(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """The main thread took a snapshot: every output has a barrier before it."""
        for k in range(len(self.written)):
            self._given(k, json_bytes({"barrier": checkpoint}), None)

    def _given(self, k: int, data: bytes, code: tuple[Any, int, dict[str, Any]] | None) -> None:
        after = 0 if self.body is None else self.body.processed
        self.written[k].append(Written(self.ends[k], data, code, self.element, after))
        self.ends[k] += len(data)

    # --- what was seen ---

    @property
    def digest(self) -> bytes:
        """Of all that the execution made, up to where it ended."""
        return self._digest.digest()

    def writer_of(self, k: int, byte: int) -> list[Written]:
        """What was written at that byte of the buffer that was cut last, and what follows it."""
        at = self.starts[k] + byte
        found = [one for one in self.written[k] if one.start + len(one.data) > at]
        return list(islice(found, _FOLLOWING_RECORDS))


@dataclass(frozen=True, slots=True)
class Again:
    """How an execution of the same plan ended: with a divergence, or with none."""

    found: DivergenceFound | None
    probe: Probe

    @property
    def place(self) -> tuple[Any, ...]:
        """Where it parted from the recording, and over what."""
        detail = {} if self.found is None else self.found.detail
        names = ("thread", "epoch", "offset", "member", "channel", "buffer", "byte", "asked")
        return (self.found is None, self.probe.digest, *(detail.get(name) for name in names))

    def line_that_wrote(self, byte: int) -> SourceLine | None:
        """The operator's line that wrote that byte of the buffer at which it parted."""
        if self.probe.cut_last is None:
            return None
        written = self.probe.writer_of(self.probe.cut_last[0], byte)
        return line_of(*written[0].code) if written and written[0].code is not None else None


def executed_again(
    source: RecordingSource, story: Story, plan: Plan, make: Callable[[], Operator] | None = None
) -> Again:
    """The plan, from its beginning to where it diverges or ends, with the operator that is installed, or that."""
    operator = operator_of(source, plan.task) if make is None else make()
    comparison = Comparison(source, story, plan)
    probe = Probe(comparison, operator, plan.recovered)
    try:
        execution = Execution(source, plan, operator, probe)
        execution.body.observer, probe.body = probe, execution.body
        execution.start()
        while execution.step():
            if plan.recovered is not None and execution.log.reached(MAIN, plan.recovered.get(MAIN, {})):
                comparison.beyond.begun = execution.own_takes_only = True
        execution.check_complete()
    except DivergenceFound as found:
        return Again(found, probe)
    except Missing:
        return Again(None, probe)
    return Again(None, probe)
