"""What a replay gives to the outside, held against what the world outside accepted and what the snapshots list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NoReturn

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.causality.life import ENDED_WITH_RECORDING, life_of
from replay.debugger.agreeing.lines import place_of_line
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.story import Story
from replay.errors import printable
from replay.model import Record, TaskId, json_bytes

Lines = Iterator[tuple[int, Mapping[str, Any]]]
"""(attempt, line of `sink/`)."""


class SinkWrites:
    """The writes of one attempt, by the kind of its sink.

    `held_back`: writes that the attempt makes again and that its world, which keeps determinants, had accepted before;
    they come first, and must be the same.
    """

    def __init__(
        self, source: RecordingSource, story: Story, task: TaskId, attempt: int, state: Mapping[str, Any] | None
    ):
        self.source = source
        self.task = task
        self.kind = "plain" if source.graph.task(task).outputs else source.manifest.protocol.sink
        before = _accepted_before(source, story, task, attempt) if self.kind == "determinant" else iter(())
        own = ((attempt, line) for line in source.sink(task, attempt))
        # A write-ahead log is in the snapshots; what was flushed of it, and when, does not follow from the inputs.
        self._checkpoint = story.checkpoint_of(task, attempt)
        self._compared = self.kind != "idempotent"
        self._lines: Lines = chain(before, own) if self._compared else iter(())
        self.attempt = attempt
        self.held_back = 0
        self._at_once = self._compared and _goes_out_at_once(source, story, task, attempt)
        self._lasted = self._compared and _lasts_to_the_end(source, story, task, attempt)
        self._not_accepted: Record | None = None
        self._epoch = self._not_accepted_in = self._checkpoint
        self._sealed = _unnumbered((state or {}).get("transactions"))
        self._sealed_now = False
        self._open: list[Any] = []
        self._exact = source.manifest.clock.kind == "virtual"
        self._waits = source.manifest.protocol.waits
        self._taken: Taken | None = None
        self._written: Mapping[str, Any] | None = None

    def taken(self, taken: Taken) -> None:
        """The attempt took a buffer, where in its log the recording says: what it wrote before, it wrote by then."""
        line, self._taken = self._written, taken
        if self._exact and line is not None and not self._waits and _us(line) > taken.receipt.taken_us:
            raise self._another_time(line, taken, "before it takes")

    def _check_time(self, line: Mapping[str, Any]) -> None:
        taken, self._written = self._taken, line if isinstance(line.get("t_us"), int) else None
        if self._exact and self._written is not None and taken is not None and _us(line) < taken.receipt.taken_us:
            raise self._another_time(line, taken, "after it took")

    def _another_time(self, line: Mapping[str, Any], taken: Taken, when: str) -> DivergenceFound:
        place = place_of_line(self.source, self.task, self.attempt, "sink", "n", line.get("n"))
        path, offset = place or (f"tasks/{self.task}/{self.attempt}/sink/", 0)
        return DivergenceFound(
            f"{taken.path} at offset {taken.offset}: buffer {taken.receipt.seq} of "
            f"{self.source.graph.task(self.task).inputs[taken.i]} was taken at {taken.receipt.taken_us} us, but write "
            f"{line.get('n')} of {self.task}, which the replay makes {when} that buffer, was accepted at {_us(line)} "
            f"us ({path} at offset {offset}): one of the two times is wrong.",
            member=taken.path,
            offset=taken.offset,
            other_member=path,
            other_offset=offset,
        )

    def wrote(self, record: Record) -> bool:
        """Must be what the world accepted next, as far as it did; returns whether it was held back."""
        made = [record.key, record.timestamp, record.value]
        if self.kind in ("transactional", "idempotent"):
            self._open.append([*made, record.lineage or ()])
        attempt, line = next(self._lines, (self.attempt, None))
        if line is None and self._not_accepted is None:
            self._not_accepted, self._not_accepted_in = record, self._epoch
        if line is None or not isinstance(line.get("record"), list):
            return False
        if json_bytes(line["record"][:3]) != json_bytes(made):
            raise self._differs(attempt, line, "differs from what the replay gives it", made, line["record"])
        if "source" in line and record.lineage is not None:
            came_from = [list(pair) for pair in record.lineage]
            if line["source"] != came_from:
                why = "names other source records than those that the replay makes it of"
                raise self._differs(attempt, line, why, came_from, line["source"])
        if attempt == self.attempt:
            self._check_time(line)
        self.held_back += attempt != self.attempt
        return attempt != self.attempt

    def _differs(self, attempt: int, line: Mapping[str, Any], why: str, made: object, held: object) -> DivergenceFound:
        place = place_of_line(self.source, self.task, attempt, "sink", "n", line.get("n"))
        where = f" ({place[0]} at offset {place[1]})" if place else ""
        return DivergenceFound(
            f"Write {line.get('n')} of {self.task}, attempt {attempt}{where}, as the outside world accepted it, {why}.",
            member=place[0] if place else f"tasks/{self.task}/{attempt}/sink/",
            offset=place[1] if place else None,
            asked=json_bytes(made).decode()[:400],
            logged=json_bytes(held).decode()[:400],
        )

    def check_accepted(self, epoch: int) -> None:
        """What was made before the next buffer is taken went out before."""
        record, at_once, self._epoch = self._not_accepted, self._at_once, epoch
        if record is None or not at_once:
            return
        self._at_once = False  # it is said once
        self._differs_where_lines_end(record, epoch, "before it takes its next buffer")

    def _differs_where_lines_end(self, record: Record, epoch: int, when: str) -> NoReturn:
        member = member_name(self.task, self.attempt, "sink", epoch)
        if member not in self.source.members:
            raise Missing(
                f"The recording lacks {member}, as the replay of {self.task} gives a record to the outside world in "
                f"epoch {epoch}, and goes on. So it can't be said whether the replay is identical.",
                lacks=member,
            )
        raise DivergenceFound(
            f"{member} ends before the write of {_shown(record)}, which the replay of {self.task}, attempt "
            f"{self.attempt}, gives to the outside world {when}: writes are missing there.",
            member=member,
            offset=self.source.members.size(member),
            epoch=epoch,
            asked=json_bytes([record.key, record.timestamp, record.value]).decode()[:400],
            logged="nothing more",
        )

    def check_all_made(self) -> None:
        """Where an attempt is at its end, nothing was accepted that it didn't make; of whole receipts alone. And where
        it is that of the job, all was, but for what it had taken and not processed behind the last checkpoint."""
        if self._not_accepted is not None and self._lasted and self._not_accepted_in < _last_completed(self.source):
            self._differs_where_lines_end(self._not_accepted, self._not_accepted_in, "before the job is at its end")
        attempt, line = next(self._lines, (self.attempt, None))
        if line is None or attempt != self.attempt or self.source.manifest.clock.kind != "virtual":
            return  # an attempt may end before it has made again what the world had of those before it
        place = place_of_line(self.source, self.task, attempt, "sink", "n", line.get("n"))
        upto = None if place is None else int(place[0].rpartition("/")[2].partition(".")[0])
        if upto is not None and self._has_receipts(attempt, upto):
            why = "comes after all that the replay gives it"
            raise self._differs(attempt, line, why, "nothing more", line.get("record"))

    def _has_receipts(self, attempt: int, upto: int) -> bool:
        epochs = range(self._checkpoint, upto + 1)
        folders = [f"received-{i}" for i in range(len(self.source.graph.task(self.task).inputs))]
        members = (member_name(self.task, attempt, folder, epoch) for folder in folders for epoch in epochs)
        return all(one in self.source.members for one in members)

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """The sink's part of a snapshot, but for the numbers that the world gave its transactions."""
        self._sealed_now = bool(self._open)
        if self._open:
            entry: dict[str, Any] = {"epoch": epoch, "records": len(self._open)}
            if self.kind == "idempotent":
                entry["writes"] = self._open
            self._sealed.append(entry)
            self._open = []
        return list(self._sealed)

    def agree(self, made: Sequence[Mapping[str, Any]], recorded: object) -> bool:
        """What was made final meanwhile is not listed any more; what this very barrier sealed can't be final yet."""
        listed = _unnumbered(recorded)
        if not isinstance(recorded, list) or len(listed) != len(recorded) or len(listed) > len(made):
            return False
        end = list(made)[len(made) - len(listed) :]
        return json_bytes(end) == json_bytes(listed) and (bool(listed) or not self._sealed_now)


