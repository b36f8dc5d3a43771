"""Was every output given to the outside once? The verdict on delivery of a recorded job of an ordinary engine.

A job that starts over gives again what it gave before it was stopped. Where the recording holds both, that is proven;
that all was given once is said only where nothing is missing that could show otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from replay.bundle.lines import read_object
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.observed.choices import differing_choices
from replay.guarantees.observed.executed import Ends, OfTask, executed, reached
from replay.guarantees.observed.said import given_in_words, sentence
from replay.guarantees.observed.writes import Held, Last, Twice, Writes

Verdict = Literal["exactly once", "at least once", "undecided"]
IMPORTED = "imported.json"
"""The member that an importer leaves: see docs/importers.md."""
MOST_SHOWN = 20
MOST_MISSING = 20


@dataclass(slots=True)
class _Ledger:
    """What has been found so far. `shown`: outputs that were given more than once, those that differ first."""

    source: RecordingSource
    outputs: int = 0
    sinks: list[str] = field(default_factory=list)
    epochs_again: int = 0
    once_by_id: int = 0
    twice: Counter[bool | None] = field(default_factory=Counter)
    gave_again: list[str] = field(default_factory=list)
    differing: list[tuple[OfTask, Twice]] = field(default_factory=list)
    same: list[tuple[OfTask, Twice]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    missing_count: int = 0

    def lacks(self, why: str) -> None:
        """Something without which it can't be said that all was given once."""
        self.missing_count += 1
        if len(self.missing) < MOST_MISSING:
            self.missing.append(why)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What can't be read to its end is missing; what stands before it counts."""
        try:
            yield
        except ReplayError as fault:
            self.lacks(f"{printable(fault.path or 'a member')} can't be read to its end")

    def found(self, task: OfTask, twice: Twice) -> None:
        self.twice[twice.differs] += 1
        if task.id not in self.gave_again[-1:]:
            self.gave_again.append(task.id)
        kept = self.same if twice.differs is False else self.differing
        if len(kept) < MOST_SHOWN:
            kept.append((task, twice))


def delivery(source: RecordingSource) -> dict[str, Any] | None:
    """The verdict with its evidence, as JSON; None of a recording of a protocol that decides what is delivered, and of
    what is no recording of a job's outputs: an excerpt, which leaves out what it can, and an import."""
    manifest = source.manifest
    if not manifest.protocol.observed or "excerpt" in manifest.raw or IMPORTED in source.members:
        return None
    ledger, ends = _Ledger(source), Ends()
    with ledger.reading():
        ends = Ends.read(source)
    for why in ends.missing():
        ledger.lacks(why)
    tasks = [OfTask.of(source, task.id) for task in source.manifest.tasks]
    ran_again = {epoch for task in tasks for epoch in task.again}
    for task in tasks:
        if task.gives:
            _of_sink(ledger, task, ends)
            _of_elsewhere(ledger, task, ran_again)
        with ledger.reading():
            for why in executed(source, task, ends):
                ledger.lacks(why)
    if not ledger.outputs:
        ledger.lacks("no output is recorded")
    if not ledger.missing_count and not ledger.twice:
        _of_choices(ledger, sorted({epoch for task in tasks if task.gives for epoch in task.again}))
    return _report(ledger)


def _of_sink(ledger: _Ledger, task: OfTask, ends: Ends) -> None:
    ledger.sinks.append(task.id)
    ledger.epochs_again += len(task.again)
    last_of = {epoch: Last(those[-1], reached(ends, task.id, those[-1], epoch)) for epoch, those in task.again.items()}
    with Writes() as writes:
        for attempt in task.attempts:
            given = task.given(ledger.source, attempt, ends)
            with ledger.reading():
                writes.add(given.again())
            ledger.outputs += given.lines
            for why in given.missing:
                ledger.lacks(why)
        compared = set()
        for found in writes.held(last_of):
            if isinstance(found, Twice):
                ledger.found(task, found)
            else:
                compared.add(found.epoch)
                _of_epoch(ledger, task, found, last_of[found.epoch])
        for epoch in sorted(set(task.again) - compared):
            _of_epoch(ledger, task, Held(epoch), last_of[epoch])


