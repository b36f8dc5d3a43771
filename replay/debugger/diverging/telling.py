"""Tells a divergence whole: where it lies, what stands beside what, which line was at work, and why it is likely."""

from __future__ import annotations

from typing import Any

from replay.bundle.members import member_name
from replay.debugger.agreeing.lines import place_of_line
from replay.debugger.diverging.reasons import Diagnosis, Reason
from replay.debugger.diverging.source_line import OperatorCode, SourceLine
from replay.debugger.executing.execution import Execution
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource, Step
from replay.debugger.recorded.story import Story
from replay.debugger.writing.steps import StepWriter
from replay.errors import CorruptDeterminant, ReplayError
from replay.log.codec import decode_all

_DIFFERING = ("hold-back", "send-buffer", "cut-buffer")
_PREDECESSORS = ("deliver-record", "fire-async", "take-determinant", "take-buffer", "answer", "merge", "restore")


def told(source: RecordingSource, story: Story, steps: StepWriter, found: DivergenceFound) -> dict[str, Any]:
    """The detail of a divergence: what it says itself, and what can be found out about it.

    An edge: nothing that goes wrong in looking for the reason may hide the divergence.
    """
    detail: dict[str, Any] = {
        "last_agreeing": _last_agreeing(steps, found),
        "predecessors": _predecessors(steps, found),
    }
    execution = found.execution
    line: SourceLine | None = None
    if isinstance(execution, Execution):
        detail |= _place(source, execution, found)
        line = OperatorCode(execution.body.operator).line_raised(found)
    diagnosis = Diagnosis(source, story, found)
    try:
        reason = diagnosis.reason()
    except ReplayError as fault:
        reason = Reason("undecided", f"Nothing more can be found out: {fault}")
    line = line or diagnosis.line
    if line is not None:
        detail["line"] = line.to_json()
    if diagnosis.sides is not None:
        detail |= diagnosis.sides.to_json() | {"element": diagnosis.sides.element}
        detail |= _source_line(source, found, diagnosis.sides.source_offset)
    return {
        **found.detail,
        **{key: value for key, value in detail.items() if value not in (None, [])},
        "reason": reason.to_json(),
    }


def sentence_of(found: DivergenceFound, detail: dict[str, Any]) -> str:
    """The divergence and its likely reason."""
    made_of = ""
    if "source_record" in detail:
        made_of = (
            f" It was made of record {detail['source_record']} of the source ({detail['other_member']} at offset "
            f"{detail['other_offset']})."
        )
    return f"{found.sentence}{made_of} Likely reason: {detail['reason']['words']}"


def _source_line(source: RecordingSource, found: DivergenceFound, offset: int | None) -> dict[str, Any]:
    """Where the source's record stands that the byte which differs was made of: that may be the damaged one as well."""
    execution = found.execution
    if offset is None or not isinstance(execution, Execution):
        return {}
    plan = execution.plan
    place = place_of_line(source, plan.task, plan.take_from[0], "source", "offset", offset)
    return {} if place is None else {"other_member": place[0], "other_offset": place[1], "source_record": offset}


def _last_agreeing(steps: StepWriter, found: DivergenceFound) -> dict[str, Any] | None:
    """The last step that came out as recorded."""
    differs = "byte" in found.detail
    agreed = {kind: Step._make(told) for kind, told in steps.told.items() if not (differs and kind in _DIFFERING)}
    if not agreed:
        return None
    kind = max(agreed, key=lambda one: agreed[one].step)
    return {"step": agreed[kind].step, "kind": kind, "text": agreed[kind].text}


def _predecessors(steps: StepWriter, found: DivergenceFound) -> list[dict[str, Any]]:
    """What led there, the nearest first."""
    told = [Step._make(steps.told[kind]) for kind in _PREDECESSORS if kind in steps.told]
    told.sort(key=lambda one: -one.step)
    return [{"step": one.step, "kind": one.form.kind, "text": one.text} for one in told]


def _place(source: RecordingSource, execution: Execution, found: DivergenceFound) -> dict[str, Any]:
    """Where the task stood, and in which member: in bytes and in determinants where a log is meant."""
    plan, body = execution.plan, execution.body
    place: dict[str, Any] = {
        "task": plan.task,
        "attempt": plan.take_from[0],
        "record_count": body.record_count,
        "at_epoch": body.epoch,
        "records": body.processed,
    }
    thread, epoch, offset = (found.detail.get(name) for name in ("thread", "epoch", "offset"))
    if not isinstance(thread, str) or not isinstance(epoch, int) or not isinstance(offset, int):
        return place
    attempts = [one for one in plan.take_from if len(source.log_bytes(plan.task, one, thread, epoch)) > offset]
    place["member"] = member_name(plan.task, (attempts or plan.take_from)[0], thread, epoch)
    place["determinant"] = _number_at(plan.logs.get(thread, {}).get(epoch, b""), offset)
    return place


def _number_at(log: bytes, offset: int) -> int:
    """How many determinants end before that byte."""
    count = 0
    try:
        for at, length, _ in decode_all(log):
            if at + length > offset:
                break
            count += 1
    except CorruptDeterminant:
        return count
    return count
