"""What can be done with the breakpoints of a replay; page and API both come through here; all who watch are told."""

from __future__ import annotations

from django.db import transaction

from dashboard.jobs import Refused
from dashboard.models import Breakpoint, Replay
from dashboard.models.breakpoints import MOST_BREAKPOINTS, MOST_LABEL
from dashboard.problems import Problem
from dashboard.progress import tell_news
from replay.debugger.searching.conditions import Search
from replay.debugger.searching.structured import read

NEWS = "breakpoints"


def add(replay: Replay, search: str, label: str = "", *, enabled: bool = True) -> Breakpoint:
    """Keeps a search with a replay. Raises `WrongSearch`, and `Refused` where there are too many."""
    search, label = _checked(search, label)
    with transaction.atomic():
        Replay.objects.select_for_update().get(id=replay.id)
        if Breakpoint.objects.filter(replay=replay).count() >= MOST_BREAKPOINTS:
            raise Refused(
                f"A replay keeps at most {MOST_BREAKPOINTS} breakpoints. Delete one that is no longer needed."
            )
        _tell(replay.id)
        return Breakpoint.objects.create(replay=replay, search=search, label=label, enabled=enabled)


def change(
    kept: Breakpoint, *, search: str | None = None, label: str | None = None, enabled: bool | None = None
) -> Breakpoint:
    """Changes what is given; None leaves it."""
    kept.search, kept.label = _checked(
        kept.search if search is None else search, kept.label if label is None else label
    )
    kept.enabled = kept.enabled if enabled is None else enabled
    kept.save(update_fields=["search", "label", "enabled"])
    _tell(kept.replay_id)
    return kept


def delete(kept: Breakpoint) -> None:
    replay_id = kept.replay_id
    kept.delete()
    _tell(replay_id)


def of(replay: Replay) -> list[Breakpoint]:
    return list(Breakpoint.objects.filter(replay=replay))


def enabled_of(replay: Replay) -> tuple[list[Breakpoint], list[Search]]:
    """Those at which one stops, and what each waits for."""
    found = [one for one in of(replay) if one.enabled]
    return found, [read(one.search) for one in found]


def _tell(replay_id: str) -> None:
    transaction.on_commit(lambda: tell_news(replay_id, NEWS))


def _checked(search: str, label: str) -> tuple[str, str]:
    search, label = search.strip(), label.strip()
    read(search)
    if len(label) > MOST_LABEL:
        raise Problem(422, f"label: at most {MOST_LABEL} characters.")
    return search, label
