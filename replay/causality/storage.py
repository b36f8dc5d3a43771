"""What a stable storage answered: it keeps no more of a task's logs than it returned, and the next attempt goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replay.log.causal_log import HeldLogs
from replay.log.thread_log import ThreadLog
from replay.model import WORLD, TaskId, Thread


@dataclass(frozen=True, slots=True)
class Answer:
    """Of a task's logs since an epoch; `lineage` counts the rollbacks before."""

    t_us: int
    lineage: int
    task: TaskId
    epoch: int
    upto: Mapping[tuple[Thread, int], int]

    def gone(self, held: HeldLogs) -> Iterator[tuple[ThreadLog, int, int]]:
        """What was held and is not in the answer: of which log, in which epoch, from where on."""
        for log, copy in held.of_task(self.task).items():
            for epoch, data in copy.since(self.epoch):
                upto = self.upto.get((log.thread, epoch), 0)
                if len(data) > upto:
                    yield copy, epoch, upto


def storage_answers(events: Iterable[Mapping[str, Any]], task: TaskId) -> list[Answer]:
    """Those about that task, in their order; what is not well formed tells nothing."""
    found: list[Answer] = []
    asked: dict[Any, Any] = {}
    for event in events:
        if event.get("at") != WORLD or event.get("of") != task:
            continue
        if event.get("type") == "determinants-request-received":
            asked[event.get("n")] = event.get("epoch")
        elif event.get("type") == "determinants-returned":
            epoch, lineage, t_us = asked.get(event.get("re")), event.get("attempt"), event.get("t_us")
            if type(epoch) is int and type(lineage) is int and type(t_us) is int:
                found.append(Answer(t_us, lineage, task, epoch, _extents(event)))
    return found


def _extents(event: Mapping[str, Any]) -> dict[tuple[Thread, int], int]:
    found: dict[tuple[Thread, int], int] = {}
    for extent in event.get("logs") or ():
        if isinstance(extent, list) and len(extent) == 4:
            _, thread, epoch, upto = extent
            if isinstance(thread, str) and type(epoch) is int and type(upto) is int:
                found[thread, epoch] = upto
    return found
