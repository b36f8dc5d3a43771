"""Is the recording consistent in itself? Every part of it is held against the others; what disagrees is no evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from replay.bundle.members import member_name
from replay.debugger.agreeing.calls import check_calls
from replay.debugger.agreeing.contradictions import OF_ALL
from replay.debugger.agreeing.evidence import check_output
from replay.debugger.agreeing.lacking import proven_lacks
from replay.debugger.agreeing.lines import check_offsets
from replay.debugger.agreeing.readings import check_readings
from replay.debugger.agreeing.receipts import LogEnds, check_receipts, check_takes
from replay.debugger.executing.verify import Silent, verify_attempt
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.ledger.adopted import check_adopted
from replay.guarantees.ledger.clocks import ByItsLines
from replay.guarantees.ledger.descent import check_descent
from replay.guarantees.ledger.emitted import check_emitted
from replay.guarantees.ledger.executions import Executions
from replay.guarantees.ledger.numbers import (
    check_arrivals,
    check_counted,
    check_orders,
    check_sendings,
    check_snapshots_reached,
    check_triggers,
)
from replay.guarantees.ledger.overtaking import check_overtaking
from replay.guarantees.ledger.passing_on import check_passed_on
from replay.guarantees.ledger.timing import check_epochs_of_lines, check_transits
from replay.model import TaskId

VERIFIED_BYTES = 16 << 20
"""Attempts of recordings with more bytes of buffers than this are not executed again."""
KNOWN_PROTOCOLS = ("clonos", "none", "pessimistic", "optimistic", "coordinated")
_EVENTS = "events.ndjson"
_NEVER_EMPTY = (".buf", ".dlt", ".rcv", ".ndjson")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that keeps the recording from proving anything about `tasks`, or None: about any. `wants`: the member
    or field that would decide it; `contradicts`: two things that are there disagree, and nothing is merely gone."""

    sentence: str
    wants: str
    tasks: frozenset[str] | None
    evidence: tuple[str, ...] = ()
    contradicts: bool = True


def findings_of(source: RecordingSource, executions: Executions) -> list[Finding]:
    """All that is wrong with it, each thing once."""
    found = [*_of_recording(source, executions)]
    for check in _checks(source, executions):
        found += _found_by(source, check)
    found += _gone(source)
    found += [*_unheard(source), *_untold(source, executions), *_unkept(source, executions)]
    for task, attempt, checkpoint in executions.broken:
        why = f"Attempt {attempt} of {task} began from checkpoint {checkpoint}, which nobody is recorded to have taken."
        found.append(Finding(why, f"tasks/{task}/…/state/{checkpoint}.json", frozenset({task}), contradicts=False))
    return list(dict.fromkeys(found))


def _of_recording(source: RecordingSource, executions: Executions) -> Iterator[Finding]:
    """What the manifest and the events say of it themselves."""
    manifest = source.manifest
    if not manifest.complete:
        yield Finding("The recording is not complete, as its manifest says.", "complete", None, contradicts=False)
    if manifest.protocol.name not in KNOWN_PROTOCOLS:
        why = f"The recording was made under the protocol {printable(manifest.protocol.name)}, which is not known here."
        yield Finding(why, "protocol.name", None, contradicts=False)
    if "excerpt" in manifest.raw or "imported.json" in source.members:
        why = "The bundle is cut out of a recording, or made of something else, and leaves out what it can."
        yield Finding(why, "the whole recording", None, contradicts=False)
    if executions.story.unreadable is not None:
        yield Finding(f"The events can't be read to their end: {executions.story.unreadable}", _EVENTS, None)
    if _EVENTS not in source.members:
        yield Finding("The recording has no events.", _EVENTS, None, contradicts=False)
    if manifest.clock.kind == "virtual":
        for name in source.members.names("tasks/"):
            if name.endswith(_NEVER_EMPTY) and not source.members.size(name):
                yield _finding(
                    source, f"{name} is empty, and none is begun without a frame or a line.", {"member": name}
                )
    for event in executions.gaps:
        task = str(event.get("task", event.get("at")))
        why = f"The recorder left something out of {printable(task)}, as event {event.get('n')} says."
        tasks = frozenset({task}) if task in source.graph else None
        yield Finding(why, f"tasks/{printable(task)}", tasks, (f"event:{event.get('n')}",), contradicts=False)


