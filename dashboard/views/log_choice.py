"""What the log page's address asks for: a log, and which of its determinants."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest

from dashboard.queries.determinants import LogEpoch
from dashboard.queries.kinds import DETERMINANTS
from dashboard.queries.log_epochs import Choice
from dashboard.queries.log_filter import VALUES, LogFilter
from dashboard.views.parameters import integer, no_number, not_there, one_of, whole


def chosen_log(request: HttpRequest, task: str, choices: list[Choice]) -> LogEpoch | None:
    """What the address names, completed by the first log there is."""
    wanted = {
        "attempt": whole(request, "attempt"),
        "thread": request.GET.get("thread"),
        "epoch": whole(request, "epoch"),
    }
    left = choices
    for name, value in wanted.items():
        left = [one for one in left if value is None or getattr(one, name) == value] or left
    return LogEpoch(task, left[0].attempt, left[0].thread, left[0].epoch) if left else None


def not_in_log(request: HttpRequest, log: LogEpoch, choices: list[Choice]) -> list[str]:
    """What the address asks for beside the task that is not there, each among what the choices before it leave."""
    of_attempt = [one for one in choices if one.attempt == log.attempt]
    of_thread = [one for one in of_attempt if one.thread == log.thread]
    return [
        *not_there(
            request,
            attempt={one.attempt for one in choices},
            thread={one.thread for one in of_attempt},
            epoch={one.epoch for one in of_thread},
        ),
        *not_there(request, instead="here are all kinds", kind={one.name for one in DETERMINANTS}),
        *no_number(request, "seq", "at", "before", "channel", "size_from", "size_to", *VALUES),
    ]


def chosen_rows(request: HttpRequest, *, hidden: bool) -> LogFilter:
    """Where values are hidden nothing is asked of them: what is found would tell them."""
    values = {} if hidden else {name: integer(request, name) for name in VALUES}
    return LogFilter(
        kind=one_of(request, "kind", [one.name for one in DETERMINANTS]),
        channel=whole(request, "channel"),
        size_from=whole(request, "size_from"),
        size_to=whole(request, "size_to"),
        **values,
    )


def address_of(log: LogEpoch, wanted: LogFilter) -> str:
    """For links that keep both."""
    named = {"task": log.task, "attempt": log.attempt, "thread": log.thread, "epoch": log.epoch}
    return urlencode(named | wanted.given)
