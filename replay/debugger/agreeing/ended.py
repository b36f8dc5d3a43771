"""Transactions and write-ahead logs that events must say are at their end: nobody goes on past one that is not."""

from __future__ import annotations

from dataclasses import dataclass, field

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.agreeing.left_open import check_left_open
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event

_EXECUTES = ("checkpoint-acknowledged", "checkpoint-notified", "epoch-precommitted")


def check_ended(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first transaction that must have been ended, and no event says so."""
    if source.manifest.clock.kind != "virtual":
        return
    if source.manifest.protocol.sink == "transactional":
        _Ends(source).run()
        check_left_open(source)
    elif source.manifest.protocol.sink == "idempotent":
        _check_flushes(source)


@dataclass(slots=True)
class _Ends:
    """`sealed`: what waits for its checkpoint, by attempt and number; `ends`: what the last notice makes final."""

    source: RecordingSource
    sealed: dict[tuple[str, int], dict[object, Event]] = field(default_factory=dict)
    ends: dict[object, Event] = field(default_factory=dict)
    suspected: set[tuple[str, int]] = field(default_factory=set)
    notified: Event = field(default_factory=dict)

    def run(self) -> None:
        number = -1
        for event in self.source.events():
            if not isinstance(event.get("n"), int):
                continue
            number, txn = event["n"], event.get("txn")
            if event.get("type") in ("epoch-committed", "epoch-aborted") and isinstance(txn, int | None):
                self.ends.pop(txn, None)
                for one in self.sealed.values():
                    one.pop(txn, None)
                continue
            self._check_ended(number)
            if isinstance(event.get("attempt"), int):
                self._take(number, event, str(event.get("task")), event["attempt"])
        self._check_ended(number)

    def _take(self, number: int, event: Event, task: str, attempt: int) -> None:
        kind, txn = event.get("type"), event.get("txn")
        if kind in _EXECUTES:
            self._check_before(number, task, attempt)
        if kind == "epoch-precommitted" and isinstance(txn, int | None):
            self.sealed.setdefault((task, attempt), {})[txn] = event
        elif kind == "task-failed":
            self.suspected.add((task, attempt))
        elif kind == "checkpoint-notified" and (task, attempt) not in self.suspected:
            self.notified = event
            of = self.sealed.get((task, attempt), {})
            self.ends = {one: by for one, by in of.items() if _is_before(by.get("epoch"), event.get("checkpoint"))}

    def _check_ended(self, number: int) -> None:
        for txn, one in self.ends.items():
            notice = self.notified
            raise _not_ended(
                number,
                f"epoch-committed of transaction {txn} of {notice.get('task')} must stand here, as event {one['n']} "
                f"sealed it in epoch {one.get('epoch')}, and by event {notice['n']} its task hears that checkpoint "
                f"{notice.get('checkpoint')} is completed",
                notice["n"],
            )

    def _check_before(self, number: int, task: str, attempt: int) -> None:
        """An attempt that executes has ended whatever those before it had not."""
        for (of, before), sealed in self.sealed.items():
            if of != task or before >= attempt:
                continue
            for txn, one in sealed.items():
                raise _not_ended(
                    number,
                    f"attempt {attempt} of {task} executes, but no epoch-committed or epoch-aborted ends transaction "
                    f"{txn}, which event {one['n']} sealed in attempt {before}",
                    one["n"],
                )


def _is_before(epoch: object, checkpoint: object) -> bool:
    return isinstance(epoch, int) and isinstance(checkpoint, int) and epoch < checkpoint


def _not_ended(number: int, why: str, cause: int) -> DivergenceFound:
    return DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, cause=cause)


def _check_flushes(source: RecordingSource) -> None:
    """A write-ahead log of which the last write is outside is at its end."""
    sealed: dict[tuple[str, int], dict[int, int]] = {}
    ended: set[tuple[str, int, int]] = set()
    for event in source.events():
        task, attempt, epoch = str(event.get("task")), event.get("attempt"), event.get("epoch")
        if not isinstance(epoch, int) or not isinstance(attempt, int):
            continue
        if event.get("type") == "epoch-precommitted" and isinstance(event.get("records"), int):
            sealed.setdefault((task, epoch), {})[attempt] = event["records"]
        elif event.get("type") == "epoch-committed":
            ended.add((task, attempt, epoch))
    for task in (one for one in source.graph.order if not source.graph.task(one).outputs):
        for attempt in source.attempts(task):
            for epoch in source.epochs(task, attempt, "sink"):
                by = sealed.get((task, epoch), {})
                records = {by[attempt]} if attempt in by else set(by.values())  # one that it restored has any of these
                path = member_name(task, attempt, "sink", epoch)
                if len(records) == 1 and (task, attempt, epoch) not in ended:
                    _check_not_flushed(source, path, task, attempt, epoch, next(iter(records)))


def _check_not_flushed(source: RecordingSource, path: str, task: str, attempt: int, epoch: int, records: int) -> None:
    last = f"{task}/{epoch}/{records - 1}"
    with source.members.open(path) as stream:
        for offset, line in read_lines(stream, path):
            if line.get("id") == last:
                raise DivergenceFound(
                    f"{path} at offset {offset}: write {last} is the last one of its write-ahead log, but no "
                    f"epoch-committed event of attempt {attempt} of {task} ends epoch {epoch}.",
                    member=path,
                    offset=offset,
                    other_member="events.ndjson",
                    epoch=epoch,
                )
