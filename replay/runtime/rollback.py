"""Global rollback: every task begins again from the last completed checkpoint, and with it a new lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay.model import TaskId
from replay.runtime.attempt import Attempt

if TYPE_CHECKING:
    from replay.runtime.engine import Engine


def roll_back(engine: Engine, failure: int, why: str, re: int) -> None:
    """Ends every attempt, and starts all again together once each has its state."""
    checkpoint = engine.checkpoints.completed
    n = engine.event("global-rollback", re=re, failure=failure, checkpoint=checkpoint, why=why)
    engine.checkpoints.rolled_back(n)
    engine.links.close_all()
    attempts: list[Attempt] = []
    for task in engine.graph.tasks:
        old = engine.current[task.id]
        if old.alive:
            old.end()
        attempts.append(engine.deploy(task.id, old.number + 1, old.host, checkpoint, running=True))
    engine.failures.close()
    waiting = {attempt.task for attempt in attempts}
    for attempt in attempts:
        _restore(engine, attempt, checkpoint, n, waiting)


def _restore(engine: Engine, attempt: Attempt, checkpoint: int, re: int, waiting: set[TaskId]) -> None:
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
    attempt.deployed = False  # what is to strike it waits until it executes
    size = len(engine.checkpoints.state(attempt.task, checkpoint) or b"")
    fields = {"task": attempt.task, "checkpoint": checkpoint, "bytes": size}
    m = attempt.event("restore-started", re=n, **fields)

    def restored() -> None:
        attempt.event("state-restored", re=m, **fields)
        waiting.discard(attempt.task)
        if not waiting:
            engine.begin(checkpoint)

    engine.scheduler.after(engine.costs.deploy_us / 4 + engine.costs.download_us(size), restored)
