"""The records that the sources had, as the recording holds them: whose they are, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.observed.delivery import IMPORTED
from replay.guarantees.observed.executed import Ends, reached
from replay.guarantees.outside.doubts import Doubts
from replay.guarantees.outside.keys import digest, is_hidden, shown_key, text_of_all
from replay.guarantees.outside.mapping import How
from replay.guarantees.outside.rows import Outside
from replay.guarantees.outside.source_tasks import has
from replay.guarantees.outside.spool import Spool, Taken
from replay.guarantees.outside.topics import known_records
from replay.log.determinants import Take
from replay.model import MAIN

_PARTITION = re.compile(r"(.*)\[([0-9]{1,18})\]", re.DOTALL)
_MOST = 1 << 62
_REFERENCES = (
    'where the recording holds references only, what they stand for: a dump of the topic (--sources), or payload="full"'
)
_Place = tuple[str, int]


@dataclass(slots=True)
class Sources:
    """Reads the records of some tasks. `anew`: offsets begin anew in each epoch, so that they name no record alone."""

    recording: RecordingSource
    how: How
    tasks: list[str]
    doubts: Doubts
    topics: Outside | None = None
    ends: Ends = field(default_factory=Ends)
    unfinished: set[int] = field(default_factory=set)
    records: int = 0
    hidden: int = 0
    anew: bool = False
    in_order: bool = False
    """Whether an attempt was seen to go on counting offsets from one epoch to the next."""
    partitions: bool = False
    """Whether tasks are partitions, by their names."""
    at_offset: int = 0
    elsewhere: int = 0
    """How many epochs after the first begin at the offset that is their number, and how many do not."""

    @property
    def by_place(self) -> bool:
        """Whether partition and offset name a record."""
        return self.in_order and not self.anew

    @property
    def by_offset(self) -> bool:
        """Whether checkpoints are offsets, as where a commit ends an epoch. Where it can't be told, they may be."""
        unknown = not self.elsewhere or self.doubts.no_proof_of_more
        return self.partitions and (self.at_offset > 0 or unknown)

    def read(self, spool: Spool) -> None:
        """All of them; what can't be read, and what was never recorded, is a doubt."""
        self._read_events()
        for number, task in enumerate(self.tasks):
            for attempt in self.recording.attempts(task):
                before: dict[str, int] = {}
                for epoch in self.recording.epochs(task, attempt, "source"):
                    try:
                        spool.take(self._of_epoch(number, attempt, epoch, before))
                    except ReplayError as fault:
                        self.doubts.records(f"Records can't be read to their end: {fault}", about=f"task:{task}")
        if self.topics is not None:
            self._look_up(spool, self.topics)
        self._check_whole(spool)

    def _look_up(self, spool: Spool, topics: Outside) -> None:
        """Of references, what they stand for: where offsets are those of a topic."""
        name = printable(topics.name)
        if self.anew or not (self.in_order or self.partitions):
            self.doubts.records(f"Offsets of the recording can't be told to be those of {name}.", "offsets that go on")
            return
        try:
            spool.know(known_records(topics, self.how))
        except ReplayError as fault:
            self.doubts.records(f"{name} can't be read to its end: {fault}", f"the rest of {name}")
        spool.fill_keys()

    def _read_events(self) -> None:
        raw = self.recording.manifest.raw
        try:
            self.ends = Ends.read(self.recording)
        except ReplayError as fault:
            self.doubts.everything(f"What happened can't be read to its end: {fault}", "events.ndjson")
        if "excerpt" in raw or IMPORTED in self.recording.members:
            self.doubts.records("The recording is an excerpt or an import, which leaves records out.")
        if self.ends.at_work:
            why = "The recording is not complete: a process may still have been at work when it was written."
            self.doubts.everything(why, "a recording that is written when the job has ended, and the outside read then")
        for task in self.recording.manifest.tasks:
            # Where records and outputs are of one task, its own end is all that counts.
            if task.id not in self.tasks and not self._gives():
                self.unfinished |= self._not_finished(task.id)

    def _like_them(self) -> list[str]:
        """Tasks that may have had records, whether any are left of them: all of the same vertices, and all sources."""
        tasks = self.recording.manifest.tasks
        vertices = {task.vertex for task in tasks if task.id in self.tasks}
        if not self._gives():
            vertices |= {one.id for one in self.recording.manifest.vertices if one.kind == "source"}
        return [task.id for task in tasks if task.vertex in vertices]

    def _lacks_attempts(self, task: str) -> bool:
        """A recorder leaves something of each attempt; an engine's may fail before it did anything, but the last."""
        attempts = set(self.recording.attempts(task))
        begun = {attempt for of, attempt in self.ends.began if of == task}
        if not self.recording.manifest.protocol.observed:
            return max(begun, default=-1) > max(attempts, default=-1)
        return not begun <= attempts or len(attempts) <= max(attempts, default=-1)

    def _gives(self) -> bool:
        return any(has(self.recording, one, "sink") for one in self.tasks)

    def _not_finished(self, task: str) -> set[int]:
        last: dict[int, int] = {}
        for attempt in self.recording.attempts(task):
            last |= dict.fromkeys(self.recording.epochs(task, attempt, "sink"), attempt)
        return {epoch for epoch, attempt in last.items() if not reached(self.ends, task, attempt, epoch)}

    def _settled(self, task: str, attempt: int, epoch: int) -> bool:
        """Whether what follows from an epoch's records has left, or never will."""
        if not self.recording.manifest.protocol.observed:
            return epoch < self.ends.completed
        return reached(self.ends, task, attempt, epoch) and epoch not in self.unfinished

    # --- lines ---

    def _of_epoch(self, number: int, attempt: int, epoch: int, before: dict[str, int]) -> Iterator[Taken]:
        task = self.tasks[number]
        settled, until = self._settled(task, attempt, epoch), self.ends.acknowledged.get((task, attempt), 0)
        begun = False
        places, last = self._places(task, attempt, epoch), dict(before)
        name = member_name(task, attempt, "source", epoch)
        with self.recording.members.open(name) as stream:
            for _, line in read_lines(stream, name):
                self.records += 1
                place = _place_of(line.get("ref")) or next(places, None)
                if place is not None:
                    self._follow(place, before, last)
                if not begun:
                    self._begin(task, epoch, place)
                begun = True
                key, said = self._key(line, task, place)
                at: Any = line.get("offset")
                where = at if _is_number(at) else self.records
                label, offset = place or (None, None)
                committed = offset is None or offset < until
                yield Taken(key, said, number, attempt, epoch, where, label, offset, settled, committed)
        before |= last

    def _begin(self, task: str, epoch: int, place: _Place | None) -> None:
        vertex, _, subtask = task.rpartition(".")
        if place is None or place[0] != f"{vertex}[{subtask}]":
            return
        self.partitions = True
        if epoch:
            self.at_offset += place[1] == epoch
            self.elsewhere += place[1] != epoch

    def _follow(self, place: _Place, before: dict[str, int], last: dict[str, int]) -> None:
        label, at = place
        if label in before:
            self.in_order = True
            self.anew = self.anew or at <= before[label]
        last[label] = max(last.get(label, -1), at)

    def _places(self, task: str, attempt: int, epoch: int) -> Iterator[_Place]:
        """Where records were read from, by the log, where their lines do not say."""
        of = self.recording.manifest.task(task)
        labels = [str(one) for one in of.partitions] if of else []
        takes = (one for _, _, one in self.recording.determinants(task, attempt, MAIN, epoch) if isinstance(one, Take))
        return chain.from_iterable(
            ((labels[one.channel], at) for at in range(one.first_offset, one.first_offset + one.records))
            for one in takes
            if one.channel < len(labels) and 0 <= one.first_offset < _MOST
        )

    def _key(self, line: Mapping[str, Any], task: str, place: _Place | None) -> tuple[bytes | None, str]:
        values = self.how.source_key.of(_fields(line, task, place))
        try:
            if values is not None and is_hidden(values):
                self.hidden += 1
                return None, ""
            text = None if values is None else text_of_all(values)
        except RecursionError:
            text = None  # what is nested as deeply as a line may be is nobody's key
        return (None, "") if text is None else (digest(text), shown_key(text))

    # --- what is missing ---

    def _check_whole(self, spool: Spool) -> None:
        for task in self._like_them():
            if gaps := self.ends.gaps[task]:
                self.doubts.records(f"{printable(task)} has gaps ({gaps:,}), where something was left out.")
            if self._lacks_attempts(task):
                self.doubts.records(f"Of {printable(task)} attempts are missing.", about=f"task:{task}")
        self._check_keys(spool.without_key())
        spans = [] if self.anew else list(spool.spans())
        whole = self.by_place or all(self.ends.began.get((task, 0)) == 0 for task in self.tasks)
        if not whole or any(one.first for one in spans):
            self.doubts.records("The recording does not begin with the job's first record.")
        for one in spans if self.recording.manifest.protocol.observed else spool.numbers(self.tasks):
            missing = one.last - one.first + 1 - one.offsets
            if missing and spool.passed_over(one) != 0:
                self.doubts.records(
                    f"{missing:,} offsets of {printable(one.label)} between {one.first:,} and {one.last:,} were never "
                    "taken: whether records stand there, the recording can't tell.",
                    f"what {printable(one.label)} holds (--sources)",
                )

    def _check_keys(self, missing: int) -> None:
        hidden = min(missing, self.hidden)
        if hidden:
            self.doubts.records(f"The key of {_counted(hidden)} is redacted.", "a recording that shows its keys")
        if missing > hidden:
            why = f"{_counted(missing - hidden).capitalize()} of the sources have no {self.how.source_key}."
            self.doubts.records(why, f"a key that every record has (--source-key), or {_REFERENCES}")


def _is_number(value: Any) -> bool:
    return type(value) is int and -_MOST < value < _MOST


def _place_of(ref: Any) -> _Place | None:
    if not isinstance(ref, Mapping):
        return None
    at: Any = ref.get("offset")
    label = f"{ref.get('topic')}[{ref.get('partition')}]" if ref.get("topic") else str(ref.get("partition"))
    return (label, at) if _is_number(at) and at >= 0 else None


def _fields(line: Mapping[str, Any], task: str, place: _Place | None) -> dict[str, Any]:
    """Of a source's record, by the names that `--source-key` knows."""
    found: dict[str, Any] = {"task": task, "offset": line.get("offset")}
    if place is not None:
        named = _PARTITION.fullmatch(place[0])
        found |= {"topic": named[1] if named else "", "partition": int(named[2]) if named else place[0]}
        found["offset"] = place[1]
    record = line.get("record")
    if isinstance(record, list) and len(record) >= 3:
        found |= {"key": record[0], "timestamp": record[1], "value": record[2]}
    elif record is not None:
        found["value"] = record
    return found


def _counted(number: int) -> str:
    return f"{number:,} record{'' if number == 1 else 's'}"
