"""What if: forks of a replay, and the changes that apply at a step."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import P, QueryEx, Router, Status

from dashboard import forks
from dashboard.api.auth import caller
from dashboard.api.presenting import replay_detail, replay_out, visible_replay
from dashboard.api.schemas import Changes, Error, ForkIn, ReplayDetail, ReplayList

LAST_STEP = 2**53
router = Router(tags=["replays"])


@router.get("/replays/{replay_id}/forks", response={200: ReplayList, 404: Error})
def list_forks(request: HttpRequest, replay_id: str) -> dict[str, Any]:
    """A replay's forks, newest first."""
    replay = visible_replay(caller(request), replay_id)
    return {"replays": [replay_out(fork) for fork in replay.forks.select_related("owner")]}


@router.post("/replays/{replay_id}/forks", response={202: ReplayDetail, 404: Error, 409: Error, 422: Error})
def start_fork(request: HttpRequest, replay_id: str, asked: ForkIn) -> Status[dict[str, Any]]:
    """Forks the replay at a step with a change, see docs/forks.md."""
    user = caller(request)
    fork = forks.start(user, visible_replay(user, replay_id), asked.step, asked.change)
    return Status(202, replay_detail(fork))


@router.get("/replays/{replay_id}/changes", response={200: Changes, 404: Error, 409: Error, 422: Error})
def list_changes(request: HttpRequest, replay_id: str, step: QueryEx[int, P(ge=0, le=LAST_STEP)]) -> dict[str, Any]:
    """The changes that apply at a step."""
    replay = visible_replay(caller(request), replay_id)
    return {"step": step, "changes": [one.to_json() for one in forks.offered_at(replay, step)]}
