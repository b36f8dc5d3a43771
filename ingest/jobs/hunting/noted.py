"""Executes one attempt and writes its notes as JSON lines."""

from __future__ import annotations

import json
import os
import queue
from typing import Any

from ingest.jobs.lifeline import Answers, Command, Lifeline
from replay.bundle.reader import open_bundle
from replay.debugger.hunting.noting import Noting
from replay.model import TaskId


def main() -> int:
    answers = Answers()
    commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
    Lifeline(commands.put, lambda: os._exit(0)).start()
    request = commands.get()
    with open(request["notes"], "w", encoding="utf-8") as notes, open_bundle(request["pack"]) as bundle:

        def write(note: dict[str, Any]) -> None:
            notes.write(json.dumps(note) + "\n")

        traced = frozenset(request.get("traced", ()))
        last = min(request["most_calls"], max(traced, default=request["most_calls"]))
        Noting(bundle, TaskId(request["task"]), request["attempt"], write, traced, last).run()
    answers.send(done=True)
    return 0
