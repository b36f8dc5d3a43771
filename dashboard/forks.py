"""Forks of replays: what if a step had gone otherwise. A fork is a replay of its own, with a parent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from dashboard import joblog
from dashboard.jobs import Refused
from dashboard.models import Job, Replay, Work
from dashboard.models.status import READABLE
from dashboard.own_code import runs_elsewhere
from dashboard.problems import Problem
from dashboard.queries.graph import job_graph
from dashboard.queries.steps import reading
from dashboard.work.queue import enqueue
from ingest.lake.step_reader import StepReader
from replay.debugger.forks.changes import MOST_CHANGES, change_of, change_to_json
from replay.debugger.forks.offers import Offer, offers
from replay.errors import WrongSetting

MOST_FORKS = 1000
_OWN_SQL = "SELECT count(*) FROM steps WHERE task = $task AND step < $step AND actor <> 'coordinator'"
_NUMBER_SQL = """
SELECT step FROM steps WHERE task = $task AND actor <> 'coordinator' ORDER BY step LIMIT 1 OFFSET $number
"""
FORKABLE = ("identical", "free", "forked", "diverged")


def start(user: Any, parent: Replay, step: int, change: Any) -> Replay:
    """Queues a fork of a replay at a step; whoever may see the job may ask for one."""
    try:
        meant = change_to_json(change_of(change))
    except WrongSetting as wrong:
        raise Problem(422, str(wrong)) from None
    if "\\u0000" in json.dumps(meant):
        raise Problem(422, "A change holds no NUL character; leave it out.")
    job_graph(parent.job_id)  # kept at hand: within the transaction a bucket would hold others up
    with transaction.atomic():
        # The row itself: the caller's may say less than it.
        parent = Replay.objects.select_related("parent").get(id=parent.id)
        job = Job.objects.select_for_update().get(id=parent.job_id)
        if job.status not in READABLE:
            raise Refused(f"The job is {job.status}; a fork needs its tables.")
        _check_parent(parent, step)
        task, failure, own = _of_one(parent, step)
        _check_applies(parent, step, meant["change"])
        fork = Replay.objects.create(
            job=job,
            owner=user,
            task=task,
            failure=failure,
            attempt=parent.attempt,
            until=parent.until,
            parent=parent,
            before=parent.chain,
            diverged_at=parent.diverged_at if parent.change is not None else _diverged_at(parent),
            fork_step=step,
            own_step=own,
            change=meant,
        )
        enqueue(Work.Kind.REPLAY, fork.id)
    joblog.write(job.id, f"Replay {fork.id} queued: a fork of {parent.id} at step {step}, {meant['change']}.")
    return fork


def _check_applies(parent: Replay, step: int, change: str) -> None:
    """Refused at once, where the step alone shows that the fork would fail."""
    there = list(dict.fromkeys(one.change for one in offered_at(parent, step)))
    if change not in there:
        applies = f"what applies there is {', '.join(there)}" if there else "nothing applies there"
        raise Problem(422, f"At step {step} the change {change} does not apply: {applies}; fork at another step.")


def _of_one(parent: Replay, step: int) -> tuple[str, int | None, int | None]:
    """(task, failure, step) of the replay that is forked; of several together the one that does the step, as its own
    replay numbers it."""
    if not parent.tasks:
        return parent.task, parent.failure, None
    with reading(parent) as written:
        row = written.step(step)
        if row is None or row["actor"] == "coordinator":
            raise Problem(422, f"At step {step} no task does anything; fork at another.")
        ((own,),) = written.rows(_OWN_SQL, {"task": row["task"], "step": step})
    for one in sorted((one for one in parent.tasks if one["task"] == row["task"]), key=lambda one: one["attempt"]):
        if own < one["steps"]:
            return row["task"], one["failure"], own
        own -= one["steps"]
    raise Problem(422, f"Step {step} is of no attempt of {row['task']}; replay that task alone, and fork that.")


def steps_in_parent(fork: Replay, steps: Iterable[int]) -> dict[int, int]:
    """Of recoveries replayed together: how the parent numbers the steps that its task's own replay numbers so."""
    if fork.own_step is None or fork.parent is None:
        return {}
    with reading(fork.parent) as written:
        row = written.step(fork.fork_step or 0)
        if row is None:
            return {}
        ((own,),) = written.rows(_OWN_SQL, {"task": row["task"], "step": row["step"]})
        skipped = own - fork.own_step
        found = {
            one: written.rows(_NUMBER_SQL, {"task": row["task"], "number": skipped + one}) for one in sorted({*steps})
        }
    return {one: rows[0][0] for one, rows in found.items() if rows}


def _check_parent(parent: Replay, step: int) -> None:
    if len(parent.chain) >= MOST_CHANGES:
        raise Refused(f"{len(parent.chain)} forks stand one on another here; fork one of those before it.")
    if parent.elsewhere:
        raise Refused("This replay was made elsewhere, where the job's code is; here it can't be forked.")
    graph = job_graph(parent.job_id)
    if graph is not None and runs_elsewhere(graph.manifest):
        raise Refused("Its log was walked, and nothing of it executed: the job's own code is not here to go otherwise.")
    if parent.status not in READABLE or parent.verdict not in FORKABLE:
        came = parent.verdict or parent.status
        raise Refused(f"This replay is {came}; what its forks would begin from is not known.")
    if step >= parent.steps:
        raise Problem(422, f"This replay has no step {step}; its steps go from 0 to {parent.steps - 1}.")
    begins, diverges = begins_at(parent), _diverged_at(parent)
    if begins is not None and step <= begins:
        raise Problem(422, f"This fork begins at step {begins}; fork its parent there, and then the fork of that.")
    if diverges is not None and step >= diverges:
        raise Refused(f"This replay diverges at step {diverges}; fork it before that.")
    if parent.forks.count() >= MOST_FORKS:
        raise Refused(f"This replay has {MOST_FORKS:,} forks; delete one that is no longer needed.")


def begins_at(replay: Replay) -> int | None:
    """Of a fork, the step that says so."""
    told = replay.detail.get("fork")
    return told.get("step", replay.fork_step) if isinstance(told, dict) else replay.fork_step


def _diverged_at(replay: Replay) -> int | None:
    """The step of the first divergence; of one that diverged before there was any, the first step."""
    if replay.verdict != "diverged":
        return None
    step = replay.detail.get("step")
    return step if type(step) is int else 0


def offered(replay: Replay, written: StepReader, step: int) -> list[Offer]:
    """The changes that apply at a step; none where the replay can't be forked."""
    graph = job_graph(replay.job_id)
    try:
        _check_parent(replay, step)
    except (Refused, Problem):
        return []
    row = written.step(step)
    if graph is None or row is None:
        return []
    determinant, value = _taken(written, row)
    return offers(graph.graph, row["task"], row, determinant, value, recovery=replay.failure is not None)


def offered_at(replay: Replay, step: int) -> list[Offer]:
    with reading(replay) as written:
        return offered(replay, written, step)


def _taken(written: StepReader, row: dict[str, Any]) -> tuple[str | None, Any]:
    """What the step takes from the log; a delivery has its order determinant a step or two before it."""
    first = row["step"] - (2 if row["kind"] == "take-buffer" else 0)
    rows = written.rows(
        "SELECT determinant, value FROM taken WHERE step >= $first AND step <= $step ORDER BY step DESC LIMIT 1",
        {"first": first, "step": row["step"]},
    )
    if not rows or (row["kind"] == "take-buffer" and rows[0][0] != "order"):
        return None, None
    return rows[0][0], rows[0][1]
