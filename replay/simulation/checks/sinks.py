"""Sinks: nothing is lost, and a plain sink writes again only what a failed sink or a rollback undid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from replay.jobs.churn import TIMER_KEY
from replay.simulation.recording import Recording


def plain_sinks_repeat_only_what_was_undone(recording: Recording) -> Iterator[str]:
    """Of each epoch of a sink's task, the lines of the last attempt that ran it are each record exactly once."""
    net: Counter[str] = Counter()
    for task in recording.tasks_of("sink"):
        for _, line in _net(recording, task):
            if line["record"][0] != TIMER_KEY:
                net.update(map(str, line["source"]))
    due = expected(recording)
    if net != due:
        yield f"too often were written {dict(net - due)}, and never {dict(due - net)}"


def what_timers_emitted_is_written_once(recording: Recording) -> Iterator[str]:
    """As the records of the sources; what fired after the last checkpoint is still under way."""
    written: Counter[str] = Counter()
    for task in recording.tasks_of("sink"):
        for epoch, line in _net(recording, task):
            if line["record"][0] == TIMER_KEY and epoch < recording.completed[-1]:
                written[str(line["record"][2])] += 1
    due = recording.expected_timers("sink", recording.completed[-1])
    if sum(written.values()) != due:
        yield f"{sum(written.values())} records were written that timers emitted, of {due}"
    ways = recording.ways_to("sink")
    for value, count in written.items():
        if count != ways[value.split("'by': '")[1].split(".")[0]]:
            yield f"the record of a timer was written {count} times: {value}"


def _net(recording: Recording, task: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """What the sink wrote, without what a later attempt began again."""
    attempts = range(recording.attempts(task))
    for attempt in attempts:
        undone = min((recording.restored(task, one) for one in attempts if one > attempt), default=None)
        for epoch, line in recording.sink_lines(task, attempt):
            if undone is None or epoch < undone:
                yield epoch, line


def expected(recording: Recording) -> Counter[str]:
    """How often each source record must arrive at the sink: once on every way there."""
    ways = recording.ways_to("sink")
    return Counter(
        {
            str([task, offset]): ways[vertex]
            for task, keys in recording.source_keys.items()
            for offset in range(len(keys))
            if ways[vertex := recording.graph.task(task).vertex]
        }
    )


def sinks_write_each_record(recording: Recording) -> Iterator[str]:
    """At least as often as there are ways from its source, whatever failed."""
    written: Counter[str] = Counter()
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            for _, line in recording.sink_lines(task, attempt):
                written.update(map(str, line["source"]))
    if missing := expected(recording) - written:
        yield f"never written were {dict(missing)}"


def sinks_number_their_lines(recording: Recording) -> Iterator[str]:
    """`n` counts per attempt."""
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            numbers = [line["n"] for _, line in recording.sink_lines(task, attempt)]
            if numbers != list(range(len(numbers))):
                yield f"{task} attempt {attempt} numbers its lines {numbers}"


def what_is_written_again_is_the_same(recording: Recording) -> Iterator[str]:
    """Where nothing but sinks failed, all that they take again is replayed to them: the same records, to the byte."""
    others = [task.id for task in recording.manifest.tasks if task.vertex != "sink"]
    if recording.rolled_back or recording.failed(others):
        return
    for task in recording.tasks_of("sink"):
        net = Counter(_written(line) for _, line in _net(recording, task))
        for attempt in range(recording.attempts(task)):
            lines = Counter(_written(line) for _, line in recording.sink_lines(task, attempt))
            if lost := lines - net:
                yield f"{task} attempt {attempt} wrote {dict(lost)}, which was not written again so"


def _written(line: dict[str, Any]) -> str:
    return str((line["record"], line["source"]))


EXACT = (
    plain_sinks_repeat_only_what_was_undone,
    what_timers_emitted_is_written_once,
    sinks_write_each_record,
    sinks_number_their_lines,
    what_is_written_again_is_the_same,
)
DIVERGENT = (sinks_write_each_record, sinks_number_their_lines)
