"""Random jobs with an outside of which the truth is known: who read what, which rows came of it, what was recorded.

The truth is kept apart from rows and lines: each row knows the record that it came of, and nobody who judges sees that.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.bundle.writer import BundleWriter
from replay.errors import ReplayError
from replay.guarantees.outside import Held, How, Row
from replay.log.codec import encode
from replay.log.determinants import Take
from replay.model import Clock, Job, Manifest, Protocol, Task, TaskId, Vertex, json_bytes

VERTEX = "p"
DAMAGES = (
    "gap", "late", "redacted", "at work", "attempt gone", "cut member", "row without key", "cut outside", "excerpt",
    "hole", "topic gone",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """What a source had. `wants`: the parts of which the job would give a row each."""

    task: int
    offset: int
    key: str
    wants: tuple[int, ...]


@dataclass(frozen=True)
class Given:
    """A row, and of which record it came: None where something else wrote it."""

    of: Record | None
    part: int
    fields: dict[str, Any]


@dataclass
class Attempt:
    """What an execution took, epoch by epoch, and how far it came. `ends`: the checkpoint that ended an epoch."""

    begin: int
    taken: dict[int, list[Record]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    acknowledged: int = 0
    failed: bool = False


@dataclass
class World:
    seed: int
    style: str = "plain"
    how: How = field(default_factory=How)
    damage: str = ""
    dumps: bool = False
    """Whether what references stand for is looked up."""
    epochs: dict[tuple[int, int], list[Record]] = field(default_factory=dict)
    attempts: dict[int, list[Attempt]] = field(default_factory=dict)
    given: list[Given] = field(default_factory=list)
    written: dict[tuple[int, int, int], Record] = field(default_factory=dict)
    """By task, attempt and number: what a line of the recording is of."""
    sharp: bool = True
    """Whether nothing is missing that the truth follows from."""

    @property
    def refers(self) -> bool:
        """Whether the recording has references to records, and not the records."""
        return self.style in ("ref", "commits")

    # --- how it came about ---

    @classmethod
    def random(cls, seed: int) -> World:
        chance = random.Random(seed)
        world = cls(seed, chance.choice(["plain", "anew", "ref", "ref", "commits"]))
        fan, filters = chance.choice([1, 1, 1, 2, 3]), chance.random() < 0.2
        shared, parted = chance.random() < 0.2 and not world.refers, chance.random() < 0.5
        world._read(chance, fan, filters, shared)
        faults = Faults.of(chance)
        for task in sorted({task for task, _ in world.epochs}):
            (world._commit if world.style == "commits" else world._execute)(chance, task, faults)
        for _ in range(chance.choice([0, 0, 0, 0, 1, 2])):
            world._row(None, 0, f"x{chance.random()}", chance)
        if faults.upserts:
            world._upsert()
        chance.shuffle(world.given)
        world.dumps = world.refers and chance.random() < 0.4
        world.how = _how(chance, world.refers and not world.dumps, fan, filters, parted)
        world.sharp = not shared and not filters and world.how.per_record.fixed and (fan == 1 or parted)
        # With one epoch, its number may be an offset or not, so may be that of the checkpoint that ends it, and nobody
        # shows that offsets go on.
        epochs = [sum(map(bool, one.taken.values())) for those in world.attempts.values() for one in those]
        world.sharp = world.sharp and max(epochs) > 1
        if chance.random() < 0.4:
            world._harm(chance)
        return world

    def _read(self, chance: random.Random, fan: int, filters: bool, shared: bool) -> None:
        for task in range(chance.choice([1, 1, 2])):
            offset = 0
            for epoch in range(chance.randint(1, 4)):
                records = []
                for _ in range(chance.randint(1, 5)):
                    key = f"k{chance.randint(0, 4)}" if shared and chance.random() < 0.5 else f"u{task}-{offset}"
                    wants = () if filters and chance.random() < 0.3 else tuple(range(fan))
                    records.append(Record(task, offset, key, wants))
                    offset += 1
                self.epochs[task, epoch] = records

    def _execute(self, chance: random.Random, task: int, faults: Faults) -> None:
        last = max(epoch for one, epoch in self.epochs if one == task)
        attempts = self.attempts[task] = []
        begin = 0
        for number in range(4):
            attempt = Attempt(begin)
            attempts.append(attempt)
            stops = (number < 3 and chance.random() < 0.45) or chance.random() < 0.05
            at = chance.randint(begin, last) if stops else None
            for epoch in range(begin, last + 1):
                records = list(self.epochs[task, epoch])
                if self.style == "anew" and chance.random() < 0.3:
                    chance.shuffle(records)
                until = chance.randint(0, len(records)) if epoch == at else len(records)
                attempt.taken[epoch] = records[: until + chance.randint(0, 1)]
                for record in records[:until]:
                    self._process(chance, record, faults, epoch == at)
                if epoch == at:
                    attempt.failed = True
                    break
                attempt.acknowledged = attempt.ends[epoch] = epoch + 1
            if at is None:
                break
            begin = at
            if chance.random() < 0.1:
                break  # nobody starts it again

    def _commit(self, chance: random.Random, task: int, faults: Faults) -> None:
        """As a consumer of Kafka does: a commit ends an epoch, and may lie behind what was read."""
        records = [one for (of, _), those in self.epochs.items() if of == task for one in those]
        committed = 0
        attempts = self.attempts[task] = []
        for number in range(4):
            attempt = Attempt(committed)
            attempts.append(attempt)
            stops = (number < 3 and chance.random() < 0.45) or chance.random() < 0.05
            until = chance.randint(committed, len(records)) if stops else len(records)
            epoch = committed
            for record in records[committed:until]:
                attempt.taken.setdefault(epoch, []).append(record)
                self._process(chance, record, faults, stops and record.offset == until - 1)
                last = record.offset == len(records) - 1
                if chance.random() < 0.4 or (last and not stops):
                    committed = len(records) if last and not stops else chance.randint(committed, record.offset + 1)
                    if committed > epoch:
                        attempt.ends[epoch] = attempt.acknowledged = committed
                        epoch = record.offset + 1
            attempt.failed = stops
            if not stops or chance.random() < 0.1:
                break

    def _process(self, chance: random.Random, record: Record, faults: Faults, stopped: bool) -> None:
        for part in record.wants:
            if chance.random() >= (faults.unsent if stopped else faults.loses):
                self._row(record, part, record.key, chance)
                if chance.random() < faults.repeats:
                    self.given.append(self.given[-1])

    def _row(self, of: Record | None, part: int, key: str, chance: random.Random) -> None:
        at = {"in_p": of.task, "in_o": of.offset} if of else {"in_p": 9, "in_o": len(self.given)}
        fields = {"k": key, "part": f"part-{part}", "price": chance.randint(1, 2), **at}
        self.given.append(Given(of, part, fields))

    def _upsert(self) -> None:
        """A sink that knows rows by record and part keeps the last one."""
        kept = {(one.of or at, one.part): one for at, one in enumerate(self.given)}
        self.given = list(kept.values())

    # --- what is wrong with the recording, or with the reading of the outside ---

    def _harm(self, chance: random.Random) -> None:
        self.damage = chance.choice(DAMAGES)
        self.sharp = False
        if self.damage == "row without key":
            at = chance.randrange(len(self.given) + 1)
            self.given.insert(at, Given(chance.choice(self._records()), 0, {"price": 1}))

    def _records(self) -> list[Record]:
        return [record for records in self.epochs.values() for record in records]

    # --- the truth ---

    def settled(self, record: Record) -> bool:
        """Whether an attempt came to the end of its epoch, and was heard to."""
        if self.style == "commits":
            return any(one.acknowledged > record.offset >= one.begin for one in self.attempts[record.task])
        (epoch,) = [at for (task, at), records in self.epochs.items() if task == record.task and record in records]
        return any(one.acknowledged > epoch >= one.begin for one in self.attempts[record.task])

    def twice(self) -> set[Record]:
        counts = Counter((one.of, one.part) for one in self.given if one.of is not None)
        return {of for (of, _), count in counts.items() if count > 1 and of is not None}

    def lost(self) -> set[Record]:
        there = {(one.of, one.part) for one in self.given}
        missing = {one for one in self._records() if any((one, part) not in there for part in one.wants)}
        return {one for one in missing if self.settled(one)}

    def made_up(self) -> int:
        return sum(one.of is None for one in self.given)

    def truth(self) -> str:
        twice, lost = bool(self.twice()), bool(self.lost())
        if self.made_up() or (twice and lost):
            return "neither"
        return "at least once" if twice else "at most once" if lost else "exactly once"

    def finished(self) -> bool:
        """Whether something was done, and nothing is left to be done again."""
        epochs = [its for those in self.attempts.values() for attempt in those for its in attempt.taken.values()]
        return any(epochs) and all(self.settled(record) for its in epochs for record in its)

    # --- what is seen of it ---

    @property
    def _topic(self) -> str:
        return VERTEX if self.style == "commits" else "in"

    def rows(self) -> Outside:
        return Outside(tuple(one.fields for one in self.given), self.seed if self.damage == "cut outside" else None)

    def topics(self) -> Held | None:
        """What the sources' topics hold."""
        chance, rows = random.Random(f"{self.seed} topics"), []
        for one in self._records() if self.dumps else ():
            value = json_bytes({"k": one.key}).decode()
            fields = {"topic": self._topic, "partition": one.task, "offset": one.offset, "key": None, "value": value}
            where = f"{self._topic}[{one.task}]#{one.offset}"
            if self.damage != "topic gone" or chance.random() < 0.7:
                rows.append(Row(where, fields, value, where))
        return Held("topic", tuple(rows)) if self.dumps else None

    def write(self, path: Path) -> Path:
        """The recording, as a recorder would have written it."""
        chance = random.Random(f"{self.seed} damage")
        with BundleWriter(path) as writer:
            events: list[dict[str, Any]] = []
            for task, attempts in self.attempts.items():
                self._write_task(writer, events, task, attempts, chance)
            for n, event in enumerate(events):
                writer.append("events.ndjson", json_bytes({"n": n, "t_us": 0, **event}) + b"\n")
            return writer.close(self._manifest())

    def _write_task(
        self,
        writer: BundleWriter,
        events: list[dict[str, Any]],
        task: int,
        attempts: list[Attempt],
        chance: random.Random,
    ) -> None:
        base, bases = 0, {}
        for (of, epoch), records in self.epochs.items():
            if of == task:
                bases[epoch], base = base, base + len(records)
        for number, attempt in enumerate(attempts):
            named = {"task": f"{VERTEX}.{task}", "attempt": number}
            first = attempt.begin
            if self.damage == "late" and number == 0 and attempt.taken:
                first = min(first + 1, max(attempt.taken))
            events.append({"type": "attempt-started", **named, "checkpoint": first})
            if not attempt.taken:
                writer.append(f"tasks/{VERTEX}.{task}/{number}/main/{first}.det", b"")
            for epoch, records in attempt.taken.items():
                if epoch < first or (self.damage == "attempt gone" and number == 0 and len(attempts) > 1):
                    continue
                base = records[0].offset if self.style == "commits" else bases[epoch]
                self._write_epoch(writer, (task, number, epoch), records, base, chance)
                if epoch in attempt.ends:
                    events.append({"type": "checkpoint-acknowledged", **named, "checkpoint": attempt.ends[epoch]})
            if self.damage == "gap":
                events.append({"type": "gap", **named, "thread": "main", "epoch": first, "offset": 0, "why": "full"})
            if attempt.failed:
                events.append({"type": "task-failed", **named, "cause": "killed"})

    def _write_epoch(
        self, writer: BundleWriter, where: tuple[int, int, int], records: list[Record], base: int, chance: random.Random
    ) -> None:
        task, attempt, epoch = where
        folder = f"tasks/{VERTEX}.{task}/{attempt}"
        if self.damage == "at work" and records:
            records = records[:-1]  # what follows was not yet written
        lines, log = b"", b""
        for at, record in enumerate(records):
            harmed = chance.random() < 0.4
            if harmed and (self.damage == "gap" or self._is_hole(record)):
                continue
            number = base + at
            self.written[task, attempt, number] = record
            read_at = at if self.style == "anew" else record.offset
            log += encode(Take(0, read_at, 1))
            line: dict[str, Any] = {"offset": number, "t_us": 0}
            if self.refers:
                line["ref"] = {"topic": self._topic, "partition": task, "offset": record.offset}
            else:
                hidden = self.damage == "redacted" and harmed
                line["record"] = [None, 0, {"k": {"redacted": "t1"} if hidden else record.key}]
            lines += json_bytes(line) + b"\n"
        writer.append(f"{folder}/main/{epoch}.det", log)
        if self.damage == "cut member" and lines:
            lines = lines[: len(lines) - 4]
        if lines:
            writer.append(f"{folder}/source/{epoch}.ndjson", lines)
        if self.seed % 3 == 0 and task == 0 and records:
            # What one of the tasks says that it gave; nothing follows from it.
            told = {"n": 0, "t_us": 0, "record": ["x", 0, 1], "source": [[f"{VERTEX}.{task}", base]]}
            writer.append(f"{folder}/sink/{epoch}.ndjson", json_bytes(told) + b"\n")

    def _is_hole(self, record: Record) -> bool:
        """Nobody knows of records that are missing where nothing that was recorded follows."""
        taken = (its for attempt in self.attempts[record.task] for its in attempt.taken.values())
        last = max(one.offset for its in taken for one in its)
        return self.damage == "hole" and self.refers and record.offset < last

    def _manifest(self) -> Manifest:
        at_work = self.damage == "at work"
        tasks = tuple(
            Task(TaskId(f"{VERTEX}.{task}"), VERTEX, task, task, partitions=(f"{self._topic}[{task}]",))
            for task in self.attempts
        )
        raw: dict[str, Any] = {"processes": {"alive": int(at_work), "killed": 0}}
        if self.damage == "excerpt":
            raw["excerpt"] = {"of": "", "task": f"{VERTEX}.0", "attempt": 0, "units": 1, "of_units": 9}
        return Manifest(
            Job("orders", "by hand", "2026-11-19T00:00:00Z"),
            Clock(0, "wall"),
            Protocol("none", sharing_depth=0, observed=True),
            (Vertex(VERTEX, "operator", "jobs.orders:process", parallelism=len(tasks)),),
            (),
            tasks,
            determinants="extended",
            complete=not at_work,
            raw=raw,
        )


