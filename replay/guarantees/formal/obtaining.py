"""Whether what consumers were given can be had without failures: by the run that the last attempts form, processed
again record by record. Where that does not give it, others may: see `searching`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from replay.guarantees.formal.outputs import Output
from replay.guarantees.formal.recorded_job import RecordedJob, as_given, origin_of
from replay.model import TaskId


@dataclass(frozen=True, slots=True)
class Obtained:
    """`holds` None: no run was found among those tried, and there may be others. `against`: what was not obtained."""

    holds: bool | None
    how: str
    tried: int
    against: Output | None = None


def along_the_recorded_run(job: RecordedJob) -> Obtained:
    """One run without failures: every task takes its records as its last attempt and those it continues took them."""
    graph = job.source.graph
    queues: dict[str, deque[bytes]] = {channel.id: deque() for channel in graph.channels}
    steps, wrong = 0, list[Output]()
    for task in graph.order:
        modelled, shape, given = job.tasks[task], graph.task(task), list[bytes]()
        state, edges, epoch = modelled.initial, modelled.edges(), 0
        for begun, origin, record in _taken(job, task, queues):
            if begun != epoch:
                edges.begin_epoch()
            state, sent, written = modelled.step(state, origin, record)
            steps, epoch = steps + 1, begun
            given += written
            for body in sent:
                for k in edges.of(body):
                    queues[shape.outputs[k].channel].append(body)
        wrong += _first_other(given, job.given.get(task, []))
    if wrong:
        first = min(wrong, key=lambda one: one.seen_us or 0)
        return Obtained(None, "the run that the last attempts form gives something else", steps, first)
    return Obtained(True, f"proved by the run that the last attempts form, of {steps:,} steps", steps)


def _taken(job: RecordedJob, task: TaskId, queues: dict[str, deque[bytes]]) -> Iterator[tuple[int, str, bytes]]:
    """(epoch, vertex that it came from, record); up to where its senders make no more of their records."""
    inputs = job.source.graph.task(task).inputs
    for one in job.taken[task]:
        queue = queues[inputs[one.i]] if inputs else deque([one.record])
        if not queue:
            return
        yield one.epoch, origin_of(job, task, one.i), queue.popleft()


def _first_other(made: list[bytes], given: list[Output]) -> list[Output]:
    """The first that the consumer was given and this run would not have given there."""
    return [one for n, one in enumerate(given) if n >= len(made) or made[n] != as_given(one)][:1]
