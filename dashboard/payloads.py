"""Who may see what a recording says, and not only that it is there: one rule a request, and every look kept.

A request begins with nothing open to it. Whoever finds a job for it admits its person to the job's payloads, or
doesn't; the readers of tables and steps that it then gets show values, or signs in their place. Outside of requests,
in commands and workers, all is open: who runs these reads the files themselves.
"""

from __future__ import annotations

import getpass
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from dashboard.models import Job, PayloadLook
from dashboard.problems import Problem
from ingest.lake.sealing import SIGN

# Of looks of one person at one thing the first is written, and then none for so long.
LOOK_ONCE_IN_S = 300.0
LOOKS_REMEMBERED = 10_000
# What of an address says what was looked at. Searches and prefixes may quote values, and are never kept.
TOLD = ("task", "attempt", "thread", "epoch", "batch")
CODE = "payloads-hidden"
REFUSED = (
    "This needs access to the payloads of job {job}, and you may only see that they are there. Its owner can give it."
)

_recent: OrderedDict[tuple[int, str, str], float] = OrderedDict()
_recent_lock = threading.Lock()


@dataclass(slots=True)
class Scope:
    """What one request may show, and has shown."""

    what: str
    user: Any = None
    open: set[str] = field(default_factory=set)
    looked: set[str] = field(default_factory=set)


_scope: ContextVar[Scope | None] = ContextVar("payloads", default=None)


@contextmanager
def closed(request: HttpRequest) -> Iterator[None]:
    """For a request: nothing is open until somebody is admitted."""
    told = {name: request.GET[name] for name in TOLD if name in request.GET}
    what = request.path + (f"?{urlencode(told)}" if told else "")
    token = _scope.set(Scope(what[:400]))
    try:
        yield
    finally:
        _scope.reset(token)


def admit(user: Any, jobs: Iterable[Job]) -> None:
    """Opens to this request those of the jobs whose payloads the user may see."""
    scope = _scope.get()
    if scope is None:
        return
    wanted = {job.id for job in jobs}
    scope.user = user
    scope.open -= wanted
    scope.open |= set(Job.objects.payloads_visible_to(user).filter(id__in=wanted).values_list("id", flat=True))


def may_show(job_id: str) -> bool:
    """Whether this request may show what the job says; asking is no look."""
    scope = _scope.get()
    return scope is None or job_id in scope.open


def opened(job_id: str) -> bool:
    """The same, by who then shows it: from here on it counts as looked at."""
    scope = _scope.get()
    if scope is None:
        return True
    if job_id not in scope.open:
        return False
    if job_id not in scope.looked:
        scope.looked.add(job_id)
        _note_once(scope.user, job_id, scope.what)
    return True


def require(job_id: str) -> None:
    """For what is nothing but payloads: raises Problem 403 where they are hidden."""
    if not opened(job_id):
        raise Problem(403, REFUSED.format(job=job_id), code=CODE)


def refuse_hidden(job_id: str, why: str) -> None:
    """For what would tell hidden values in another way: raises Problem 403."""
    if not may_show(job_id):
        raise Problem(403, f"{why} {REFUSED.format(job=job_id)}", code=CODE)


def shown_text(job_id: str, text: str) -> str:
    """A sentence that may quote values, or the sign in its place."""
    return text if not text or may_show(job_id) else SIGN


def shown_state(job_id: str, state: dict[str, Any] | None) -> dict[str, Any] | None:
    """Progress as a socket or a page tells it; its sentence may say why something failed."""
    return state if state is None or may_show(job_id) else sealed_state(state)


def sealed_state(state: dict[str, Any]) -> dict[str, Any]:
    sealed = {**state, "message": SIGN if state.get("message") else ""}
    return {**sealed, "audit": sealed_state(state["audit"])} if "audit" in state else sealed


def note_command(job_id: str, what: str) -> None:
    """A command that shows or gives out what a stored job says: by whoever runs it."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = "somebody"
    PayloadLook.objects.create(job_id=job_id, who=f"{name}, at the command line", what=what[:400])


def _note_once(user: Any, job_id: str, what: str) -> None:
    """Before anything is shown: where it can't be written, nothing is."""
    key, now_s = (user.pk, job_id, what), time.monotonic()
    with _recent_lock:
        last_s = _recent.get(key)
        if last_s is not None and now_s - last_s < LOOK_ONCE_IN_S:
            return
    PayloadLook.objects.create(job_id=job_id, user=user, who=user.get_username(), what=what)
    with _recent_lock:
        _recent[key] = now_s
        _recent.move_to_end(key)
        while len(_recent) > LOOKS_REMEMBERED:
            _recent.popitem(last=False)


def forget_recent() -> None:
    """So that the next look of everybody is written: for tests, whose databases begin anew."""
    with _recent_lock:
        _recent.clear()
