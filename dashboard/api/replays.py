"""Replays: start, list, look, cancel, retry, delete."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from dashboard import elsewhere, jobs
from dashboard.api.auth import caller
from dashboard.api.presenting import own_replay, replay_detail, replay_out, visible_job, visible_replay
from dashboard.api.schemas import Error, ReplayDetail, ReplayIn, ReplayList
from dashboard.excerpts import excerpt
from dashboard.uploads.admission import admit, printable
from dashboard.uploads.landing import Landing
from dashboard.uploads.passage import Stage, passage_of

router = Router(tags=["replays"])
STEPS_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["steps"],
                    "properties": {"steps": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}


@router.get("/jobs/{job_id}/replays", response={200: ReplayList, 404: Error})
def list_replays(request: HttpRequest, job_id: str) -> dict[str, Any]:
    """A job's replays, newest first."""
    job = visible_job(caller(request), job_id)
    return {"replays": [replay_out(replay) for replay in job.replays.select_related("owner")]}


@router.post("/jobs/{job_id}/replays", response={202: ReplayDetail, 404: Error, 409: Error, 422: Error})
def start_replay(request: HttpRequest, job_id: str, asked: ReplayIn) -> Status[dict[str, Any]]:
    """Of a failure (with a task where several failed in one blow), or of one attempt of a task."""
    user = caller(request)
    job = visible_job(user, job_id)
    how = asked.on_divergence, asked.hunt, asked.until
    replay = jobs.start_replay(user, job, asked.task, asked.failure, asked.attempt, *how)
    return Status(202, replay_detail(replay))


@router.post(
    "/jobs/{job_id}/replays/steps",
    response={202: ReplayDetail, 204: None, **dict.fromkeys((404, 409, 411, 413, 415, 422, 503, 507), Error)},
    openapi_extra=STEPS_BODY,
)
def upload_steps(request: HttpRequest, response: HttpResponse, job_id: str) -> Status[Any]:
    """A replay that was made elsewhere, as `clonoscope replay --out` writes it; taken whole or not at all. A form that
    is sent to the job's replays themselves comes here too."""
    user, passage = caller(request), passage_of(request)
    job = visible_job(user, job_id)
    if passage.stage is Stage.ASKING:
        elsewhere.check(job, passage.announced_bytes)
        passage.landing = Landing(admit(user, "steps", passage.announced_bytes or 0), form=True)
        return Status(204, None)
    replay = elsewhere.take(user, job, passage.landed().path, printable(passage.name))
    response["Location"] = f"/replays/{replay.id}/"
    return Status(202, replay_detail(replay))


@router.get("/replays/{replay_id}", response={200: ReplayDetail, 404: Error})
def get_replay(request: HttpRequest, replay_id: str) -> dict[str, Any]:
    """One replay: its verdict, and what is being done about it now."""
    return replay_detail(visible_replay(caller(request), replay_id))


@router.get("/replays/{replay_id}/excerpt", response={404: Error, 409: Error, 422: Error, 503: Error})
def get_excerpt(request: HttpRequest, replay_id: str) -> HttpResponse:
    """The smallest bundle that diverges as this replay does, as a zip file; takes up to a minute."""
    return excerpt(visible_replay(caller(request), replay_id))


@router.delete("/replays/{replay_id}", response={204: None, 403: Error, 404: Error})
def delete_replay(request: HttpRequest, replay_id: str) -> Status[None]:
    """The replay and its steps. Who started it may, and the job's owner."""
    user = caller(request)
    jobs.delete_replay(own_replay(user, replay_id), user)
    return Status(204, None)


@router.post("/replays/{replay_id}/cancel", response={200: ReplayDetail, 403: Error, 404: Error, 409: Error})
def cancel_replay(request: HttpRequest, replay_id: str) -> dict[str, Any]:
    """Ends a replay that is queued or running."""
    user = caller(request)
    return replay_detail(jobs.cancel_replay(own_replay(user, replay_id), user))


@router.post("/replays/{replay_id}/retry", response={202: ReplayDetail, 403: Error, 404: Error, 409: Error})
def retry_replay(request: HttpRequest, replay_id: str) -> Status[dict[str, Any]]:
    """Replays once more what failed or was cancelled."""
    user = caller(request)
    return Status(202, replay_detail(jobs.retry_replay(own_replay(user, replay_id), user)))