def _of_elsewhere(ledger: _Ledger, task: OfTask, ran_again: set[int]) -> None:
    """Engines give a batch that runs again to their tasks anew."""
    elsewhere = sorted(ran_again & task.alone)
    if elsewhere:
        ledger.lacks(
            f"epoch {elsewhere[0]} ran again in other tasks and not in {printable(task.id)}: what that gave may have "
            "been given by another task too"
        )


def _of_choices(ledger: _Ledger, again: list[int]) -> None:
    """A write's line may be missing where its attempt ended right behind it; what chose the same wrote the same."""
    for epoch in again:
        if chosen := differing_choices(ledger.source, epoch):
            ledger.lacks(
                f"{printable(chosen[0]['task'])} chose otherwise when epoch {epoch} ran again, and a write that "
                "followed from the choice before may have left without being recorded"
            )
            return


def _of_epoch(ledger: _Ledger, task: OfTask, held: Held, last: Last) -> None:
    """What keeps an epoch that ran again from having been delivered once, besides what was seen to go out twice."""
    where = f"epoch {held.epoch} of {printable(task.id)}"
    ledger.once_by_id += held.once_by_id
    if held.unlike:
        ledger.lacks(f"in {where} writes of one id are not the same, and which of them the outside keeps is not known")
    if held.alone:
        ledger.lacks(f"in {where} something was given that attempt {last.attempt}, the last one, did not give again")
    if held.others:
        ledger.lacks(f"in {where} the attempts gave other records at the same places of the source")
    if not last.whole:
        ledger.lacks(f"attempt {last.attempt}, the last one, did not come to the end of {where}")
    for attempt in task.again[held.epoch]:
        if attempt != last.attempt and held.outputs[attempt] != held.outputs[last.attempt]:
            ledger.lacks(f"attempt {attempt} ended midway in {where}: a write more than is recorded may have left")


def _report(ledger: _Ledger) -> dict[str, Any]:
    twice = ledger.twice.total()
    verdict: Verdict = "at least once" if twice else "undecided" if ledger.missing_count else "exactly once"
    shown = [_shown(ledger.source, task, one) for task, one in [*ledger.differing, *ledger.same][:MOST_SHOWN]]
    differ = [(one.given[0].epoch, task.id) for task, one in ledger.differing if one.differs]
    return {
        "verdict": verdict,
        "sentence": sentence(
            verdict, ledger.gave_again or ledger.sinks, ledger.twice, ledger.epochs_again, ledger.once_by_id
        ),
        "outputs": ledger.outputs,
        "count": twice,
        "differing": ledger.twice[True],
        "once_by_id": ledger.once_by_id,
        "twice": shown,
        "choices": differing_choices(ledger.source, differ[0][0]) if differ else [],
        "missing": ledger.missing,
        "missing_count": ledger.missing_count,
    }


def _record(line: dict[str, Any], task: str) -> int | None:
    """Which record of its own task the output comes from, where it comes from one."""
    source = line.get("source")
    own = [one for one in source if one[0] == task] if isinstance(source, list) else []
    return own[0][1] if len(own) == 1 and isinstance(own[0][1], int) else None


def _shown(source: RecordingSource, task: OfTask, twice: Twice) -> dict[str, Any]:
    """An output that was given more than once, with what it was each time."""
    lines = []
    for one in twice.given:
        name = member_name(task.id, one.attempt, "sink", one.epoch)
        with source.members.open(name) as stream:
            stream.seek(one.offset)
            lines.append(read_object(stream.readline(), name, one.offset))
    return {
        "task": task.id,
        "epoch": twice.given[0].epoch,
        "record": _record(lines[-1], task.id),
        "attempts": [one.attempt for one in twice.given],
        "lines": [one.number for one in twice.given],
        "differs": twice.differs,
        "said": given_in_words([line.get("record") for line in lines], twice.differs),
    }
