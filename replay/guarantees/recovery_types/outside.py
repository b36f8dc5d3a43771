"""What the world outside has of a task from before its failure, and what its new attempt gave it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.errors import printable
from replay.guarantees.recovery_types.comparing import compare
from replay.guarantees.recovery_types.findings import MASKED, Finding
from replay.guarantees.recovery_types.scene import Recovered
from replay.guarantees.recovery_types.streams import Given, Streams
from replay.guarantees.recovery_types.whole import gone_of_writes
from replay.model import MAIN


@dataclass(frozen=True, slots=True)
class Outside:
    """How the world counts what a task gives it: by the kind of its sink."""

    streams: Streams
    story: Story
    kind: str
    committed: frozenset[str] | None

    @classmethod
    def of(cls, streams: Streams, story: Story, task: str) -> Outside:
        """A task with others below it writes plainly, whatever the job's sinks are."""
        source = streams.source
        kind = "plain" if source.graph.task(task).outputs else source.manifest.protocol.sink
        committed = _committed(source) if kind == "transactional" else None
        return cls(streams, story, kind, committed)

    def given(self, one: Recovered) -> Iterator[Finding]:
        """Of every attempt before, what counts of it since the checkpoint."""
        if self.holds_back(one.task, one.attempt):
            yield from _choices(self.streams.source, self.story, one)
            return
        if self.kind in ("plain", "determinant"):
            attempts = {each: self._held_back_to(one.task, each, one.before) for each in (one.attempt, *one.before)}
            lacks = gone_of_writes(self.streams, one.task, attempts, one.checkpoint)
            if lacks:
                yield Finding("open", f"what {printable(one.task)} gave to the outside is not all there", wants=lacks)
                return
        new = self.streams.lines(one.task, one.attempt, one.checkpoint, self.committed)
        for sender in one.before:
            old = self.streams.lines(one.task, sender, one.checkpoint, self.committed)
            if old:
                yield from self._compared(one, sender, old, new)

    def holds_back(self, task: str, attempt: int) -> bool:
        """Whether the world said how much it had, so that no write of it was made again."""
        begins_anew = self.story.recovers_without_determinants(task, attempt) or self.story.was_rolled_back_to(
            task, attempt
        )
        logs = self.streams.source.manifest.protocol.logs
        return self.kind == "determinant" and logs and attempt > 0 and not begins_anew

    def _held_back_to(self, task: str, attempt: int, before: tuple[int, ...]) -> int:
        """The last epoch of whose writes the world may have had some by then; -1 where nothing is held back."""
        if not self.holds_back(task, attempt):
            return -1
        earlier = (epoch for one in before if one < attempt for epoch in self.streams.source.epochs(task, one, "sink"))
        return max(earlier, default=-1)

    def _compared(
        self, one: Recovered, sender: int, old: list[tuple[Given, str]], new: list[tuple[Given, str]]
    ) -> Iterator[Finding]:
        ids = {name: each for each, name in old if name}
        for each, name in new:
            if name in ids and ids[name].what != each.what:
                said = f"{printable(one.task)} gave {printable(name)} to the outside otherwise than before"
                yield Finding("differs", said, _pair(one, sender, ids[name], each), count=1)
                return
        # Of one id the world counts one: what came again with it is nothing new.
        anew = [each for each, name in new if not name or name not in ids]
        found = compare([each for each, name in old if not name], anew)
        where = printable(one.task)
        if found.differing is not None:
            said = f"{where} gave a record to the outside otherwise than before"
            yield Finding("differs", said, _pair(one, sender, *found.differing), count=found.missing)
            return
        if found.gone is not None and one.finished:
            said = f"{found.missing:,} records that {where} had given to the outside were never made again so"
            yield Finding("differs", said, (_line(one, sender, found.gone),), count=found.missing)
            return
        if found.same:
            said = f"{where} gave {found.same:,} records to the outside again, the same as before"
            yield Finding("repeated", said, _pair(one, sender, old[0][0], anew[0]), count=found.same)
        if found.missing:
            yield Finding("incomplete", f"attempt {one.attempt} of {where} ended before it had written all again")


def _committed(source: RecordingSource) -> frozenset[str]:
    return frozenset(str(event.get("txn")) for event in source.events() if event.get("type") == "epoch-committed")


def _line(one: Recovered, attempt: int, line: Given) -> str:
    return f"sink:{one.task}/{attempt}/{line.epoch}#{line.at}"


def _pair(one: Recovered, sender: int, old: Given, new: Given) -> tuple[str, ...]:
    return _line(one, sender, old), _line(one, one.attempt, new)


def _choices(source: RecordingSource, story: Story, one: Recovered) -> Iterator[Finding]:
    """What was held back can't be seen; that it was the same follows from the same choices, as its log shows them."""
    for (thread, epoch), upto in sorted(story.returned_to(one.task, one.attempt).items()):
        if thread != MAIN or not upto:
            continue
        now = source.log_bytes(one.task, one.attempt, thread, epoch)[:upto]
        then = max((source.log_bytes(one.task, each, thread, epoch)[:upto] for each in one.before), key=len)
        agree = min(len(now), len(then))
        if now[:agree] != then[:agree]:
            at = next(i for i in range(agree) if now[i] != then[i])
            said = f"{printable(one.task)} chose otherwise than the outside had been told"
            yield Finding("differs", said, (f"log:{one.task}/{one.attempt}/{thread}/{epoch}@{at}",), count=1)
            return
        if len(then) < upto:
            wants = f"tasks/{one.task}/*/{thread}/{epoch}.det"
            yield Finding("open", f"the log of {printable(one.task)} before the failure is not whole", wants=wants)
            return
        if len(now) < upto:
            yield Finding("incomplete", f"attempt {one.attempt} ended before it had followed its log to the end")
            return
    yield MASKED
