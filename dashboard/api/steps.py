"""The steps of a replay: ranges, the state after a step, why it happened, what it caused, and finding steps."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import P, QueryEx, Router

from dashboard import payloads
from dashboard.api.auth import caller
from dashboard.api.failures import problem_of
from dashboard.api.presenting import visible_replay
from dashboard.api.schemas import Effects, Error, Found, HitsLine, StatePage, StepPage, Why
from dashboard.api.streams import streamed
from dashboard.models import Replay
from dashboard.problems import Problem
from dashboard.queries import effects, find, hits, state, steps, why
from dashboard.queries.of_task import open_orders
from replay.debugger.searching.conditions import WrongSearch, asks_for_values
from replay.debugger.searching.structured import MOST_TEXT, read

router = Router(tags=["steps"])
MOST_STEPS = 1000
LAST_STEP = 2**53  # the largest number that every reader of JSON keeps exactly
READ = {404: Error, 409: Error, 422: Error}


@router.get("/replays/{replay_id}/steps", response={200: StepPage, **READ})
def read_steps(
    request: HttpRequest,
    replay_id: str,
    first: QueryEx[int, P(alias="from", ge=0, le=LAST_STEP)] = 0,
    end: QueryEx[int | None, P(alias="to", ge=0, le=LAST_STEP)] = None,
) -> dict[str, Any]:
    """Steps `from` (inclusive) to `to` (exclusive), at most 1,000."""
    replay = _visible(request, replay_id)
    end = first + MOST_STEPS if end is None else end
    if end - first > MOST_STEPS:
        raise Problem(422, f"to: at most {MOST_STEPS} steps at once; ask for {first} to {first + MOST_STEPS}.")
    with steps.reading(replay) as written:
        unproven = [asdict(one) for one in open_orders(written, first, end).values()]
        return {"steps": written.between(first, end), "written": written.steps, "open_orders": unproven}


@router.get("/replays/{replay_id}/state", response={200: StatePage, **READ})
def read_state(
    request: HttpRequest,
    replay_id: str,
    step: QueryEx[int, P(ge=0, le=LAST_STEP)],
    prefix: QueryEx[str, P(max_length=1000)] = "",
    cursor: str = "",
    limit: QueryEx[int, P(ge=1, le=1000)] = 200,
) -> dict[str, Any]:
    """The state after a step: the last value of every key that begins with `prefix`."""
    replay = _visible(request, replay_id)
    if prefix:
        payloads.refuse_hidden(replay.job_id, "Keys are values.")
    with steps.reading(replay) as written:
        steps.check_written(written, step)
        entries, following = state.after(written, step, prefix, cursor, limit)
    return {"step": step, "entries": entries, "cursor": following}


@router.get("/replays/{replay_id}/why", response={200: Why, **READ})
def read_why(
    request: HttpRequest,
    replay_id: str,
    step: QueryEx[int, P(ge=0, le=LAST_STEP)],
    depth: QueryEx[int, P(ge=1, le=50)] = 12,
) -> dict[str, Any]:
    """What caused a step, and what caused that, back to the recording."""
    replay = _visible(request, replay_id)
    with steps.reading(replay) as written:
        steps.check_written(written, step)
        return why.chain(written, replay.job_id, step, depth)


@router.get("/replays/{replay_id}/effects", response={200: Effects, **READ})
def read_effects(
    request: HttpRequest,
    replay_id: str,
    step: QueryEx[int, P(ge=0, le=LAST_STEP)],
    depth: QueryEx[int, P(ge=1, le=50)] = 1,
) -> dict[str, Any]:
    """The steps that a step caused; with `depth`, what these caused too."""
    replay = _visible(request, replay_id)
    with steps.reading(replay) as written:
        steps.check_written(written, step)
        return {"step": step, **effects.of(written, step, depth=depth)}


Searched = P(
    min_length=1,
    max_length=MOST_TEXT,
    description="a search, see docs/search.md: `kind = deliver-record and epoch >= 3`; or the same as JSON",
)


@router.get("/replays/{replay_id}/find", response={200: Found, **READ})
def find_step(
    request: HttpRequest,
    replay_id: str,
    after: QueryEx[int | None, P(ge=-1, le=LAST_STEP)] = None,
    before: QueryEx[int | None, P(ge=0, le=LAST_STEP)] = None,
    where: QueryEx[str, Searched] = "{}",
) -> dict[str, Any]:
    """The next step after one, or the last before one, at which a search hits. Null where none does."""
    if (after is None) == (before is None):
        raise Problem(422, "Say after which step to look, or before which: one of the two.")
    replay = _visible(request, replay_id)
    with steps.reading(replay) as written:
        return {"step": find.nearest(written, after=after, before=before, where=where)}


@router.get("/replays/{replay_id}/hits", response={200: HitsLine, **READ})
def find_all(
    request: HttpRequest,
    replay_id: str,
    where: QueryEx[str, Searched],
    bins: QueryEx[int, P(ge=1, le=hits.MOST_BINS)] = 720,
    lenient: QueryEx[
        bool, P(description="tell a search that cannot be read in a line, as to whoever types it")
    ] = False,
) -> StreamingHttpResponse:
    """All hits, by place, as they are found: one JSON object a line, the last with how many there are."""
    replay = _visible(request, replay_id)
    try:
        search = read(where)
    except WrongSearch as wrong:
        if not lenient:
            raise
        return streamed(line for line in (problem_of(wrong).body(),))
    if asks_for_values(search):
        payloads.refuse_hidden(replay.job_id, "This search compares values.")
    with steps.reading(replay) as written:
        return streamed(hits.all_hits(written, search, bins))


def _visible(request: HttpRequest, replay_id: str) -> Replay:
    return visible_replay(caller(request), replay_id)
