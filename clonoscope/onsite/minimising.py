"""`clonoscope minimise`: the smallest excerpt of a recording along which a job's function still goes wrong so."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clonoscope.errors import WrongUse
from clonoscope.onsite.application import called_with
from clonoscope.onsite.execution import Asked, Execution
from clonoscope.onsite.held import Held
from clonoscope.onsite.replaying import GOOD, NOT_GOOD, add_what_is_replayed, asked_of, held_of
from clonoscope.onsite.units import Unit, Units
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle, open_bundle
from replay.bundle.writer import BundleWriter
from replay.debugger.outcome import Outcome
from replay.debugger.ports import Change, NoSteps, Step, Told
from replay.debugger.writing.words import counted
from replay.errors import ReplayError, printable
from replay.model import json_bytes, read_json

Way = tuple[Any, ...]
"""How a replay went wrong; empty where it did not."""
_ALIKE = ("asked", "logged", "record")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's."""
    add_what_is_replayed(parser)
    parser.add_argument("--to", type=Path, required=True, help="the excerpt, a bundle: its suffix decides what it is")


def run(chosen: argparse.Namespace) -> int:
    """The exit status. Raises `ReplayError` and `OSError`."""
    with open_bundle(chosen.bundle) as opened, BundleWriter(chosen.to) as writer, called_with(chosen.job):
        held = held_of(opened, chosen)
        asked = asked_of(held, chosen)
        minimising = Minimising(Units.of(held, asked.reader), asked)
        made, outcome = minimising.run()
        if made is None:
            print(f"{outcome.verdict}: {outcome.sentence}")
            print("There is nothing to keep: only what diverges, or fails, has an excerpt.", file=sys.stderr)
            return NOT_GOOD
        for name, data in made.members.items():
            if name != "job.json":
                writer.append(name, data)
        writer.close(Bundle(made).manifest)
    of, kept = minimising.records_in_all, minimising.records_kept
    print(f"{chosen.to}: {counted(kept, 'record')} of {of:,}, after {counted(minimising.tried, 'trial')}.")
    print(f"{outcome.verdict}: {outcome.sentence}")
    return GOOD


@dataclass(slots=True)
class Minimising:
    """Each candidate is replayed in a child of its own, which knows nothing of what the others left in the job's
    modules."""

    units: Units
    asked: Asked
    tried: int = 0
    records_in_all: int = 0
    records_kept: int = 0
    wanted: Way = ()
    _known: dict[tuple[int, ...], bool] = field(default_factory=dict)

    def run(self) -> tuple[MembersInMemory | None, Outcome]:
        """The smallest excerpt that was found, and what its replay comes to; None where there is nothing wrong."""
        whole, self.wanted = self._replayed(self.units.held.bundle)
        if not self.wanted:
            return None, whole
        every = list(range(len(self.units.units)))
        if self._way_of(every) != self.wanted:
            raise ReplayError(
                f"the attempt can't be taken apart: put together again, it does not show the same. {whole.sentence}",
                remedy="Keep the bundle as it is; it can be replayed whole",
            )
        kept = self._fewer(self._up_to(every))
        self.records_in_all = sum(len(one.lines) for one in self.units.units)
        self.records_kept = sum(len(self.units.units[n].lines) for n in kept)
        made = self.units.excerpt([self.units.units[n] for n in kept], self._of(whole, kept))
        return made, self._replayed(Bundle(made))[0]

    def _of(self, whole: Outcome, kept: Sequence[int]) -> dict[str, Any]:
        """What the manifest says of it, by which it is known as an incident."""
        return {
            "of": self.units.held.bundle.manifest.job.name,
            "task": self.units.held.task,
            "attempt": self.units.held.attempt,
            "app": self.asked.app,
            "only": list(self.asked.only),
            "shows": {"kind": self.wanted[0], "raised": self.wanted[1] if self.wanted[0] == "failed" else None},
            "records": self.records_kept,
            "of_records": self.records_in_all,
            "sentence": whole.sentence,
        }

    # --- what can go ---

    def _up_to(self, kept: list[int]) -> list[int]:
        """Without what comes after: halved, as long as it shows the same."""
        low, high = 1, len(kept)
        while low < high:
            middle = (low + high) // 2
            if self._shows(kept[:middle]):
                high = middle
            else:
                low = middle + 1
        return kept[:high] if self._shows(kept[:high]) else kept

    def _fewer(self, kept: list[int]) -> list[int]:
        """Halves, quarters, …, single records, until none can go."""
        size = max(1, len(kept) // 2)
        while kept:
            at, less = 0, False
            while at < len(kept):
                candidate = kept[:at] + kept[at + size :]
                if candidate and self._shows(candidate):
                    kept, less = candidate, True
                else:
                    at += size
            if size == 1 and not less:
                break
            size = max(1, size // 2)
        return kept

    def _shows(self, kept: list[int]) -> bool:
        key = tuple(kept)
        if key not in self._known:
            self._known[key] = self._way_of(kept) == self.wanted
        return self._known[key]

    def _way_of(self, kept: Sequence[int]) -> Way:
        chosen: list[Unit] = [self.units.units[n] for n in kept]
        return self._replayed(Bundle(self.units.excerpt(chosen, {})))[1]

    def _replayed(self, bundle: Bundle) -> tuple[Outcome, Way]:
        self.tried += 1
        held = Held.of(bundle, self.units.held.task, self.units.held.attempt)
        found = in_a_child(lambda: _played(held, self.asked))
        return Outcome(**found["outcome"]), tuple(found["way"])


class LastChanges(NoSteps):
    """Of the steps, what the record in hand changed in the state: where that is the same, so is what matters of it."""

    def __init__(self) -> None:
        self.found: list[list[str | None]] = []

    def step(self, told: Told) -> None:
        """Another record."""
        if Step._make(told).form.kind == "deliver-record":
            self.found.clear()

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        """Keys of the state."""
        self.found.extend(map(list, changes))


def _played(held: Held, asked: Asked) -> dict[str, Any]:
    changes = LastChanges()
    one = Execution(held, asked, changes)
    outcome = one.run()
    return {"outcome": outcome.to_json(), "way": list(way_of(one, outcome, changes.found))}


def way_of(one: Execution, outcome: Outcome, changes: list[list[str | None]]) -> Way:
    """The exception with which it failed as recorded, or the sides and the line of a divergence; and what the record
    changed in the state."""
    if outcome.verdict == "diverged":
        line = outcome.detail.get("line") or {}
        sides = (outcome.detail.get(name) for name in _ALIKE)
        return ("diverged", *sides, line.get("file"), line.get("line"), changes)
    if outcome.verdict == "identical" and one.failed is not None and one.held.raised is not None:
        place = "" if one.fed is None else str(one.fed.place)
        return ("failed", one.failed, place, changes)
    return ()


def in_a_child(action: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What an action gives, done by a fork of this process; what it raises is raised here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(action, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        data = answers.read()
    _, status = os.waitpid(child, 0)
    if not data:
        raise ReplayError(f"the function ended its process (status {status})", remedy="Replay it with --pdb")
    found: dict[str, Any] = read_json(data)
    if "refused" in found:
        raise (WrongUse if found["by_use"] else ReplayError)(found["refused"])
    return found


def _answer(action: Callable[[], dict[str, Any]], writing: int) -> None:
    try:
        try:
            made = json_bytes(action())
        except ReplayError as fault:
            said = printable(str(fault), 20_000).rstrip(".")
            made = json_bytes({"refused": said, "by_use": isinstance(fault, WrongUse)})
        with os.fdopen(writing, "wb") as answers:
            answers.write(made)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