def _goes_out_at_once(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> bool:
    """Whether a write is outside before the task does anything else; a zombie's is refused."""
    life = life_of(story.lives, task, attempt)
    manifest = source.manifest
    return manifest.clock.kind == "virtual" and not manifest.protocol.waits and not (life is not None and life.lingers)


def _lasts_to_the_end(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> bool:
    """Whether the job ended before the attempt did: its last checkpoint was completed, its writes are outside."""
    life = life_of(story.lives, task, attempt)
    whole = source.manifest.complete and source.manifest.clock.kind == "virtual"
    return whole and life is not None and life.ended_by == ENDED_WITH_RECORDING


def _last_completed(source: RecordingSource) -> int:
    told = (event for event in source.events() if event.get("type") == "checkpoint-completed")
    return max((one["checkpoint"] for one in told if isinstance(one.get("checkpoint"), int)), default=0)


def _us(line: Mapping[str, Any]) -> int:
    return int(line["t_us"])


def _shown(record: Record) -> str:
    return printable(json_bytes([record.key, record.timestamp, record.value]).decode(), 80)


def _unnumbered(transactions: object) -> list[dict[str, Any]]:
    listed = transactions if isinstance(transactions, list) else []
    return [{key: value for key, value in one.items() if key != "txn"} for one in listed if isinstance(one, dict)]


def _accepted_before(source: RecordingSource, story: Story, task: TaskId, attempt: int) -> Lines:
    """What earlier attempts gave to the world since the checkpoint that this one restored, and no rollback undid."""
    if not source.manifest.protocol.logs or story.recovers_without_determinants(task, attempt):
        return
    chain_: list[int] = []
    for one in sorted((one for one in source.attempts(task) if one <= attempt), reverse=True):
        chain_.append(one)
        if story.was_rolled_back_to(task, one):
            break
    checkpoint = story.checkpoint_of(task, attempt)
    for one in reversed([one for one in chain_ if one != attempt]):
        for epoch in source.epochs(task, one, "sink"):
            if epoch >= checkpoint:
                path = member_name(task, one, "sink", epoch)
                with source.members.open(path) as stream:
                    yield from ((one, line) for _, line in read_lines(stream, path))
