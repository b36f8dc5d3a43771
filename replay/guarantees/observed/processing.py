"""What can be said of processing of an ordinary engine's recording: its state is not in it, so little is."""

from __future__ import annotations

from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.claims import Section
from replay.guarantees.observed.delivery import IMPORTED
from replay.guarantees.observed.executed import Ends, OfTask, executed


def observed_processing(source: RecordingSource, section: Section) -> Section:
    """Exactly once only where no epoch ran again and nothing is missing; what engines restore is not recorded."""
    tasks = [OfTask.of(source, task.id) for task in source.manifest.tasks]
    for task in tasks:
        for epoch, attempts in task.again.items():
            who = f"attempts {', '.join(map(str, attempts))} of {printable(task.id)}"
            sentence = (
                f"Epoch {epoch} was executed by {who}, and whether the state of before was undone is not recorded."
            )
            section.lack(
                f"task:{task.id}", sentence, f"the state that attempt {attempts[-1]} of {printable(task.id)} began with"
            )
    _tell_missing(source, section, tasks)
    section.verdict = "undecided" if section.lacks else "exactly once"
    section.good = None if section.lacks else True
    section.sentence = (
        f"Undecided: {section.lacks[0].sentence}"
        if section.lacks
        else "Exactly once, as far as it is recorded: every record was taken once, and no epoch ran again."
    )
    undecided = {lack.about for lack in section.lacks}
    section.numbers = {
        "job": section.verdict,
        "tasks": {task.id: "undecided" if {"job", f"task:{task.id}"} & undecided else "exactly once" for task in tasks},
        "channels": {},
        "twice": 0,
        "lost": 0,
    }
    return section


def _tell_missing(source: RecordingSource, section: Section, tasks: list[OfTask]) -> None:
    if "excerpt" in source.manifest.raw or IMPORTED in source.members:
        why = "The bundle is cut out of a recording, or made of something else, and leaves out what it can."
        section.lack("job", why, "the whole recording")
    if not source.manifest.complete:
        section.lack("job", "The recording is not complete, as its manifest says.", "complete")
    if not any(task.epochs for task in tasks):
        section.lack("job", "No attempt left anything.", "tasks/")
    try:
        ends = Ends.read(source)
    except ReplayError as fault:
        section.lack("job", f"The events can't be read to their end: {fault}", "events.ndjson")
        return
    for why in ends.missing():
        section.lack("job", f"{why[:1].upper()}{why[1:]}.", "the recording of it")
    for task in tasks:
        try:
            for why in executed(source, task, ends):
                section.lack(f"task:{task.id}", f"{why[:1].upper()}{why[1:]}.", f"tasks/{printable(task.id)}/")
        except ReplayError as fault:
            section.lack(f"task:{task.id}", f"A member is damaged: {fault}", str(fault.path))
