"""Random jobs that are stopped and run again, with the truth about what the outside got: written as bundles by hand.

The outside is a list that the simulated job appends to; the recording is what a recorder would have kept of it.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from replay.bundle.writer import BundleWriter
from replay.log.codec import encode
from replay.log.determinants import Take
from replay.model import Clock, Job, Manifest, Protocol, Task, TaskId, Vertex, json_bytes

TASK = "p.0"


@dataclass
class World:
    """`outside`: every write that the outside really got, as (source offset, number of the output, id, value)."""

    seed: int
    outside: list[tuple[int, int, str | None, Any]] = field(default_factory=list)
    lines: dict[tuple[int, int], list[dict[str, Any]]] = field(default_factory=dict)
    takes: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    recorded_all: bool = True
    client: bool = False
    """Whether outputs are only handed to a client, which sends them when it is flushed, or when it likes."""
    pending: list[tuple[int, int, str | None, Any]] = field(default_factory=list)
    sent: dict[int, int] = field(default_factory=dict)
    """By attempt, how many of its outputs are known to have left."""
    never_left: int = 0

    @classmethod
    def random(cls, seed: int) -> World:
        """Epochs of some records each; attempts that are stopped anywhere, also between a write and its line."""
        chance, world = random.Random(seed), cls(seed)
        ids = chance.choice([None, "order", "order", "drawn"])
        steady, fan_out = chance.random() < 0.6, chance.choice([1, 1, 2])
        epochs, records = chance.randint(1, 3), chance.randint(1, 4)
        world.client, flushes = chance.random() < 0.3, chance.random() < 0.7
        begin = 0
        for attempt in range(chance.randint(1, 4)):
            last = attempt == 3 or chance.random() < 0.3
            numbers, stopped = 0, None if last else (chance.randrange(begin, epochs), chance.randint(0, records))
            world.tell("attempt-started", attempt, checkpoint=begin)
            for epoch in range(begin, epochs):
                here = stopped is not None and epoch == stopped[0]
                those = range(stopped[1] if here and stopped else records)
                world.lines[attempt, epoch], world.takes[attempt, epoch] = [], (epoch * records, len(those))
                for place in those:
                    offset = epoch * records + place
                    for output in range(fan_out):
                        value = {"n": offset, "price": 1 if steady else chance.randint(1, 2)}
                        name = None if ids is None else f"{offset}-{output}"
                        name = f"{chance.random()}" if ids == "drawn" else name
                        kept = world.pending if world.client else world.outside
                        kept.append((offset, output, name, json_bytes(value)))
                        at_the_end = here and place == those[-1] and output == fan_out - 1
                        if at_the_end and chance.random() < 0.3:
                            world.recorded_all = False
                            continue
                        line = {"n": numbers, "t_us": 0, "record": [f"k{offset}-{output}", 0, value]}
                        line |= {"source": [[TASK, offset]]} | ({} if name is None else {"id": name})
                        line |= {"topic": "prices"} if world.client else {}
                        world.lines[attempt, epoch].append(line)
                        numbers += 1
                if world.client and flushes and not here:
                    world.outside += world.pending
                    world.pending.clear()
                    world.sent[attempt] = numbers
                    world.tell("outputs-sent", attempt, outputs=numbers)
                if here:
                    world._lose(chance)
                    if chance.random() < 0.2 and len(those) == records:
                        world.tell("checkpoint-acknowledged", attempt, checkpoint=epoch + 1)
                    world.tell("task-failed", attempt, cause="kill")
                    begin = epoch
                    break
                world.tell("checkpoint-acknowledged", attempt, checkpoint=epoch + 1)
            if stopped is None:
                world._lose(chance)
                break
        return world

    def _lose(self, chance: random.Random) -> None:
        """A process ends: what its client had not sent by then is gone."""
        sent = [one for one in self.pending if chance.random() < 0.5]
        self.never_left += len(self.pending) - len(sent)
        self.outside += sent
        self.pending.clear()

    def tell(self, kind: str, attempt: int, **fields: Any) -> None:
        event = {"n": len(self.events), "t_us": 0, "type": kind, "task": TASK, "attempt": attempt, **fields}
        self.events.append(event)

    def all_sent(self) -> bool:
        """Whether all that was recorded is known to have left."""
        return not self.client or all(
            line["n"] < self.sent.get(attempt, 0) for (attempt, _), lines in self.lines.items() for line in lines
        )

    def truth(self) -> str:
        """What the outside holds, counting writes of one id once where they are the same; by nothing but itself."""
        seen: Counter[tuple[int, int]] = Counter()
        known: dict[str, Any] = {}
        unlike = False
        for offset, output, name, value in self.outside:
            if name is not None and name in known:
                unlike |= known[name] != value
                continue
            if name is not None:
                known[name] = value
            seen[offset, output] += 1
        if any(count > 1 for count in seen.values()):
            return "at least once"
        return "unlike" if unlike else "exactly once"

    def write(self, path: Path, *, complete: bool = True, **more: Any) -> Path:
        """As a bundle."""
        with BundleWriter(path) as writer:
            for (attempt, epoch), lines in self.lines.items():
                first, count = self.takes[attempt, epoch]
                log = encode(Take(0, first, count)) if count else b""
                writer.append(f"tasks/{TASK}/{attempt}/main/{epoch}.det", log)
                for line in lines:
                    writer.append(f"tasks/{TASK}/{attempt}/sink/{epoch}.ndjson", json_bytes(line) + b"\n")
            for event in self.events:
                writer.append("events.ndjson", json_bytes(event) + b"\n")
            return writer.close(manifest(complete=complete, **more))


def manifest(*, complete: bool = True, observed: bool = True, **more: Any) -> Manifest:
    return Manifest(
        Job("orders", "by hand", "2026-11-19T00:00:00Z"),
        Clock(0, "wall"),
        Protocol("none", sharing_depth=0, observed=observed),
        (Vertex("p", "operator", "jobs.orders:process"),),
        (),
        (Task(TaskId(TASK), "p", 0, 0, partitions=("in[0]",)),),
        determinants="extended",
        complete=complete,
        raw=more,
    )
