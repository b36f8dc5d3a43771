"""Executes one attempt, or the same one twice, and writes the notes of the last as JSON lines."""

from __future__ import annotations

import json
from typing import Any

from ingest.jobs.confined import confine
from ingest.jobs.hunting import surroundings
from ingest.jobs.lifeline import Answers, only_command
from replay.bundle.reader import open_bundle
from replay.debugger.hunting.noting import Noting
from replay.model import TaskId


def main() -> int:
    answers = Answers()
    request = only_command()
    confine()
    with open(request["notes"], "w", encoding="utf-8") as notes, open_bundle(request["pack"]) as bundle:

        def write(note: dict[str, Any]) -> None:
            notes.write(json.dumps(note) + "\n")

        traced = frozenset(request.get("traced", ()))
        last = min(request["most_calls"], max(traced, default=request["most_calls"]))
        task, attempt = TaskId(request["task"]), request["attempt"]
        if request["twice"]:
            Noting(bundle, task, attempt, lambda note: None, most_calls=last).run()
            surroundings.begin("nothing")
        Noting(bundle, task, attempt, write, traced, last).run()
    answers.send(done=True)
    return 0
