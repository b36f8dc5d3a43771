"""Executes an attempt again in one pair of surroundings after the other, and says what moved, and by which line."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ingest.pipes import ROOT, Child, ChildGone, child_environment
from replay.debugger.hunting.movement import Moved, explained, first_moved
from replay.debugger.hunting.noting import MOST_CALLS
from replay.errors import ReplayError


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What differs from the usual ones: `moved` of what the process puts in place itself, and its environment."""

    name: str
    says: str
    moved: str = "nothing"
    hash_seed: str = "0"
    variables: bool = False
    twice: bool = False


WORDS = {
    "again": "each execution",
    "hash seed": "the hash seed",
    "clock": "the clock",
    "random": "chance",
    "environment": "the environment's variables",
    "listing": "the order in which folders are listed",
    "kept": "what its module or class keeps",
}
"""What moves, in a sentence."""

USUAL = Surroundings("usual", "the usual surroundings")
PERTURBED = (
    Surroundings("again", "the same surroundings once more: memory, processes, threads and files lie as they may"),
    Surroundings("hash seed", "another hash seed: the order of sets of strings, and their hashes", hash_seed="1"),
    Surroundings("hash seed", "another hash seed: the order of sets of strings, and their hashes", hash_seed="4711"),
    Surroundings("clock", "all clocks a good year later, and faster", moved="clock"),
    Surroundings("random", "other random numbers, seeds and ids", moved="random"),
    Surroundings("environment", "other values of the environment's variables", variables=True),
    Surroundings("listing", "folders listed in the opposite order", moved="listing"),
    Surroundings("kept", "once more in the same process, with what modules and classes have kept", twice=True),
)
# Without these a process doesn't come up, or is another program.
_NEEDED = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "VIRTUAL_ENV", "PWD", "SHELL")
_NEEDED_PREFIXES = ("PYTHON", "LC_", "LD_", "CLONOSCOPE_", "DJANGO_")
_PATIENCE_S = 3600.0
BEGUN = 2
"""Calls after which an operator is there: it was made, and opened."""
LOOKS = 4
"""What follows from where things lie in memory may come out alike where it is looked at once more."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Which attempt is executed; `variables` are those that its operator was heard to read."""

    pack: str
    task: str
    attempt: int
    variables: Sequence[str] = ()


Tell = Callable[[int, int], None]


def perturb(attempt: Attempt, log_path: Path, tell: Tell = lambda done, total: None) -> dict[str, Any]:
    """The report: which surroundings there were, and what moved in which of them."""
    with tempfile.TemporaryDirectory(prefix="clonoscope-hunt-") as folder:
        runs = _Runs(attempt, Path(folder), log_path)
        usual = runs.notes(USUAL)
        found: list[dict[str, Any]] = []
        alone, moved_alone = PERTURBED[0], None
        shown: set[int] = set()
        for number, one in enumerate(PERTURBED if usual.calls >= BEGUN else ()):
            tell(number, len(PERTURBED))
            if any(each["surroundings"] == one.name for each in found):
                continue
            moved = first_moved(usual, runs.notes(one))
            if moved is not None and one is not alone and moved_alone is None:
                # What an execution gives may have changed since the first two: with the time that has passed, say.
                moved_alone = first_moved(usual, runs.notes(alone))
                if moved_alone is not None:
                    shown.add(moved_alone.call)
                    found.append(_finding(runs, alone, moved_alone))
            if one is alone:
                moved_alone = moved
            elif moved is not None and moved == moved_alone:
                continue  # it moves anyway: that says nothing of these surroundings
            elif moved is not None and one.twice and moved.call in shown:
                continue  # a clock or a generator that has gone on meanwhile, as was found already
            if moved is not None:
                shown.add(moved.call)
                found.append(_finding(runs, one, moved))
        tell(len(PERTURBED), len(PERTURBED))
        return {
            "attempts": [{"task": attempt.task, "attempt": attempt.attempt}],
            "tried": [{"surroundings": one.name, "says": one.says} for one in _each_once()],
            "calls": usual.calls,
            "enough": usual.enough,
            "ended": usual.ended,
            "moved": found,
        }


def _each_once() -> Iterable[Surroundings]:
    return {one.name: one for one in PERTURBED}.values()


def _finding(runs: _Runs, one: Surroundings, moved: Moved) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(LOOKS):
        found = explained(moved, *(runs.notes(each, moved.followed) for each in (USUAL, one)))
        if found["line"]:
            break
    whose = {"task": runs.attempt.task, "attempt": runs.attempt.attempt}
    return {"surroundings": one.name, **whose, **asdict(moved), **found}


class Notes:
    """The notes of one execution, read as often as they are asked for."""

    def __init__(self, path: Path):
        self._path = path
        last: dict[str, Any] = {}
        self.calls, self.enough = 0, False
        for note in self:
            self.calls = note.get("call", self.calls - 1) + 1
            self.enough = self.enough or "enough" in note
            last = note
        if "end" not in last:
            raise ReplayError("an execution beside the replay did not come to its end", remedy="See the log of replays")
        self.ended: str = last["end"]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with open(self._path, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


class _Runs:
    """Starts an execution a pair of surroundings, one after the other."""

    def __init__(self, attempt: Attempt, folder: Path, log_path: Path):
        self.attempt = attempt
        self._folder = folder
        self._log_path = log_path
        self._count = 0

    def notes(self, one: Surroundings, traced: Sequence[int] = ()) -> Notes:
        """What an execution there noted."""
        self._count += 1
        path = self._folder / f"{self._count}.ndjson"
        child = Child(
            [sys.executable, "-m", "ingest.jobs.hunting.perturbed", one.moved],
            log_path=self._log_path,
            environment=self._environment(one),
            folder=ROOT,
        )
        request = {"pack": self.attempt.pack, "task": self.attempt.task, "attempt": self.attempt.attempt}
        try:
            child.send(
                {**request, "twice": one.twice, "notes": str(path), "traced": list(traced), "most_calls": MOST_CALLS}
            )
            child.receive(_PATIENCE_S)
        except ChildGone as gone:
            raise ReplayError(
                f"an execution in {one.says} ended before its time", remedy="See the log of replays"
            ) from gone
        finally:
            child.kill()
        return Notes(path)

    def _environment(self, one: Surroundings) -> dict[str, str]:
        environment = child_environment(PYTHONHASHSEED=one.hash_seed)
        if one.variables:
            mine = [name for name in environment if not _is_needed(name)]
            read = [name for name in self.attempt.variables if not name.startswith("PYTHON")]
            environment |= {name: f"{os.environ.get(name, '')}clonoscope" for name in (*mine, *read)}
        return environment


def _is_needed(name: str) -> bool:
    return name in _NEEDED or name.startswith(_NEEDED_PREFIXES)
