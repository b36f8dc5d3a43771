"""Progress: into the work row at most once a second, and to whoever watches through the channel layer."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any

from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings

from dashboard.models import Job, Replay, Work

log = logging.getLogger("clonoscope.progress")
_loop: asyncio.AbstractEventLoop | None = None
_loop_lock = threading.Lock()

MESSAGE_TYPE = "progress"


def group_of(target: str) -> str:
    """The channel group of a job or replay; their ids tell them apart."""
    return f"{'replay' if target.startswith('r_') else 'job'}.{target}"


def state_of(target: str) -> dict[str, Any] | None:
    """What a socket says on connect and after every change: the whole state, from the database."""
    model: type[Job] | type[Replay] = Replay if target.startswith("r_") else Job
    row = model.objects.filter(id=target).values("status", "message").first()
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


async def current_state(target: str) -> dict[str, Any] | None:
    return await sync_to_async(state_of)(target)


def push_state(target: str) -> None:
    """After a change of status; call it on commit."""
    state = state_of(target)
    if state is not None:
        push(target, state)


def push(target: str, state: dict[str, Any]) -> None:
    loop = _server_loop()
    if loop is None:
        return
    layer = get_channel_layer()
    _submit(layer.group_send(group_of(target), {"type": MESSAGE_TYPE, "state": state}), loop)


def use_loop(loop: asyncio.AbstractEventLoop | None) -> None:
    """The server's own loop: the in-memory layer reaches only sockets that live in it."""
    global _loop
    _loop = loop


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
