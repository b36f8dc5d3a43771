"""Random tables of growth: jobs that never ran, but could have, with failures, recoveries and rollbacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.replay.guarantees.recoverability.brute_force import WORLD, Row

Log = tuple[str, str, int]


@dataclass
class Grown:
    """A few tasks, their events and their rows."""

    draw: Random
    tasks: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    held: list[Row] = field(default_factory=list)
    depended: list[Row] = field(default_factory=list)
    now_us: int = 0
    attempts: dict[str, int] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    writer: dict[str, int] = field(default_factory=dict)
    lineage: int = 0
    checkpoint: int = 0

    def event(self, kind: str, **fields: Any) -> dict[str, Any]:
        made = {"n": len(self.events), "t_us": self.now_us, "type": kind, **fields}
        self.events.append(made)
        return made

    def start(self, task: str, attempt: int, **why: Any) -> None:
        self.attempts[task] = attempt
        self.down.discard(task)
        self.event("attempt-started", task=task, attempt=attempt, host=f"host-{self.draw.randrange(3)}", **why)

    def log(self) -> Log:
        """Some are written of much more than others, so that many come to hold them."""
        return self.draw.choice(self.logs()[: self.draw.choice((1, 2, 100))])

    def logs(self) -> list[Log]:
        return [
            (task, thread, self.checkpoint + n) for task in self.tasks for thread in ("main", "out-0") for n in (0, 1)
        ]


def grown(seed: int) -> Grown:
    """The tables of a seed."""
    draw = Random(f"growth {seed}")
    made = Grown(draw, [f"a.{n}" for n in range(draw.randint(2, 6))])
    for task in made.tasks:
        made.writer[task] = 0
        made.start(task, 0)
    for _ in range(draw.randint(10, 60)):
        made.now_us += draw.choice((0, 1, 1, 2, 5))
        draw.choices((_hold, _depend, _fail, _begin, _go_on, _complete, _roll_back), weights=(30, 30, 4, 5, 6, 2, 1))[
            0
        ](made)
    return made


def _hold(made: Grown) -> None:
    log = made.log()
    who = made.draw.choice([*(one for one in made.attempts if one not in made.down and one != log[0]), WORLD])
    attempt = made.lineage if who == WORLD else made.attempts[who]
    made.held.append(Row(made.now_us, who, attempt, log, made.draw.randint(1, 9), made.writer[log[0]]))


def _depend(made: Grown) -> None:
    log = made.log()
    who = made.draw.choice([*(one for one in made.attempts if one not in made.down and one != log[0]), WORLD])
    attempt = -1 if who == WORLD else made.attempts[who]
    made.depended.append(Row(made.now_us, who, attempt, log, made.draw.randint(1, 9)))


def _fail(made: Grown) -> None:
    made.now_us += 1
    task = made.draw.choice(made.tasks)
    if task not in made.down:
        made.event("task-failed", task=task, attempt=made.attempts[task], failure=0, cause="killed")
        made.down.add(task)
        made.waiting.discard(task)


def _begin(made: Grown) -> None:
    made.now_us += 1
    if made.down:
        task = made.draw.choice(sorted(made.down))
        made.start(task, made.attempts[task] + 1, failure=0, **made.draw.choice(({}, {}, {}, {"diverged": True})))
        if "diverged" in made.events[-1]:
            made.writer[task] = made.attempts[task]
        else:
            made.event("recovery-state", task=task, attempt=made.attempts[task], to="WaitingConnections")
            made.waiting.add(task)
        made.now_us += 1


def _go_on(made: Grown) -> None:
    """One is answered, and perhaps goes on by itself."""
    if not made.waiting:
        return
    made.now_us += 1
    task = made.draw.choice(sorted(made.waiting))
    logs = [[task, thread, epoch, made.draw.randint(1, 9)] for of, thread, epoch in made.logs() if of == task]
    some = made.draw.sample(logs, made.draw.randint(0, len(logs)))
    made.event("determinants-received", at=task, of=task, attempt=made.attempts[task], logs=some)
    if made.draw.random() < 0.6:
        made.event("recovery-state", task=task, attempt=made.attempts[task], to="Replaying")
        made.writer[task] = made.attempts[task]
        made.waiting.discard(task)
    made.now_us += 1


def _complete(made: Grown) -> None:
    made.checkpoint += 1
    made.event("checkpoint-completed", checkpoint=made.checkpoint)


def _roll_back(made: Grown) -> None:
    made.now_us += 1
    n = made.event("global-rollback", checkpoint=made.checkpoint)["n"]
    made.lineage += 1
    made.waiting.clear()
    for task in made.tasks:
        made.now_us += made.draw.choice((0, 1))
        made.start(task, made.attempts[task] + 1, rollback=n)
        made.writer[task] = made.attempts[task]
    made.now_us += 1


def moments(made: Grown) -> Iterator[int]:
    """Every moment at which anything happens."""
    times = {one["t_us"] for one in made.events} | {row.t_us for row in (*made.held, *made.depended)}
    yield from sorted(times)