@dataclass(frozen=True)
class Faults:
    """How often rows are lost, and there twice, for reasons that no log shows."""

    loses: float
    unsent: float
    repeats: float
    upserts: bool

    @classmethod
    def of(cls, chance: random.Random) -> Faults:
        return cls(
            chance.choice([0, 0, 0, 0.1]),
            chance.choice([0, 0.5, 1, 1]),
            chance.choice([0, 0, 0, 0.1]),
            chance.random() < 0.25,
        )


@dataclass(frozen=True)
class Outside:
    """Rows as a reader gives them; `cut`: somewhere the reading ends in a fault."""

    found: tuple[dict[str, Any], ...]
    cut: int | None = None
    name: str = "shop"

    def rows(self) -> Iterator[Row]:
        until = len(self.found) if self.cut is None else self.cut % (len(self.found) + 1)
        for n, fields in enumerate(self.found[:until]):
            yield Row(str(n), fields, {name: one for name, one in fields.items() if name != "part"})
        if self.cut is not None:
            raise ReplayError("the rest is not there", path="shop")


def _how(chance: random.Random, refers: bool, fan: int, filters: bool, parted: bool) -> How:
    """One that is true of the world, if not always the sharpest."""
    per = f"0-{fan}" if filters else str(fan)
    per = chance.choice([per, per, per, "any"])
    key, source_key = ("in_p,in_o", "partition,offset") if refers else ("k", "k")
    return How.parse(key, source_key, per, "part" if parted else None)