def _unheard(source: RecordingSource) -> Iterator[Finding]:
    """Tasks of which nothing is there: that nothing of them is wrong shows nothing."""
    for task in source.graph.order:
        if next(iter(source.attempts(task)), None) is None:
            why = f"The recording has no member of {task}."
            yield Finding(why, f"tasks/{task}/", frozenset({task}), contradicts=False)


def _untold(source: RecordingSource, executions: Executions) -> Iterator[Finding]:
    """Attempts that members tell of and events do not, though they tell of others of that task."""
    for task in source.graph.order:
        told = executions.story.attempts(task)
        for attempt in source.attempts(task) if told else ():
            if attempt not in told:
                why = f"tasks/{task}/{attempt}/ is in the recording, and no event tells of attempt {attempt} of {task}."
                yield Finding(why, f"attempt-started of attempt {attempt} of {task} in {_EVENTS}", frozenset({task}))


def _unkept(source: RecordingSource, executions: Executions) -> Iterator[Finding]:
    """Snapshots that events tell of and no member holds, of checkpoints of which others are there."""
    kept = {
        (task, attempt, checkpoint)
        for task in source.graph.order
        for attempt in source.attempts(task)
        for checkpoint in source.epochs(task, attempt, "state")
    }
    checkpoints = {checkpoint for *_, checkpoint in kept}
    for task, attempt, checkpoint in sorted(executions.acknowledged - kept):
        if checkpoint in checkpoints:
            member = f"tasks/{printable(task)}/{attempt}/state/{checkpoint}.json"
            why = (
                f"Events say that attempt {attempt} of {printable(task)} took a snapshot for checkpoint {checkpoint}, "
            )
            known = frozenset({task}) if task in source.graph else None
            yield Finding(f"{why}and {member} is not there.", member, known, contradicts=False)


def _checks(source: RecordingSource, executions: Executions) -> Iterator[Callable[[], object]]:
    for check in OF_ALL:
        yield partial(check, source, executions.story)
    yield partial(check_transits, source, executions.story)
    yield partial(check_adopted, source, executions.story)
    for channel in source.graph.channels:
        yield partial(check_sendings, source, channel)
        yield partial(check_arrivals, source, channel)
        yield partial(check_overtaking, source, executions, channel)
    for task in source.graph.order:
        if not source.graph.task(task).inputs:
            yield partial(check_offsets, source, task)
        if _is_small(source):
            yield partial(check_passed_on, source, task)
        for attempt in source.attempts(task):
            yield from _of_attempt(source, executions, task, attempt)


def _of_attempt(
    source: RecordingSource, executions: Executions, task: TaskId, attempt: int
) -> Iterator[Callable[[], object]]:
    shape, story = source.graph.task(task), executions.story
    ends = LogEnds(source, task, attempt)
    for i in range(len(shape.inputs)):
        yield partial(check_receipts, source, story, ends, i)
    yield partial(check_takes, source, task, attempt)
    yield partial(check_orders, source, task, attempt)
    yield partial(check_snapshots_reached, source, executions, task, attempt)
    yield partial(check_readings, source, story, task, attempt)
    yield partial(check_calls, source, task, attempt)
    yield partial(check_epochs_of_lines, source, task, attempt)
    for k in range(len(shape.outputs)):
        yield partial(check_output, source, story, task, attempt, k)
    if not shape.inputs:
        yield partial(check_counted, source, executions, task, attempt)
        yield partial(check_triggers, source, task, attempt)
    if _is_small(source):
        yield partial(check_descent if shape.inputs else check_emitted, source, executions, task, attempt)
    if _is_executed(source, task, attempt):
        yield partial(_execute, source, executions, task, attempt)


def _is_executed(source: RecordingSource, task: TaskId, attempt: int) -> bool:
    if not source.manifest.protocol.logs:
        return False
    logs = (one for thread in source.graph.task(task).threads for one in source.epochs(task, attempt, thread))
    if next(iter(logs), None) is None:
        return False
    return _is_small(source)


