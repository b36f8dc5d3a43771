"""Progress: into the work row at most once a second, and to whoever watches through the channel layer."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from channels.layers import get_channel_layer
from django.conf import settings
from django.db.models.functions import Now

from dashboard.models import Status, Work
from dashboard.models.audits import job_of_audit
from dashboard.models.targets import model_of

if TYPE_CHECKING:
    from dashboard.work.claim import Claim

log = logging.getLogger("clonoscope.progress")
_loop: asyncio.AbstractEventLoop | None = None
_loop_lock = threading.Lock()

MESSAGE_TYPE = "progress"
NEWS_TYPE = "news"
ROW_EVERY_S = 1.0
PUSH_EVERY_S = 0.2


def group_of(target: str) -> str:
    """The channel group of a job or replay; their ids tell them apart. Who watches a job hears of its audit."""
    if target.startswith("a_"):
        target = job_of_audit(target)
    return f"{'replay' if target.startswith('r_') else 'job'}.{target}"


def state_of(target: str) -> dict[str, Any] | None:
    """What a socket says on connect and after every change: the whole state, from the database."""
    model = model_of(target)
    row = model.objects.filter(id=target).values("status", "message").first() if model else None
    if row is None:
        return None
    work = Work.objects.filter(target=target).exclude(kind=Work.Kind.DEMO).order_by("-id").first()
    running = work is not None and work.state == Work.State.RUNNING
    return {
        "status": row["status"],
        "phase": work.phase if work and running else "",
        "done": work.done if work and running else 0,
        "total": work.total if work and running else 0,
        "unit": work.unit if work and running else "",
        "message": (work.message if work and running and work.message else row["message"]),
    }


def push_state(target: str) -> None:
    """After a change of status; call it on commit."""
    state = state_of(target)
    if state is not None:
        push(target, state)


def push(target: str, state: dict[str, Any]) -> None:
    said = {**(state_of(job_of_audit(target)) or {}), "audit": state} if target.startswith("a_") else state
    send(group_of(target), {"type": MESSAGE_TYPE, "state": said})


def tell_news(target: str, what: str) -> None:
    """To all who watch it: `what` (its notes, its breakpoints) was changed by somebody; call it on commit."""
    send(group_of(target), {"type": NEWS_TYPE, "news": what})


def send(group: str, message: dict[str, Any]) -> None:
    """To every socket of a group, without waiting for it."""
    loop = _server_loop()
    if loop is None:
        return
    layer = get_channel_layer()
    _submit(layer.group_send(group, message), loop)


def use_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    """The server's own loop: the in-memory layer reaches only sockets that live in it."""
    global _loop
    _loop = loop


async def use_running_loop() -> None:
    use_loop(asyncio.get_running_loop())


def _server_loop() -> asyncio.AbstractEventLoop | None:
    """In a process without a server, a loop of its own if Redis carries the message; else nobody could listen."""
    global _loop
    with _loop_lock:
        if _loop is None and settings.REDIS_URL:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="progress", daemon=True).start()
    return _loop


def _submit(sending: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
    if loop.is_closed():
        sending.close()
        return
    # async_to_sync would cost this thread 65 ms a message; nobody waits for the result here.
    asyncio.run_coroutine_threadsafe(sending, loop).add_done_callback(_report)


def _report(done: Any) -> None:
    if not done.cancelled() and done.exception() is not None:
        log.warning("progress could not be pushed: %s", done.exception())


class Reporter:
    """What a child tells, passed on; the row at most once a second, watchers a few times a second."""

    def __init__(self, held: Claim) -> None:
        self._held = held
        self._told = self._pushed = -ROW_EVERY_S
        self._phase = ""

    def report(self, phase: str, done: int, total: int, unit: str, message: str) -> None:
        now, changed = time.monotonic(), phase != self._phase
        self._phase = phase
        if changed or now - self._pushed >= PUSH_EVERY_S:
            self._pushed = now
            state = {"status": Status.RUNNING.value, "phase": phase, "done": done, "total": total, "unit": unit}
            push(self._held.target, {**state, "message": message})
        if now - self._told >= ROW_EVERY_S:
            self._told = now
            self._held.rows().update(
                phase=phase[:64], done=done, total=total, unit=unit[:32], message=message, updated_at=Now()
            )
