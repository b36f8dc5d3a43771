"""What can be done with the breakpoints of a replay; page and API both come through here; all who watch are told."""

from __future__ import annotations

from dashboard import kept
from dashboard.models import Breakpoint, Replay
from dashboard.models.breakpoints import MOST_BREAKPOINTS, MOST_LABEL
from dashboard.problems import Problem
from replay.debugger.searching.conditions import Search
from replay.debugger.searching.structured import read

NEWS = "breakpoints"


def add(replay: Replay, search: str, label: str = "", *, enabled: bool = True) -> Breakpoint:
    """Keeps a search with a replay. Raises `WrongSearch`, and `Refused` where there are too many."""
    search, label = _checked(search, label)
    with kept.one_more(replay, replay.breakpoints.all(), MOST_BREAKPOINTS, NEWS):
        return Breakpoint.objects.create(replay=replay, search=search, label=label, enabled=enabled)


def change(
    one: Breakpoint, *, search: str | None = None, label: str | None = None, enabled: bool | None = None
) -> Breakpoint:
    """Changes what is given; None leaves it."""
    one.search, one.label = _checked(one.search if search is None else search, one.label if label is None else label)
    one.enabled = one.enabled if enabled is None else enabled
    one.save(update_fields=["search", "label", "enabled"])
    kept.tell(one.replay_id, NEWS)
    return one


def delete(one: Breakpoint) -> None:
    kept.delete(one, NEWS)


def of(replay: Replay) -> list[Breakpoint]:
    return list(Breakpoint.objects.filter(replay=replay))


def enabled_of(replay: Replay) -> tuple[list[Breakpoint], list[Search]]:
    """Those at which one stops, and what each waits for."""
    found = [one for one in of(replay) if one.enabled]
    return found, [read(one.search) for one in found]


def _checked(search: str, label: str) -> tuple[str, str]:
    search, label = search.strip(), label.strip()
    read(search)
    if len(label) > MOST_LABEL:
        raise Problem(422, f"label: at most {MOST_LABEL} characters.")
    return search, label
