"""What keeps a child from outliving its parent: commands come over standard input, and its end is the child's end."""

from __future__ import annotations

import json
import logging
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

Command = dict[str, Any]
LOOK_MS = 500
TELL_EVERY_S = 0.2


class Lifeline:
    """Reads JSON lines from standard input in a thread. `on_end` runs when the parent closes it or is gone.

    The parent's id is watched besides: another process may have inherited the pipe's other end.
    """

    def __init__(self, on_command: Callable[[Command], None], on_end: Callable[[], None]) -> None:
        self._on_command = on_command
        self._on_end = on_end
        self._parent = os.getppid()
        self._pending = b""

    def start(self) -> None:
        threading.Thread(target=self._watch, name="lifeline", daemon=True).start()

    def _watch(self) -> None:
        try:
            while self._read():
                pass
        finally:
            self._on_end()

    def _read(self) -> bool:
        poller = select.poll()
        poller.register(0, select.POLLIN | select.POLLHUP)
        if not poller.poll(LOOK_MS):
            return os.getppid() == self._parent
        chunk = os.read(0, 1 << 16)
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        for line in lines:
            self._on_command(json.loads(line))
        return bool(chunk)


def only_command() -> Command:
    """The one that a child is made for; from here on its parent's end is its own, whatever it is at."""
    commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
    Lifeline(commands.put, lambda: os._exit(0)).start()
    return commands.get()


def log_to_standard_error() -> None:
    """Which the parent keeps as the log."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


class Answers:
    """The child's end of the pipe to its parent. Standard output itself goes to the log, for whoever prints."""

    def __init__(self, log: int | None = None) -> None:
        self._pipe: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._lock = threading.Lock()
        os.dup2(2 if log is None else log, 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)

    def send(self, **message: Any) -> None:
        with self._lock:
            self._pipe.write(json.dumps(message) + "\n")
            self._pipe.flush()


class Teller:
    """Passes progress on, not more often than anyone could look at it."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._told_s = 0.0

    def __call__(self, phase: str, done: int, total: int | None, unit: str, *, always: bool = False) -> None:
        now_s = time.monotonic()
        if always or now_s - self._told_s >= TELL_EVERY_S:
            self._told_s = now_s
            progress = {"phase": phase, "done": done, "total": total or 0, "unit": unit, "message": ""}
            self._answers.send(progress=progress)
