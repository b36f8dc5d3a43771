"""The sweep of a stored job: both tables once from end to end, place by place, on all cores."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ingest.lake.recoverability.chunks import Chunk, PlaceRows, Seen, chunks, matched
from ingest.lake.recoverability.cover import Cover
from ingest.lake.recoverability.heap import ENDS, FOREVER
from ingest.lake.recoverability.kernel import walk
from ingest.lake.recoverability.state import AS_DEPENDED, AS_RECORDED, LOST_FOUND, LOST_WRITTEN, NOTHING, SIZES, WRITTEN
from ingest.lake.recoverability.streams import Executions, Key, Rows, Stream
from replay.guarantees.recoverability.course import Course
from replay.guarantees.recoverability.log_walk import own_steps
from replay.guarantees.recoverability.outside import NO_LINEAGE
from replay.guarantees.recoverability.port import Lost, Place, Question, Swept, Worst
from replay.guarantees.recoverability.reach import Reach, Reached
from replay.model import WORLD, Graph

MOST_LOST = 1_000
_FORMS = (("task", False), ("task", True), ("host", False), ("host", True))
"""Of whose failures the sizes of a variation are, and whether the outside is a dependent."""


Best = tuple[int, int, Key, int]
"""The smallest size, when it was first that small, where, and the end of which byte it is of."""

NO_ROWS = Rows(*(np.zeros(0, np.int64) for _ in Rows._fields))


class Found(NamedTuple):
    """What one chunk gave."""

    covers: dict[int, Cover]
    best: tuple[Any, ...]
    losses: Any
    lost: int
    surplus: Any


class Sweeping:
    """One sweep. `outside` and `beside` tell what the world outside depends on."""

    def __init__(
        self, graph: Graph, course: Course, logs: Sequence[tuple[str, str]], executions: Executions, outside: Seen,
        beside: Mapping[Key, Rows], questions: Sequence[Question], ends: Sequence[int],
    ) -> None:  # fmt: skip
        self.graph, self.course, self.logs, self.executions = graph, course, logs, executions
        self.outside, self.beside, self.questions, self.ends = outside, beside, questions, ends
        asked = {(one.depth, one.least) for one in questions}
        self.variations = [(None, True), *sorted((one for one in asked if one != (None, True)), key=str)]
        self._lived = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def run(self, held: Stream, depended: Stream) -> Swept:
        """Reads both tables."""
        reach, cores = self._reach(), os.cpu_count() or 1
        covers: dict[int, Cover] = {}
        best: dict[int, Best] = {}
        swept = Swept(surplus=[0] * len(self.ends))
        self.executions.number(len(self.graph.tasks), NO_LINEAGE)
        with ThreadPoolExecutor(cores) as pool:
            waiting: deque[tuple[Chunk, Future[Found]]] = deque()
            for chunk in chunks(self._places(iter(held), iter(depended)), self.outside):
                waiting.append((chunk, pool.submit(self._walk, chunk, self._executions(), reach)))
                if len(waiting) > cores:
                    self._take(*waiting.popleft(), covers, best, swept)
            while waiting:
                self._take(*waiting.popleft(), covers, best, swept)
        swept.lost_left_out -= len(swept.lost)
        for one in self.questions:
            number = self.variations.index((one.depth, one.least)) * SIZES + _FORMS.index((one.by, one.world))
            swept.worst[one] = self._worst(covers.get(number), best.get(number))
        return swept

    def _worst(self, cover: Cover | None, best: Best | None) -> Worst:
        if cover is None or best is None:
            return Worst(steps=[(0, None)])
        return Worst(cover.steps(), best[1], self._place(best[2]), best[3])

    def _place(self, key: Key) -> Place:
        task, thread = self.logs[key[1]]
        return Place(task, thread, key[0])

    # --- what is walked ---

    def _places(self, held: Iterator[tuple[Key, Rows]], depended: Iterator[tuple[Key, Rows]]) -> Iterator[PlaceRows]:
        numbers = {task.id: n for n, task in enumerate(self.graph.tasks)}
        tasks = [numbers[task] for task, _ in self.logs]  # type: ignore[index]
        stable: dict[int, int] = {}
        for key, has, needs in matched(held, self._with_beside(depended)):
            epoch, log = key
            if epoch not in stable:
                stable[epoch] = min(self.course.stable_us(epoch), FOREVER)
            has = self._alive(has) if has is not None else None
            more, own = self.beside.get(key), self._own(key, tasks[log])
            yield PlaceRows(key, has, self._alive(needs), more, own, tasks[log], stable[epoch])

    def _with_beside(self, depended: Iterator[tuple[Key, Rows]]) -> Iterator[tuple[Key, Rows]]:
        """Places that only the outside depends on stand among the others."""
        left = deque(sorted(self.beside))
        for key, rows in depended:
            while left and left[0] < key:
                yield left.popleft(), NO_ROWS
            if left and left[0] == key:
                left.popleft()
            yield key, rows
        for key in left:
            yield key, NO_ROWS

    def _alive(self, rows: Rows) -> Rows:
        """Whatever an attempt did before it began or after it ended counts for nobody."""
        begins, ends = self._spans()
        counts = (begins[rows.who] <= rows.t_us) & (rows.t_us <= ends[rows.who])
        return rows if counts.all() else Rows(*(one[counts] for one in rows))

    def _own(self, key: Key, task: int) -> list[tuple[int, int, int, int, int]]:
        found = []
        for step in own_steps(self._place(key), self.course):
            who = self.executions.number(task, step.who[1])
            found.append((step.t_us, step.kind, who, step.who[1], step.upto))
        name = self.graph.tasks[task].id
        for attempt, (_, ended_us) in self.course.lives.get(name, {}).items():
            if ended_us < FOREVER:
                found.append((ended_us, ENDS, self.executions.number(task, attempt), attempt, 0))
        return sorted(found, key=lambda step: step[:2])

    # --- executions ---

    def _name(self, task: int) -> str:
        return self.graph.tasks[task].id if task < len(self.graph.tasks) else WORLD

    def _spans(self) -> tuple[Any, Any]:
        if len(self._lived[0]) < len(self.executions.numbers):
            spans = [self.course.lived(self._name(task), attempt) for task, attempt in self.executions.numbers]
            self._lived = tuple(np.array(column, np.int64) for column in zip(*spans, strict=True))  # type: ignore[assignment]
        return self._lived

    def _executions(self) -> tuple[Any, ...]:
        """As the walk takes them: all that were met so far."""
        count = len(self.graph.tasks)
        outside = self.executions.number(count, NO_LINEAGE)
        ends = self._spans()[1]
        tasks = np.array([task for task, _ in self.executions.numbers], np.int64)
        hosts: dict[str, int] = {}
        host = [
            hosts.setdefault(self.course.hosts.get((self._name(task), attempt), ""), len(hosts))
            for task, attempt in self.executions.numbers
        ]
        return ends, tasks, tasks == count, np.array(host, np.int64), outside, len(hosts)

    def _reach(self) -> Any:
        """By task, holder and variation; what leads nowhere is as it was recorded."""
        graph, tasks = self.graph, [*(task.id for task in self.graph.tasks), WORLD]
        found = np.zeros((len(tasks) - 1, len(tasks), len(self.variations)), np.uint8)
        numbers = {task: n for n, task in enumerate(tasks)}
        for v, (depth, least) in enumerate(self.variations):
            if depth is None:
                continue
            reach = Reach(graph, graph.manifest.protocol.sharing_depth, depth)
            for n, task in enumerate(tasks[:-1]):
                for holder in (*graph.all_downstream(task), WORLD):
                    found[n, numbers[holder], v] = _coded(reach.of(task, holder), least=least)
        return found

    # --- walking ---

    def _walk(self, chunk: Chunk, executions: tuple[Any, ...], reach: Any) -> Found:
        count = len(self.variations) * SIZES
        bound = count * (chunk.steps + len(chunk.keys))
        stretches = tuple(np.empty(bound, kind) for kind in (np.int64, np.int64, np.int32, np.int32))
        losses, surplus = np.zeros((MOST_LOST, 6), np.int64), np.zeros(len(self.ends), np.int64)
        best = tuple(np.full(count, -1, np.int64) for _ in range(4))
        buckets = (np.array(self.ends, np.int64), surplus)
        numbers = walk(
            chunk.places, chunk.runs, chunk.rows, chunk.own, executions, reach, buckets, (*stretches, losses), best
        )
        begin, end, question, size = (one[: numbers[WRITTEN]] for one in stretches)
        covers = {}
        for n in np.unique(question):
            cover = Cover()
            those = question == n
            cover.add(begin[those], end[those], size[those])
            covers[int(n)] = cover
        return Found(covers, best, losses[: numbers[LOST_WRITTEN]], int(numbers[LOST_FOUND]), surplus)

    def _take(
        self, chunk: Chunk, future: Future[Found], covers: dict[int, Cover], best: dict[int, Best], swept: Swept
    ) -> None:
        found = future.result()
        for number, cover in found.covers.items():
            covers.setdefault(number, Cover()).merge(cover)
        for number, (size, t_us, place, upto) in enumerate(zip(*found.best, strict=True)):
            known = best.get(number)
            if size >= 0 and (known is None or (size, t_us) < known[:2]):
                best[number] = (int(size), int(t_us), chunk.keys[place], int(upto))
        names = list(self.executions.numbers)
        for place, attempt, t_us, returned, upto, who in found.losses[: MOST_LOST - len(swept.lost)].tolist():
            task, its_attempt = names[who]
            where = self._place(chunk.keys[place])
            swept.lost.append(Lost(where, attempt, t_us, returned, upto, self._name(task), its_attempt))
        swept.lost_left_out += found.lost
        swept.surplus = (np.array(swept.surplus, np.int64) + found.surplus).tolist()


def _coded(how: Reached, *, least: bool) -> int:
    match how:
        case Reached.NOTHING:
            return NOTHING
        case Reached.UNKNOWN:
            return NOTHING if least else AS_RECORDED
        case Reached.AS_DEPENDED:
            return AS_DEPENDED
    return AS_RECORDED
