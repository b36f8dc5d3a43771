"""Ending work of this process without waiting for its next look at the row."""

from __future__ import annotations

import threading

_lock = threading.Lock()
_running: dict[int, threading.Event] = {}


def listen(work_id: int) -> threading.Event:
    """The event that `ask` sets for this work."""
    with _lock:
        return _running.setdefault(work_id, threading.Event())


def forget(work_id: int) -> None:
    with _lock:
        _running.pop(work_id, None)


def ask(work_ids: list[int]) -> None:
    """Sets the events of those that run here; the others' processes notice at their next look at the row."""
    with _lock:
        events = [_running[work_id] for work_id in work_ids if work_id in _running]
    for event in events:
        event.set()
