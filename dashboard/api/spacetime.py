"""The marks of a space-time diagram: the buffers of a window of time, put together where they are more than marks."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from ninja import Field, P, QueryEx, Router, Schema

from dashboard.api.auth import caller
from dashboard.api.presenting import visible_job
from dashboard.api.schemas import Error
from dashboard.api.tables import readable
from dashboard.problems import Problem
from dashboard.queries.graph import job_graph
from dashboard.queries.lake import lake
from dashboard.queries.spacetime.asked import named
from dashboard.queries.spacetime.cuts import cuts_of
from dashboard.queries.spacetime.fronts import fronts
from dashboard.queries.spacetime.lanes import Lanes
from dashboard.queries.spacetime.marks import Window, marks
from dashboard.queries.spacetime.reach import cone_of, reaches
from dashboard.queries.spacetime.selection import selected
from dashboard.queries.spacetime.through import through

router = Router(tags=["space-time"])
LAST_US = 2**53  # the largest number that every reader of JSON keeps exactly


class LaneOut(Schema):
    id: str
    vertex: str
    tasks: list[str]
    folded: bool = Field(description="whether the tasks of a vertex are one lane")


class FrontOut(Schema):
    checkpoint: int
    task: str
    attempt: int
    acknowledged_us: int
    first_us: int | None = Field(description="when its first barrier was taken; null where none is recorded")
    last_us: int | None
    barriers: int


class ReachOut(Schema):
    task: str
    attempt: int
    past_us: int | None = Field(description="all that the attempt did up to then came before what is selected")
    future_us: int | None = Field(description="all that it did from then on followed")
    whole_past: bool
    whole_future: bool = Field(description="all of the attempt followed")
    taken: int = Field(description="buffers that it took in the past")
    sent: int = Field(description="buffers that it cut in the future")


class SpaceTime(Schema):
    from_us: int
    to_us: int
    step_us: int = Field(description="buffers sent within so much time are one mark; 0: each is a mark of its own")
    buffers: int = Field(description="sendings in the window: the sum over all marks")
    lanes: list[LaneOut]
    pairs: list[tuple[int, int]] = Field(description="numbers of two lanes; `pair` of a mark is a place in this list")
    channels: list[str] = Field(description="`place` of a mark is a place in this list")
    marks: dict[str, list[int | None]] = Field(description="column by column")
    through: list[tuple[int, int, int, int]] = Field(
        description="ways through hidden tasks: a lane, when it sent, another one, and when that took what came out"
    )
    through_whole: bool = Field(description="false: they are too many to be told, or some are left out")
    fronts: list[FrontOut] = Field(description="barriers at tasks; empty where `fronts_count` is too many")
    fronts_count: int
    reach: list[ReachOut] = Field(description="causes and effects of `select`, by attempt")


class FlightOut(Schema):
    channel: str
    attempt: int
    first: int
    last: int


class CutOut(Schema):
    asked_us: int
    stands: list[tuple[int, int]] = Field(description="of each task its attempt, and the time at which it stands")
    in_flight: list[FlightOut] = Field(description="runs of buffers that were sent in it and not taken, at most 100")
    runs: int = Field(description="how many such runs there are")
    buffers: int = Field(description="how many buffers they hold")


class CutsOut(Schema):
    tasks: list[str]
    cuts: list[CutOut]
    unknown: int = Field(description="buffers that no member has: of those nothing is said")
    faults: list[str]


@router.get("/jobs/{job_id}/cuts", response={200: CutsOut, 404: Error, 409: Error, 422: Error})
def read_cuts(
    request: HttpRequest,
    job_id: str,
    from_us: QueryEx[int, P(ge=0, le=LAST_US)],
    to_us: QueryEx[int, P(ge=0, le=LAST_US)],
) -> dict[str, Any]:
    """Of times evenly over a window the latest consistent cut that is nowhere past each, with what is in flight."""
    job = visible_job(caller(request), job_id)
    readable(job)
    if to_us < from_us:
        raise Problem(422, "to_us: a window ends after it began.")
    return cuts_of(job, from_us=from_us, to_us=to_us)


@router.get("/jobs/{job_id}/spacetime", response={200: SpaceTime, 404: Error, 409: Error, 422: Error})
def read_spacetime(
    request: HttpRequest,
    job_id: str,
    from_us: QueryEx[int, P(ge=0, le=LAST_US)],
    to_us: QueryEx[int, P(ge=0, le=LAST_US)],
    folded: str | None = None,
    hidden: str = "",
    select: str = "",
) -> dict[str, Any]:
    """Sendings that were on their way between two moments, by pair of lanes. `folded` (vertices, with commas; without
    it those with too many tasks) are one lane each, `hidden` tasks none. Of `select`, a mark's name, how many of each
    mark came before it (`past`) and followed from it (`future`)."""
    job = visible_job(caller(request), job_id)
    readable(job)
    if to_us < from_us:
        raise Problem(422, "to_us: a window ends after it began.")
    found = job_graph(job.id)
    if found is None:
        raise Problem(409, "The job's bundle is gone from the store, so nobody knows its lanes.", code="not-ready")
    lanes = Lanes.of(found.graph, folded=None if folded is None else named(folded), hidden=named(hidden))
    one = selected(lake(), found.graph, job=job.id, name=select) if select else None
    if select and one is None:
        raise Problem(404, "select: the recording has no such buffer, failure or task.", code="no-such-mark")
    cone = cone_of(lake(), found.graph, job=job.id, one=one) if one else None
    inputs = {str(channel.id): str(channel.target) for channel, _, _ in lanes.channels()}
    barriers, count = fronts(lake(), job=job.id, inputs=inputs, from_us=from_us, to_us=to_us)
    place = lanes.of_tasks()
    window = Window(from_us, to_us)
    ways, whole = through(lake(), lanes, job=job.id, window=window)
    return {
        "from_us": from_us,
        "to_us": to_us,
        "lanes": lanes.for_script(),
        "fronts": [one for one in barriers if one["task"] in place],
        "fronts_count": count,
        "reach": [asdict(one) for one in reaches(lake(), found.graph, cone, job=job.id)] if cone else [],
        "through": ways,
        "through_whole": whole,
        **marks(lake(), lanes, job=job.id, window=window, cone=cone),
    }
