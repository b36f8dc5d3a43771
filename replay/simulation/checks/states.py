"""States: in every completed checkpoint each vertex has counted every record that the sources had read, once a path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replay.simulation.recording import Recording


def states_count_each_record_once(recording: Recording) -> Iterator[str]:
    """In all, and by key, in each checkpoint that completed."""
    for checkpoint in recording.completed:
        expected = recording.expected_keys(checkpoint)
        for vertex in recording.manifest.vertices:
            states = [recording.state(task, checkpoint)["operator"] for task in recording.tasks_of(vertex.id)]
            keys = expected[vertex.id]
            counted, total = sum(state["records"] for state in states), sum(keys.values())
            timers = recording.expected_timers(vertex.id, checkpoint)
            counted_timers = sum(state.get("timer_records", 0) for state in states)
            if vertex.kind == "sink":  # which doesn't tell them apart
                counted, counted_timers = counted - timers, timers
            if (counted, counted_timers) != (total, timers):
                yield (
                    f"{vertex.id} counted {counted} records of {total}, and {counted_timers} of {timers} that timers "
                    f"emitted, in checkpoint {checkpoint}"
                )
            if vertex.kind == "operator":
                by_key: Counter[str] = Counter()
                for state in states:
                    by_key.update(dict(state["by_key"]))
                if by_key != keys:
                    too_often, too_seldom = dict(by_key - keys), dict(keys - by_key)
                    yield f"{vertex.id} counted {too_often} too often, {too_seldom} too seldom, by {checkpoint}"


def the_last_checkpoint_covers_the_sources(recording: Recording) -> Iterator[str]:
    """A finite job ends with a checkpoint behind the last record of every source."""
    if not recording.completed:
        yield "no checkpoint completed"
        return
    for task in recording.sources:
        offset = recording.state(task, recording.completed[-1])["source"]["offset"]
        read = max(recording.source_keys[task], default=-1) + 1
        if offset != read:
            yield f"the last checkpoint of {task} stands at {offset} of {read} records"


def sources_leave_nothing_out(recording: Recording) -> Iterator[str]:
    """Each record of a partition is read, by whichever attempt."""
    for task, keys in recording.source_keys.items():
        if list(keys) != list(range(len(keys))):
            yield f"{task} read the records {list(keys)}"


def states_count_each_record(recording: Recording) -> Iterator[str]:
    """Without determinants, each record at least once."""
    expected = recording.expected_keys(recording.completed[-1])
    for vertex in recording.manifest.vertices:
        states = [recording.state(task, recording.completed[-1]) for task in recording.tasks_of(vertex.id)]
        counted, total = sum(state["operator"]["records"] for state in states), sum(expected[vertex.id].values())
        if counted < total:
            yield f"{vertex.id} counted {counted} records of {total}"


EXACT = (the_last_checkpoint_covers_the_sources, sources_leave_nothing_out)
"""Of any job."""

SHAPED = (*EXACT, states_count_each_record_once)
"""Of jobs whose operators count what comes."""

DIVERGENT = (states_count_each_record,)
"""Of such jobs, without determinants."""
