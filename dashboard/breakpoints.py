"""What can be done with the breakpoints of a replay; page and API both come through here; all who watch are told."""

from __future__ import annotations

from dashboard import kept, payloads
from dashboard.models import Breakpoint, Replay
from dashboard.models.breakpoints import MOST_BREAKPOINTS, MOST_LABEL
from dashboard.problems import Problem
from replay.debugger.searching.conditions import Search, asks_for_values
from replay.debugger.searching.structured import read

NEWS = "breakpoints"


def add(replay: Replay, search: str, label: str = "", *, enabled: bool = True) -> Breakpoint:
    """Keeps a search with a replay. Raises `WrongSearch`, and `Refused` where there are too many."""
    search, label = _checked(replay.job_id, search, label)
    with kept.one_more(replay, replay.breakpoints.all(), MOST_BREAKPOINTS, NEWS):
        return Breakpoint.objects.create(replay=replay, search=search, label=label, enabled=enabled)


def change(
    one: Breakpoint, *, search: str | None = None, label: str | None = None, enabled: bool | None = None
) -> Breakpoint:
    """Changes what is given; None leaves it."""
    wanted = one.search if search is None else search, one.label if label is None else label
    one.search, one.label = _checked(one.replay.job_id, *wanted, asked=search is not None)
    one.enabled = one.enabled if enabled is None else enabled
    one.save(update_fields=["search", "label", "enabled"])
    kept.tell(one.replay_id, NEWS)
    return one


def delete(one: Breakpoint) -> None:
    kept.delete(one, NEWS)


def of(replay: Replay) -> list[Breakpoint]:
    return list(Breakpoint.objects.filter(replay=replay).select_related("replay"))


def enabled_of(replay: Replay) -> tuple[list[Breakpoint], list[Search]]:
    """Those at which one stops, and what each waits for."""
    found = [(one, read(one.search)) for one in of(replay) if one.enabled]
    if not payloads.may_show(replay.job_id):
        # Where these stop would tell of values.
        found = [(one, search) for one, search in found if not asks_for_values(search)]
    return [one for one, _ in found], [search for _, search in found]


def _checked(job_id: str, search: str, label: str, *, asked: bool = True) -> tuple[str, str]:
    search, label = search.strip(), label.strip()
    if asks_for_values(read(search)) and asked:
        payloads.refuse_hidden(job_id, "This search compares values.")
    if len(label) > MOST_LABEL:
        raise Problem(422, f"label: at most {MOST_LABEL} characters.")
    return search, label
