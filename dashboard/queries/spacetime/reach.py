"""How far the causes and effects of what is selected reach, attempt by attempt; the last answers are kept at hand."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from dashboard.queries.spacetime.cone import NEVER_US, Cone, cone
from dashboard.queries.spacetime.selection import Selected
from ingest.lake.readers import Lake
from replay.model import Graph

KEPT = 16

_EPOCHS_SQL = """
WITH upto AS (SELECT unnest($tasks::VARCHAR[]) AS task, unnest($attempts::BIGINT[]) AS attempt,
                     unnest($epochs::BIGINT[]) AS epoch)
SELECT e.task, e.attempt, max(e.end_us) FROM epochs e
JOIN upto ON e.task = upto.task AND e.attempt = upto.attempt
WHERE e.thread = 'main' AND e.epoch < upto.epoch GROUP BY e.task, e.attempt
"""


@dataclass(frozen=True, slots=True)
class Reach:
    """Of an attempt: all up to `past_us` came before, all from `future_us` on followed; None: nothing of it.

    `whole_past`: all that the attempt had in a checkpoint came before, and when that was is not told by its epochs.
    `whole_future`: all of it followed.
    """

    task: str
    attempt: int
    past_us: int | None
    future_us: int | None
    whole_past: bool
    whole_future: bool
    taken: int
    sent: int


_kept: OrderedDict[tuple[str, str], Cone] = OrderedDict()
_guard = threading.Lock()


def cone_of(lake: Lake, graph: Graph, *, job: str, one: Selected) -> Cone:
    """A published version never changes, and a window that is moved asks for the same again."""
    key = (lake.job(job).folder.name, one.name)
    with _guard:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    found = cone(lake, graph, job=job, upto=one.upto, since=one.since)
    with _guard:
        _kept[key] = found
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return found


def reaches(lake: Lake, graph: Graph, found: Cone, *, job: str) -> list[Reach]:
    """In the order of the manifest, earlier attempts first."""
    bounded = {who: upto.epoch for who, upto in found.past.items() if upto.epoch >= 0}
    asked = {
        "tasks": [task for task, _ in bounded],
        "attempts": [attempt for _, attempt in bounded],
        "epochs": list(bounded.values()),
    }
    ends = {(task, attempt): t_us for task, attempt, t_us in lake.rows(_EPOCHS_SQL, asked, job=job)} if bounded else {}
    place = {task.id: n for n, task in enumerate(graph.tasks)}
    rows = []
    for who in sorted({*found.past, *found.future}, key=lambda one: (place[one[0]], one[1])):  # type: ignore[index]
        upto, since = found.past.get(who), found.future.get(who)
        past = [] if upto is None or upto.t_us == NEVER_US else [upto.t_us]
        if who in bounded and ends.get(who) is not None:
            past.append(ends[who])
        rows.append(
            Reach(
                *who,
                past_us=max(past, default=None),
                future_us=None if since is None or since.t_us == NEVER_US else since.t_us,
                whole_past=upto is not None and not past,
                whole_future=since is not None and since.t_us == NEVER_US,
                taken=found.taken[who],
                sent=found.sent[who],
            )
        )
    return rows
