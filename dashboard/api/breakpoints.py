"""Breakpoints kept with a replay, and moving over its steps by words."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja import P, QueryEx, Router, Status

from dashboard import breakpoints
from dashboard.api.auth import caller
from dashboard.api.failures import problem_of
from dashboard.api.presenting import own_replay, visible_replay
from dashboard.api.schemas import (
    BreakpointChange,
    BreakpointIn,
    BreakpointList,
    BreakpointOut,
    Error,
    Landing,
)
from dashboard.api.steps import LAST_STEP, READ
from dashboard.models import Breakpoint
from dashboard.models.status import PENDING
from dashboard.problems import not_found
from dashboard.queries import moving, steps
from dashboard.sealing import shown_breakpoint
from replay.debugger.searching.conditions import WrongSearch
from replay.debugger.searching.structured import MOST_TEXT

router = Router(tags=["steps"])
WRITE = {403: Error, 404: Error, 409: Error, 422: Error}
CHANGE = "change its breakpoints"


@router.get("/replays/{replay_id}/go", response={200: Landing, **READ})
def go(
    request: HttpRequest,
    replay_id: str,
    to: QueryEx[str, P(min_length=1, max_length=MOST_TEXT, description="`over record`, `5.2 s`, `continue`, …")],
    step: QueryEx[int, P(ge=0, le=LAST_STEP)] = 0,
    lenient: QueryEx[bool, P(description="tell words that cannot be read as ones that lead nowhere")] = False,
) -> dict[str, Any]:
    """Where words lead from a step: to a number, time, epoch, record or state, over, out, to a breakpoint, to a hit."""
    replay = visible_replay(caller(request), replay_id)
    kept, searches = breakpoints.enabled_of(replay)
    with steps.reading(replay) as written:
        steps.check_written(written, step)
        row = written.step(step)
        try:
            landing = moving.moved(written, row or {}, to, searches, growing=replay.status in PENDING)
        except WrongSearch as wrong:
            if not lenient:
                raise
            landing = moving.Landing(None, problem_of(wrong).message)
        found = None if landing.step is None else written.step(landing.step)
    why = "" if found else landing.why
    return {"step": found, "why": why, "instead": landing.instead, "breakpoints": [kept[i].pk for i in landing.hit]}


@router.get("/replays/{replay_id}/breakpoints", response={200: BreakpointList, 404: Error})
def list_breakpoints(request: HttpRequest, replay_id: str) -> dict[str, Any]:
    """Those kept with a replay, oldest first."""
    replay = visible_replay(caller(request), replay_id)
    return {"breakpoints": [breakpoint_out(one) for one in breakpoints.of(replay)]}


@router.post("/replays/{replay_id}/breakpoints", response={201: BreakpointOut, **WRITE})
def add_breakpoint(request: HttpRequest, replay_id: str, asked: BreakpointIn) -> Status[dict[str, Any]]:
    """Keeps a search. Who started the replay may, and the job's owner."""
    replay = own_replay(caller(request), replay_id, CHANGE)
    return Status(201, breakpoint_out(breakpoints.add(replay, asked.search, asked.label, enabled=asked.enabled)))


@router.patch("/replays/{replay_id}/breakpoints/{breakpoint_id}", response={200: BreakpointOut, **WRITE})
def change_breakpoint(
    request: HttpRequest, replay_id: str, breakpoint_id: int, asked: BreakpointChange
) -> dict[str, Any]:
    """Switches it on or off, or gives it another search or label."""
    one = _kept(caller(request), replay_id, breakpoint_id)
    return breakpoint_out(breakpoints.change(one, search=asked.search, label=asked.label, enabled=asked.enabled))


@router.delete("/replays/{replay_id}/breakpoints/{breakpoint_id}", response={204: None, 403: Error, 404: Error})
def delete_breakpoint(request: HttpRequest, replay_id: str, breakpoint_id: int) -> Status[None]:
    """Takes it away."""
    breakpoints.delete(_kept(caller(request), replay_id, breakpoint_id))
    return Status(204, None)


def breakpoint_out(one: Breakpoint) -> dict[str, Any]:
    one = shown_breakpoint(one, one.replay.job_id)
    return {
        "id": one.pk,
        "search": one.search,
        "label": one.label,
        "enabled": one.enabled,
        "created_at": one.created_at,
    }


def _kept(user: User, replay_id: str, breakpoint_id: int) -> Breakpoint:
    found = own_replay(user, replay_id, CHANGE).breakpoints.filter(pk=breakpoint_id).first()
    if found is None:
        raise not_found()
    return found