def _is_small(source: RecordingSource) -> bool:
    buffers = (name for name in source.members.names("tasks/") if name.endswith(".buf"))
    return sum(source.members.size(name) for name in buffers) <= VERIFIED_BYTES


def _execute(source: RecordingSource, executions: Executions, task: TaskId, attempt: int) -> None:
    """Whose operator isn't installed, or whose inputs are gone, is not executed: what is gone is found by others."""
    is_first = not executions.story.checkpoint_of(task, attempt) and attempt == min(executions.attempts(task))
    is_timed = is_first and not source.graph.task(task).inputs and source.manifest.clock.kind == "virtual"
    watching = partial(ByItsLines, source) if is_timed else Silent
    try:
        verify_attempt(source, executions.story, task, attempt, watching=watching)
    except Missing:
        return
    except DivergenceFound as found:
        found.detail["between"] = _followed(source, task, attempt, found.detail)
        raise


def _followed(source: RecordingSource, task: TaskId, attempt: int, detail: Mapping[str, object]) -> list[str]:
    """An execution that parts from its log: the members of that log, and of what was taken or read by it."""
    thread, epoch = detail.get("thread"), detail.get("epoch")
    if not isinstance(thread, str) or type(epoch) is not int:
        return []
    names = [member_name(task, attempt, thread, epoch)]
    names += [member_name(task, attempt, f"received-{i}", epoch) for i in range(len(source.graph.task(task).inputs))]
    return [one for one in (*names, member_name(task, attempt, "source", epoch)) if one in source.members]


def _gone(source: RecordingSource) -> Iterator[Finding]:
    for lack in proven_lacks(source):
        missing = Missing(f"The recording lacks {lack.member}, though {lack.shown_by}.", lacks=lack.member)
        yield _finding(source, missing.sentence, missing.detail, contradicts=False)


def _found_by(source: RecordingSource, check: Callable[[], object]) -> Iterator[Finding]:
    try:
        check()
    except DivergenceFound as found:
        yield _finding(source, found.sentence, found.detail, contradicts=True)
    except Missing as missing:
        yield _finding(source, missing.sentence, missing.detail, contradicts=False)
    except ReplayError as fault:
        detail = {"member": fault.path, "offset": fault.offset}
        yield _finding(source, f"A member is damaged: {fault}", detail, contradicts=True)


def finding_of(source: RecordingSource, fault: Exception) -> Finding:
    """What kept something from being read."""
    if isinstance(fault, DivergenceFound | Missing):
        return _finding(source, fault.sentence, fault.detail, contradicts=isinstance(fault, DivergenceFound))
    path = fault.path if isinstance(fault, ReplayError) else None
    return _finding(source, f"A member is damaged: {fault}", {"member": path}, contradicts=True)


def _finding(
    source: RecordingSource, sentence: str, detail: Mapping[str, object], *, contradicts: bool = False
) -> Finding:
    names = [detail.get(one) for one in ("member", "lacks", "other_member", "log_member")]
    members = [one for one in names if isinstance(one, str)]
    tasks = {one.split("/")[1] for one in members if one.startswith("tasks/") and one.count("/") > 1}
    channel = detail.get("channel")
    if isinstance(channel, str) and channel in {one.id for one in source.graph.channels}:
        tasks |= {source.graph.channel(channel).source, source.graph.channel(channel).target}
    known = frozenset(one for one in tasks if one in source.graph)
    event = detail.get("event")
    evidence = (f"event:{event}",) if isinstance(event, int) else ()
    between = detail.get("between")
    named = [*members, *(between if isinstance(between, list) else ())]
    # Of two that contradict one another either may be the damaged one; what lacks is the first.
    wants = " or ".join(dict.fromkeys(named if contradicts else named[:1]))
    if not known or _EVENTS in members or event is not None:
        return Finding(sentence, wants or "the recording", None, evidence, contradicts)
    return Finding(sentence, wants or str(channel), known, evidence, contradicts)
