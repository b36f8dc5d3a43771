"""Global rollback: every task begins again from the last completed checkpoint, and with it a new lineage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from replay.model import TaskId
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.failing.hosts import Seat

if TYPE_CHECKING:
    from replay.runtime.engine import Engine


def roll_back(engine: Engine, failure: int, why: str, re: int, *, start_us: float | None = None) -> None:
    """Ends every attempt, and starts all again together once each has its state.

    `start_us`: how long until an attempt can begin to load it; without, hosts and processes are kept as they are.
    """
    checkpoint = engine.checkpoints.completed
    n = engine.event("global-rollback", re=re, failure=failure, checkpoint=checkpoint, why=why)
    engine.checkpoints.rolled_back(n)
    engine.links.close_all()
    attempts: list[Attempt] = []
    for task in engine.graph.tasks:
        old = engine.current[task.id]
        if old.counts:
            old.end()  # one that is fenced can't be reached
        seat = engine.failures.placement.kept(old)
        attempt = engine.deploy(task.id, old.number + 1, old.host, checkpoint, running=True)
        attempt.deployed = False  # what is to strike it waits until it executes
        attempt.seat = seat
        attempts.append(attempt)
    start_us = engine.costs.deploy_us / 4 if start_us is None else start_us
    engine.world.rolled_back()
    waiting = {attempt.task for attempt in attempts}
    for attempt in attempts:
        _seat(engine, attempt, partial(_restore, engine, attempt, checkpoint, n, waiting, start_us))


def _seat(engine: Engine, attempt: Attempt, seated: Callable[[], None]) -> None:
    """Its predecessor's slot is kept where there is one; else it waits for another."""

    def granted(seat: Seat) -> None:
        attempt.seat = seat
        attempt.host = seat.host
        seated()

    if attempt.seat is not None:
        granted(attempt.seat)
    else:
        engine.failures.placement.ask(
            attempt.task, granted, wanted=lambda: engine.current[attempt.task] is attempt and attempt.alive
        )
        engine.failures.hosts.serve()


def _restore(engine: Engine, attempt: Attempt, checkpoint: int, re: int, waiting: set[TaskId], start_us: float) -> None:
    n = engine.event(
        "attempt-started",
        re=re,
        task=attempt.task,
        attempt=attempt.number,
        host=attempt.host,
        standby=False,
        checkpoint=checkpoint,
        rollback=re,
    )
    attempt.state_cause = n
    size = engine.checkpoints.state_bytes(attempt.task, checkpoint)
    fields = {"task": attempt.task, "checkpoint": checkpoint, "bytes": size}

    def deployed() -> None:
        m = attempt.event("restore-started", re=n, **fields)
        engine.scheduler.after(engine.costs.download_us(size), lambda: restored(m))

    def restored(m: int) -> None:
        attempt.event("state-restored", re=m, **fields)
        waiting.discard(attempt.task)
        if not waiting:
            engine.failures.close()
            engine.begin(checkpoint)

    engine.scheduler.after(start_us, deployed)
