"""Recoverability of a stored job: its tables are swept, and its recording says the rest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ingest.lake.errors import QueryTooLarge
from ingest.lake.readers import PublishedJob
from ingest.lake.recoverability.streams import Executions, Key, Rows, Stream
from replay.debugger.ports import RecordingSource
from replay.guarantees.claims import Section
from replay.guarantees.recoverability.course import FOREVER
from replay.guarantees.recoverability.of_bundle import BundleCausality
from replay.guarantees.recoverability.outside import Stands, Take, depended_outside, first_seen, uncertain_us
from replay.guarantees.recoverability.port import Depended, Held, Place, Question, Situation, Swept, Written
from replay.guarantees.recoverability.section import recoverability_of
from replay.guarantees.recoverability.sweep import Rows as PlainRows
from replay.guarantees.recoverability.sweep import point_out, situation
from replay.model import WORLD, Task

SCAN_TIMEOUT_S = 600.0
MOST_ROWS = 300_000
"""Of one question about one moment."""
_EVENT_TYPES = (
    "attempt-started", "task-failed", "recovery-state", "determinants-received", "checkpoint-completed",
    "global-rollback", "epoch-committed",
)  # fmt: skip
_EVENT_FIELDS = (
    "n", "t_us", "type", "at", "attempt", "re", "failure", "task", "host", "standby", "checkpoint", "rollback", "cause",
    "from", "to", "of", "channel", "epoch", "txn",
)  # fmt: skip


def recoverability_of_stored(source: RecordingSource, job: PublishedJob) -> Section:
    """The same section as of the recording alone, from the tables of its job."""
    return recoverability_of(LakeCausality(source, job))


class LakeCausality(BundleCausality):
    """A `Causality` over a job's tables. Members are only read for what no table has, and for evidence."""

    def __init__(self, source: RecordingSource, job: PublishedJob) -> None:
        super().__init__(source)
        self.job = job
        self.logs = [(task.id, thread) for task in self.graph.tasks for thread in task.threads]
        self.log_of: dict[tuple[str, str], int] = {log: n for n, log in enumerate(self.logs)}
        self.task_of: dict[str, int] = {task.id: n for n, task in enumerate(self.graph.tasks)}
        self.task_of[WORLD] = len(self.task_of)

    def sweep(self, questions: Sequence[Question], buckets: Sequence[int]) -> Swept:
        """Answers all questions."""
        from ingest.lake.recoverability.sweeping import Sweeping  # compiled code, which nothing else here needs

        executions = Executions()
        beside = self._beside(executions)
        first = self._first_seen(executions)
        sweeping = Sweeping(self.graph, self.course, self.logs, executions, first, beside, questions, buckets)
        named = {"log_of": self.log_of, "task_of": self.task_of, "executions": executions}
        held = Stream(self.job.table_files("holders"), "task", "holder", "holder_attempt", "attempt", **named)  # type: ignore[arg-type]
        depended = Stream(self.job.table_files("frontiers"), "of_task", "task", "attempt", None, **named)  # type: ignore[arg-type]
        found = sweeping.run(held, depended)
        found.uncertain_us = uncertain_us(self.written, self.course, self._kept_outside)
        for question, worst in found.worst.items():
            if question.depth is None and worst.place is not None:
                point_out(question, worst, self._rows_of(worst.place), self.course, self.graph)
        return found

    # --- one place ---

    def situation(self, place: Place, upto: int, t_us: int) -> Situation:
        """Of the byte before `upto`."""
        return situation(self._rows_of(place), self.course, place, upto, t_us)

    def _rows_of(self, place: Place) -> PlainRows:
        """Of one place only."""
        params = {"task": place.task, "thread": place.thread, "epoch": place.epoch}
        held = self.job.rows(
            "SELECT attempt, holder, holder_attempt, t_us, upto FROM holders "
            "WHERE task = $task AND thread = $thread AND epoch = $epoch", params, timeout_s=SCAN_TIMEOUT_S,
        )  # fmt: skip
        depended = self.job.rows(
            "SELECT task, attempt, t_us, upto FROM frontiers "
            "WHERE of_task = $task AND thread = $thread AND epoch = $epoch", params, timeout_s=SCAN_TIMEOUT_S,
        )  # fmt: skip
        rows = [Depended(task, attempt, t_us, place, upto) for task, attempt, t_us, upto in depended]
        outside = (one for one in depended_outside(rows, self.written) if one.place == place)
        return PlainRows.of((Held(place, *row) for row in held), [*rows, *outside])

    def rows_about(self, tasks: Collection[str], t_us: int, *, world: bool) -> PlainRows:
        """Of every execution the furthest of what it held and depended on, apart before and after recoveries."""
        floor = max((checkpoint for done_us, checkpoint in self.course.completions if done_us <= t_us), default=0)
        params = {"tasks": list(tasks), "t_us": t_us, "floor": floor, "most": MOST_ROWS + 1}
        held = self._some(
            "SELECT task, thread, epoch, attempt, holder, holder_attempt, max(t_us), max(upto) FROM holders "
            "WHERE list_contains($tasks, task) AND epoch >= $floor AND t_us <= $t_us GROUP BY ALL LIMIT $most", params
        )  # fmt: skip
        depended = [
            Depended(task, attempt, at_us, Place(of_task, thread, epoch), upto)
            for of_task, thread, epoch, task, attempt, at_us, upto in self._depended_about(params, world=world)
        ]
        outside = depended_outside(depended, self.written) if world else ()
        beside = (one for one in outside if one.place.task in tasks)
        rows = (Held(Place(task, thread, epoch), *rest) for task, thread, epoch, *rest in held)
        return PlainRows.of(rows, [*depended, *beside])

    def _depended_about(self, params: dict[str, Any], *, world: bool) -> list[Any]:
        """The outside follows from what sinks depended on at each of their writes, so of them every row counts then."""
        turns = sorted({
            one.free_us
            for task in params["tasks"]
            for one in (self.course.beginnings.get(task) or {}).values()
            if one.free_us
        })  # fmt: skip
        sinks = [str(task.id) for task in self.graph.tasks if not task.outputs] if world else []
        return self._some(
            "SELECT of_task, thread, epoch, task, attempt, max(t_us), max(upto) FROM frontiers "
            "WHERE list_contains($tasks, of_task) AND epoch >= $floor AND t_us <= $t_us "
            "GROUP BY of_task, thread, epoch, task, attempt, "
            "CASE WHEN list_contains(CAST($sinks AS VARCHAR[]), task) THEN t_us "
            "ELSE len(list_filter(CAST($turns AS BIGINT[]), lambda turn: turn < t_us)) END LIMIT $most",
            {**params, "sinks": sinks, "turns": turns},
        )

    def _some(self, sql: str, params: dict[str, Any]) -> list[Any]:
        rows = self.job.rows(sql, params, timeout_s=SCAN_TIMEOUT_S)
        if len(rows) > MOST_ROWS:
            raise QueryTooLarge(
                f"This asks about more than {MOST_ROWS:,} rows; ask about fewer tasks, or leave the outside out."
            )
        return rows

    def events(self) -> Iterator[Mapping[str, Any]]:
        """Those that recoverability reads, from their table."""
        columns = [f'"{name}"' for name in _EVENT_FIELDS]
        for row in self.job.rows(
            f"SELECT {', '.join(columns)}, logs, more FROM events "
            "WHERE list_contains($types, type) OR t_us = (SELECT max(t_us) FROM events) ORDER BY n",
            {"types": list(_EVENT_TYPES)}, timeout_s=SCAN_TIMEOUT_S,
        ):  # fmt: skip
            *values, logs, more = row
            event = {name: value for name, value in zip(_EVENT_FIELDS, values, strict=True) if value is not None}
            yield (
                event
                | ({} if logs is None else {"logs": json.loads(logs)})
                | ({} if more is None else json.loads(more))
            )

    # --- the outside ---

    @cached_property
    def _writes(self) -> dict[tuple[str, int], Any]:
        """Of every sink's attempt the writes, as `depended_outside` has them."""
        return first_seen(self.written)

    def _first_seen(self, executions: Executions) -> Any:
        writes = {
            self._number(executions, *who): [
                (upto, np.array([*times, FOREVER], np.int64))
                for upto, times in ((FOREVER, one.at_once), *one.waited.items())
            ]
            for who, one in self._writes.items()
        }

        def seen(who: Any, t_us: Any, epoch: Any) -> Any:
            found = np.where(who < 0, t_us, FOREVER)  # what only the outside depends on says itself when
            for one, when in writes.items():
                those = np.flatnonzero(who == one)
                for upto, times in when if len(those) else ():
                    times_of = times[np.searchsorted(times[:-1], t_us[those])]
                    found[those] = np.minimum(found[those], np.where(epoch[those] <= upto, times_of, FOREVER))
            return found

        return seen

    def _number(self, executions: Executions, task: str, attempt: int) -> int:
        return executions.number(self.task_of[task], attempt)

    def _beside(self, executions: Executions) -> dict[Key, Rows]:
        """Of sinks' own logs, what only the outside depends on."""
        found: dict[Key, list[Depended]] = {}
        for one in depended_outside([], self.written):
            found.setdefault((one.place.epoch, self.log_of[one.place.task, one.place.thread]), []).append(one)
        return {
            key: Rows(
                np.full(len(rows), -1, np.int64),
                np.array([one.t_us for one in rows], np.int64),
                np.array([one.upto for one in rows], np.int64),
                np.zeros(len(rows), np.int64),
            )
            for key, rows in found.items()
        }

    def _kept_outside(self, place: Place, t_us: int) -> int:
        params = {"task": place.task, "thread": place.thread, "epoch": place.epoch, "t_us": t_us, "world": WORLD}
        found = self.job.rows(
            "SELECT max(upto) FROM holders WHERE task = $task AND thread = $thread AND epoch = $epoch "
            "AND holder = $world AND t_us <= $t_us", params, timeout_s=SCAN_TIMEOUT_S,
        )  # fmt: skip
        return int(found[0][0] or 0)

    def _written(self, task: Task) -> Iterator[Written]:
        committed_us = self._committed_us
        rows = self.job.rows(
            "SELECT DISTINCT attempt, epoch, t_us, txn, id IS NOT NULL FROM sinks WHERE task = $task",
            {"task": task.id},
            timeout_s=SCAN_TIMEOUT_S,
        )
        stands = self._stands_of(task) if rows else {}
        for attempt, epoch, t_us, txn, has_id in rows:
            seen_us = t_us if txn is None else committed_us.get((task.id, txn))
            if seen_us is not None:
                stand = stands.get((attempt, epoch))
                offset, after = stand.around(t_us) if stand else (0, 0)
                waits = txn is not None or has_id
                yield Written(task.id, attempt, seen_us, epoch, offset, offset if waits else after, waits)

    def _stands_of(self, task: Task) -> dict[tuple[int, int], Stands]:
        """By attempt and epoch."""
        takes: dict[tuple[int, int], list[Take]] = {}
        inputs = {str(channel): i for i, channel in enumerate(task.inputs)}
        for channel, attempt, epoch, t_us, offset in self.job.rows(
            "SELECT channel, receiver_attempt, taken_epoch, taken_us, taken_offset FROM sendings "
            "WHERE list_contains($channels, channel) AND taken_us IS NOT NULL",
            {"channels": list(inputs)},
            timeout_s=SCAN_TIMEOUT_S,
        ):
            takes.setdefault((attempt, epoch), []).append(Take(t_us, offset, inputs[channel]))
        orders: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
        for attempt, epoch, offset, channel_number, length in self.job.rows(
            'SELECT attempt, epoch, "offset", channel, length FROM determinants '
            "WHERE task = $task AND thread = 'main' AND kind IN ('order', 'take')",
            {"task": task.id},
            timeout_s=SCAN_TIMEOUT_S,
        ):
            orders.setdefault((attempt, epoch), {})[offset] = (channel_number, length)
        lengths = {
            (attempt, epoch): size
            for attempt, epoch, size in self.job.rows(
                "SELECT attempt, epoch, bytes FROM epochs WHERE task = $task AND thread = 'main'", {"task": task.id}
            )
        }
        return {who: Stands(takes.get(who, []), lengths.get(who, 0), orders.get(who, {})) for who in {*takes, *lengths}}

    # --- evidence ---

    def taken(self, task: str, attempt: int, t_us: int) -> Iterable[str]:
        """Evidence: the receipts of what an attempt took in that microsecond; of the outside, the lines it got."""
        if task == WORLD:
            rows = self.job.rows("SELECT task, attempt, epoch, n FROM sinks WHERE t_us = $t_us", {"t_us": t_us})
            return [f"sink:{of}/{its}/{epoch}#{n}" for of, its, epoch, n in rows]
        rows = self.job.rows(
            "SELECT channel, attempt, seq, sending FROM sendings "
            "WHERE taken_us = $t_us AND receiver_attempt = $attempt AND list_contains($channels, channel)",
            {"t_us": t_us, "attempt": attempt, "channels": [str(one) for one in self.graph.task(task).inputs]},
        )
        return [f"receipt:{channel}/{sender}#{seq}/{sending}" for channel, sender, seq, sending in rows]

    def unfollowed(self) -> Iterator[tuple[str, str, str]]:
        """What an ingest could not follow is among its rejects."""
        rows = self.job.rows("SELECT path, why FROM rejects WHERE path LIKE '%.dlt' ORDER BY ALL LIMIT 100")
        return ((path, why, path) for path, why in rows)

    def gaps(self) -> Iterator[tuple[str, str]]:
        """(channel, what is missing): receipts whose buffer or sending isn't there, sendings without any receipt."""
        outside = f">{WORLD}"
        for channel, attempt in self.job.rows(
            "SELECT DISTINCT s.channel, s.attempt FROM sendings s LEFT JOIN buffers b USING (channel, attempt, seq) "
            "WHERE s.received_us IS NOT NULL AND b.seq IS NULL ORDER BY ALL", timeout_s=SCAN_TIMEOUT_S,
        ):  # fmt: skip
            one = self.graph.channel(channel)
            yield channel, f"tasks/{one.source}/{attempt}/sent-{one.k}/*.buf"
        for channel, attempt in self.job.rows(
            "SELECT DISTINCT channel, attempt FROM sendings WHERE sent_us IS NULL ORDER BY ALL",
            timeout_s=SCAN_TIMEOUT_S,
        ):
            one = self.graph.channel(channel)
            yield channel, f"tasks/{one.source}/{attempt}/sent-{one.k}/*.dlt"
        for (channel,) in self.job.rows(
            "SELECT channel FROM sendings GROUP BY channel HAVING count(received_us) = 0 ORDER BY ALL",
            timeout_s=SCAN_TIMEOUT_S,
        ):
            if not channel.endswith(outside):
                one = self.graph.channel(channel)
                yield channel, f"tasks/{one.target}/*/received-{one.i}/*.rcv"
