"""Sinks: nothing is lost, and what the outside counts is each record once, whatever the kind of sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from replay.jobs.churn import TIMER_KEY
from replay.simulation.checks import outside
from replay.simulation.checks.outside import counted
from replay.simulation.recording import Recording


def sinks_deliver_each_record_once(recording: Recording) -> Iterator[str]:
    """A plain sink repeats only what its own failure or a rollback undid; of other kinds nothing counts twice."""
    net: Counter[str] = Counter()
    for _, line in counted(recording):
        if line["record"][0] != TIMER_KEY:
            net.update(map(str, line["source"]))
    due = expected(recording)
    if net != due:
        yield f"too often were written {dict(net - due)}, and never {dict(due - net)}"


def what_timers_emitted_is_written_once(recording: Recording) -> Iterator[str]:
    """As the records of the sources; what fired after the last checkpoint is still under way."""
    written: Counter[str] = Counter()
    for epoch, line in counted(recording):
        if line["record"][0] == TIMER_KEY and epoch < recording.completed[-1]:
            written[str(line["record"][2])] += 1
    due = recording.expected_timers("sink", recording.completed[-1])
    if sum(written.values()) != due:
        yield f"{sum(written.values())} records were written that timers emitted, of {due}"
    ways = recording.ways_to("sink")
    for value, count in written.items():
        if count != ways[value.split("'by': '")[1].split(".")[0]]:
            yield f"the record of a timer was written {count} times: {value}"


def expected(recording: Recording) -> Counter[str]:
    """How often each source record must arrive at the sink: once on every way there."""
    ways = recording.ways_to("sink")
    return Counter(
        {
            str([task, offset]): ways[vertex]
            for task, keys in recording.source_keys.items()
            for offset in keys
            if ways[vertex := recording.graph.task(task).vertex]
        }
    )


def sinks_write_each_record(recording: Recording) -> Iterator[str]:
    """What the outside has of it is at least as often as there are ways from its source, whatever failed."""
    if missing := expected(recording) - _there(recording):
        yield f"never written were {dict(missing)}"


def _there(recording: Recording) -> Counter[str]:
    """What can be seen outside, whether it counts or not: only transactions keep anything back for ever."""
    written: Counter[str] = Counter()
    if recording.manifest.protocol.sink == "transactional":
        for _, line in counted(recording):
            written.update(map(str, line["source"]))
        return written
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            for _, line in recording.sink_lines(task, attempt):
                written.update(map(str, line["source"]))
    return written


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
    if recording.rolled_back or recording.failed(others) or recording.manifest.protocol.sink != "plain":
        return
    net = Counter(_written(line) for _, line in counted(recording))
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            lines = Counter(_written(line) for _, line in recording.sink_lines(task, attempt))
            if lost := lines - net:
                yield f"{task} attempt {attempt} wrote {dict(lost)}, which was not written again so"


def _written(line: dict[str, Any]) -> str:
    return str((line["record"], line["source"]))


def sinks_count_what_they_gave(recording: Recording) -> Iterator[str]:
    """In each completed checkpoint a sink's state tells of as many records as the outside counts of it by then."""
    epochs: dict[str, list[int]] = {task: [] for task in recording.tasks_of("sink")}
    for task, found in epochs.items():
        found += [epoch for epoch, _ in counted(recording, (task,))]
    for checkpoint in recording.completed:
        for task, found in epochs.items():
            told = recording.state(task, checkpoint)["operator"]["records"]
            gave = sum(epoch < checkpoint for epoch in found)
            if told != gave:
                yield f"{task} counted {told} records by checkpoint {checkpoint}, and the outside {gave} of it"


ALWAYS = (sinks_number_their_lines, *outside.CHECKS)
"""Whatever is promised."""

EXACT = (*ALWAYS, sinks_count_what_they_gave, what_is_written_again_is_the_same)
"""Of any job."""

SHAPED = (sinks_deliver_each_record_once, what_timers_emitted_is_written_once, sinks_write_each_record)
"""Of jobs in which something comes out of every record, once on every way."""

DIVERGENT = (sinks_write_each_record,)
"""Of such jobs, where states may count twice."""
