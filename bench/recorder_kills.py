"""Kills recorded jobs at random moments: what they were given before must be read back whole, gaps where they were.

`python -m bench.recorder_kills --times 1000 --seed 1`
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import clonoscope
from bench.recorder_job import ask, run_job
from clonoscope.errors import Diverged, EndOfRecording
from clonoscope.publishing import publish
from clonoscope.reading import attempts_of
from clonoscope.replaying import Replay
from replay.bundle.reader import Bundle, open_bundle

Key = tuple[str, int]
GAP = ["gap", None]
# Told for what may be dropped with them: outputs stand in the log by the count of records, and not in a run of them.
UNORDERED = ("flush", "output")
# Nothing else has the same value.
UNIQUE = ("time", "time_ns", "random", "uuid4", "take", "epoch", "end")
_LARGEST_LINES = 2000


@dataclass(slots=True)
class Told:
    """What a job said it was given, by task and attempt: [kind, value, recorded]."""

    lines: dict[Key, list[list[Any]]] = field(default_factory=dict)
    ended: bool = False

    def take(self, line: bytes) -> None:
        """One line of the pipe."""
        task, attempt, *told = json.loads(line)
        if attempt is not None:
            self.lines.setdefault((task, attempt), []).append(told)


def run_and_kill(folder: Path, seed: int) -> Told:
    """A job in a child of its own, killed after a random number of lines."""
    upto = random.Random(seed).randrange(_LARGEST_LINES)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        status = 1
        try:
            run_job(folder, writing, seed)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    told, count = Told(), 0
    with open(reading, "rb") as pipe:
        for line in pipe:
            if line.endswith(b"\n"):
                told.take(line)
            count += 1
            if count == upto:
                os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise RuntimeError(f"seed {seed}: the job itself ended with {status}")
    told.ended = status == 0
    return told


def expected_of(lines: list[list[Any]]) -> list[list[Any]]:
    """What a log should hold; what had to be dropped is a gap."""
    told = (
        [kind, value] if recorded else GAP for kind, value, recorded in lines if kind not in UNORDERED or not recorded
    )
    return beside_gaps_left_out(told)


def beside_gaps_left_out(entries: Iterable[list[Any]]) -> list[list[Any]]:
    """Gaps side by side are one, and records beside it belong to it, as no word tells of them."""
    found: list[list[Any]] = []
    for one in entries:
        if one == GAP:
            while found and found[-1][0] == "take":
                found.pop()
        if found[-1:] != [GAP] or one[0] not in ("take", "gap"):
            found.append(one)
    return found


def held_in(folder: Path, key: Key) -> list[list[Any]]:
    """What a log holds, in the same way."""
    log = next((one for one in attempts_of(folder) if (one.task, one.attempt) == key), None)
    found: list[list[Any]] = []
    for entry in log.entries() if log is not None else ():
        fields = entry.fields
        if entry.kind == "epoch" and "unseen" not in fields:
            found.append(["epoch", fields["epoch"]])
        elif entry.kind == "epoch-end":
            found.append(["end", fields["epoch"]])
        elif entry.kind == "call":
            found.append(_call(fields))
        elif entry.kind == "gap":
            found.append(GAP)
        elif entry.kind == "take":
            records = range(fields["first"], fields["first"] + fields["records"])
            found += [["take", [fields["input"], offset]] for offset in records]
    if log is not None:
        partitions = {number: one["partition"] for number, one in log.inputs.items()}
        found = [[k, [partitions[v[0]], v[1]]] if k == "take" else [k, v] for k, v in found]
    return found


def _call(fields: dict[str, Any]) -> list[Any]:
    raised = fields.get("raised")
    name = fields["call"] if raised is None else "raising"
    return [name, fields["value"] if raised is None else [raised["type"], raised["message"]]]


def faults_of(folder: Path, told: Told) -> Iterator[str]:
    """What a recording got wrong; nothing, where it is as it should be."""
    for key, lines in told.lines.items():
        wanted = expected_of(lines)
        # While something was dropped, what came with it may be there all the same: a value, but not its site.
        lost = [[kind, value] for kind, value, recorded in lines if not recorded and kind in UNIQUE]
        held = beside_gaps_left_out(one for one in held_in(folder, key) if one not in lost)
        if held[-1:] == [GAP] and len(held) <= len(wanted):
            # It ended within a gap, which the records beside it are counted to on this side as well.
            while wanted and wanted[-1][0] == "take":
                wanted.pop()
        if wanted[-1:] == [GAP]:
            wanted.pop()  # that the last is dropped may not be known yet
        if held[: len(wanted)] != wanted:
            at = next((n for n, pair in enumerate(zip(wanted, held, strict=False)) if pair[0] != pair[1]), len(held))
            yield f"{key}: entry {at} of {len(wanted)} is {held[at : at + 3]} and not {wanted[at : at + 3]}"
        # A kill comes between an answer and its line: one entry, and what follows from it.
        unsaid = [one for one in held[len(wanted) :] if one != GAP]
        if len(unsaid) > 1:
            yield f"{key}: {len(unsaid)} entries that nobody was given: {unsaid[:3]}"


def replay_faults(bundle: Bundle, told: Told) -> Iterator[str]:
    """The same questions, answered from the bundle, up to the first gap of each epoch."""
    for (task, attempt), lines in told.lines.items():
        try:
            _replay(Replay.of(bundle, task, attempt), lines)
        except (Diverged, AssertionError) as fault:
            yield f"{task}/{attempt}: {fault}"


def _replay(replay: Replay, lines: list[list[Any]]) -> None:
    epochs: dict[int, list[list[Any]]] = {}
    for kind, value, recorded in lines:
        if kind == "epoch":
            of_epoch = epochs.setdefault(value, [] if recorded else [[kind, value, False]])
        elif epochs:
            of_epoch.append([kind, value, recorded])
    for epoch, of_epoch in epochs.items():
        try:
            with replay.epoch(epoch):
                _replay_epoch(replay, expected_of(of_epoch))
                raise EndOfRecording("nothing", "here", epoch, 0)  # what was not said any more may be left
        except EndOfRecording:
            continue


def _replay_epoch(replay: Replay, wanted: list[list[Any]]) -> None:
    for kind, value in wanted:
        if [kind, value] == GAP:
            return
        if kind == "take":
            replay.take(value[1], topic="in", partition=value[0])
        elif kind != "end":
            given = _asked_again(kind, value)
            if given != value:
                raise AssertionError(f"{kind} gave {given!r} and not {value!r}")


def _asked_again(kind: str, value: Any) -> Any:
    """As the job asked; the size of random bytes is what the job had."""
    if kind == "urandom":
        size = len(base64.b64decode(value["b64"]))
        return {"b64": base64.b64encode(clonoscope.urandom(size)).decode()}
    return ask(kind, random.Random(0))


def kill_once(seed: int) -> tuple[Told, list[str], Counter[str]]:
    """A job, killed, read, published and replayed. Returns what it said, what is wrong, and what was seen."""
    folder = Path(tempfile.mkdtemp(prefix="clonoscope-kills-"))
    try:
        told = run_and_kill(folder, seed)
        if not told.lines:
            return told, [], Counter(empty=1)
        faults = list(faults_of(folder / "job", told))
        with open_bundle(publish(folder / "job", folder / "out")) as bundle:
            faults += [f"shape: {one.why}" for one in bundle.check_shape()]
            faults += replay_faults(bundle, told)
        lines = [line for one in told.lines.values() for line in one]
        seen = Counter(line[0] for line in lines)
        seen["dropped"] = sum(not line[2] for line in lines)
        seen["killed" if not told.ended else "ended"] += 1
        return told, faults, seen
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Prints the seed of each recording that is not what it should be, and the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    began, seen, bad = time.monotonic(), Counter[str](), 0
    for seed in range(chosen.seed, chosen.seed + chosen.times):
        _, faults, of_seed = kill_once(seed)
        seen += of_seed
        bad += bool(faults)
        for fault in faults:
            print(f"seed {seed}: {fault}", flush=True)
    numbers = {"times": chosen.times, "wrong": bad, "seconds": round(time.monotonic() - began, 1), **seen}
    print(json.dumps(numbers))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
