"""Calls to the outside: one with an effect happens at least once, and what determinants answer is not asked again."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from replay.jobs.churn import Churn
from replay.jobs.enrich import Enrich
from replay.jobs.registry import operator_name
from replay.log.codec import decode_all
from replay.log.determinants import Serializable
from replay.model import MAIN
from replay.simulation.recording import Recording


def the_outside_is_asked_only_what_no_determinant_answers(recording: Recording) -> Iterator[str]:
    """What the outside counts is, over all attempts, what stands in their logs and was not returned to them."""
    returned: dict[tuple[str, int, int], int] = defaultdict(int)
    for task, attempt, logs in recording.returned:
        for copy in logs:
            if copy.log.thread == MAIN:
                key = (task, attempt, copy.epoch)
                returned[key] = max(returned[key], len(copy.data))
    asked = 0
    calling = [one.id for one in recording.manifest.vertices if one.operator in _CALLING]
    for caller in (one for vertex in calling for one in recording.tasks_of(vertex)):
        for attempt in range(recording.attempts(caller)):
            for epoch in recording.epochs(caller, attempt, MAIN):
                replayed = returned[caller, attempt, epoch]
                data = recording.log(caller, attempt, MAIN, epoch)
                asked += sum(at >= replayed for at, _, one in decode_all(data) if isinstance(one, Serializable))
    if asked != recording.asked.calls:
        yield f"the outside was asked {recording.asked.calls} times, and logs tell of {asked} new answers"


_CALLING = frozenset(map(operator_name, (Churn, Enrich)))


def what_is_to_have_an_effect_has_it(recording: Recording) -> Iterator[str]:
    """Of every record that a state counts: the call that it makes was made, once or more often."""
    if not recording.completed:
        return
    for vertex in recording.manifest.vertices:
        due = [
            request
            for task in recording.tasks_of(vertex.id)
            for request in _due(recording, vertex.operator, vertex.options.get("write_every", 0), task)
        ]
        written = {json.dumps(json.loads(request)) for _, request in recording.asked.writes}
        if missing := [one for one in map(json.dumps, due) if one not in written]:
            yield f"{vertex.id} never called the outside with {missing[:5]}"


def _due(recording: Recording, operator: str, every: int, task: str) -> Iterator[object]:
    if operator == operator_name(Churn) and every:
        records = recording.state(task, recording.completed[-1])["operator"]["records"]
        yield from ([task, number] for number in range(every, records + 1, every))
    elif operator == operator_name(Enrich) and task == recording.tasks_of(recording.graph.task(task).vertex)[0]:
        yield from ({"order": [source, offset]} for source, offset in recording.source_records)


EXACT = (the_outside_is_asked_only_what_no_determinant_answers, what_is_to_have_an_effect_has_it)
DIVERGENT = (what_is_to_have_an_effect_has_it,)
