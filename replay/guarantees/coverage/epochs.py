"""The epochs of an attempt, what it asked in each, and what its execution says of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from replay.debugger.ports import RecordingSource
from replay.errors import ReplayError, printable
from replay.guarantees.coverage.attempts import BEFORE, Executed
from replay.log.determinants import Order, Rng, Serializable, Take, TimerTrigger, Timestamp
from replay.model import MAIN

Status = Literal["deterministic", "covered", "diverged", "uncovered", "unknown", "not looked at"]
STATUSES: tuple[Status, ...] = ("diverged", "uncovered", "unknown", "not looked at", "covered", "deterministic")
"""The worst first."""

_ASKED = (Order, Timestamp, Rng, Serializable, TimerTrigger)


@dataclass(frozen=True, slots=True)
class Epoch:
    """One row. `asked`: determinants of the main log by kind that another execution would choose otherwise."""

    task: str
    attempt: int
    epoch: int
    status: Status
    why: str = ""
    wants: str = ""
    evidence: tuple[str, ...] = ()
    asked: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As `numbers` hold it."""
        fields: dict[str, Any] = {"task": self.task, "attempt": self.attempt, "epoch": self.epoch}
        return fields | {"status": self.status, "why": self.why, "asked": self.asked}


def epochs_of(source: RecordingSource, task: str, attempt: int) -> list[int]:
    """Those that the attempt has anything of."""
    shape = source.graph.task(task)
    folders = [*shape.threads, *(f"sent-{k}" for k in range(len(shape.outputs)))]
    folders += [*(f"received-{i}" for i in range(len(shape.inputs))), "source", "sink"]
    return sorted({epoch for folder in folders for epoch in source.epochs(task, attempt, folder)})


def rows_of(source: RecordingSource, task: str, attempt: int, run: Executed) -> Iterator[Epoch]:
    """Every epoch of an attempt that was looked at."""
    for epoch in epochs_of(source, task, attempt):
        yield _row(source, task, attempt, epoch, run)


def _row(source: RecordingSource, task: str, attempt: int, epoch: int, run: Executed) -> Epoch:
    called = {**run.calls.get(BEFORE, {}), **run.calls.get(epoch, {})}
    status, why, wants, evidence = _status(task, attempt, epoch, run)
    if called and status in ("covered", "unknown"):
        return Epoch(task, attempt, epoch, "uncovered", _calls(called), evidence=evidence)
    if called and status == "diverged":
        why = f"{why.rstrip('.')}; the task {_calls(called)}"
    try:
        asked = _asked(source, task, attempt, epoch)
    except ReplayError as fault:
        return Epoch(task, attempt, epoch, "unknown", str(fault), printable(fault.path or ""), evidence)
    if status == "covered" and not asked:
        status = "deterministic"
    return Epoch(task, attempt, epoch, status, why, wants, evidence, asked)


def _status(task: str, attempt: int, epoch: int, run: Executed) -> tuple[Status, str, str, tuple[str, ...]]:
    """(status, why, what would decide it, evidence); `covered` stands for what agrees, whatever it asked."""
    here = (f"log:{task}/{attempt}/{MAIN}/{epoch}@0",)
    if run.agrees:
        return "covered", "", "", here
    if run.outcome is None:
        return "unknown", run.fault, f"tasks/{task}/{attempt}/", ()
    detail = run.outcome.detail
    if run.outcome.verdict != "diverged":
        return "unknown", run.outcome.sentence, wanted(detail, task, attempt), ()
    if run.at is None or epoch > run.at:
        after = "" if run.at is None else f"it diverged in epoch {run.at}: "
        return "unknown", f"{after}{run.outcome.sentence}", str(detail.get("member", "")), _evidence(run)
    if epoch == run.at:
        return "diverged", run.outcome.sentence, "", _evidence(run)
    if run.lacks:
        return "unknown", f"the recording lacks {run.lacks}, and {run.outcome.sentence}", run.lacks, ()
    if run.reached is not None and epoch < run.reached:
        return "covered", "", "", here
    return "unknown", f"nothing was executed: {run.outcome.sentence}", str(detail.get("member", "")), ()


def wanted(detail: Any, task: str, attempt: int) -> str:
    """The part of a recording that a replay says is missing."""
    if isinstance(detail.get("lacks"), str):
        return str(detail["lacks"])
    if detail.get("operator"):
        return f"the code of {printable(str(detail['operator']))}, installed here"
    if "operator" in detail:
        return "the name of its operator in job.json, and its code installed here"
    if "redacted" in detail:
        return f"what is redacted: {detail['redacted']}"
    if "gaps" in detail:
        return f"what the recorder left out of {task}, attempt {attempt}"
    if isinstance(detail.get("member"), str):
        return str(detail["member"])
    if "checkpoint" in detail:
        return f"tasks/{task}/*/state/{detail['checkpoint']}.json"
    if "complete" in detail:
        return "the rest of the recording"
    return f"tasks/{task}/{attempt}/main/*.det"


def _evidence(run: Executed) -> tuple[str, ...]:
    """Where it diverged, as claims name it."""
    outcome = run.outcome
    detail = {} if outcome is None else outcome.detail
    member, offset = detail.get("member"), detail.get("offset")
    if outcome is None or not isinstance(member, str):
        return ()
    channel, buffer, attempt = detail.get("channel"), detail.get("buffer"), member.split("/")[2:3]
    if channel is not None and buffer is not None and member.endswith((".buf", ".dlt")):
        return (f"buffer:{channel}/{attempt[0]}#{buffer}",)
    epoch = detail.get("at_epoch", detail.get("epoch"))
    at = detail.get("log_offset", offset)
    if isinstance(epoch, int) and isinstance(at, int):
        return (f"log:{outcome.task}/{outcome.attempt}/{detail.get('thread') or MAIN}/{epoch}@{at}",)
    return ()


def _asked(source: RecordingSource, task: str, attempt: int, epoch: int) -> dict[str, int]:
    """A run of records from the only input there is chooses nothing."""
    several = source.graph.task(task).counted_inputs > 1
    found = Counter(
        one.kind
        for _, _, one in source.determinants(task, attempt, MAIN, epoch)
        if isinstance(one, _ASKED) or (several and isinstance(one, Take))
    )
    return dict(sorted(found.items()))


def _calls(called: dict[tuple[str, str, int], str]) -> str:
    said = [f"{call} at {printable(file)}:{line} ({kind})" for (call, file, line), kind in list(called.items())[:3]]
    more = f" and {len(called) - len(said)} more" if len(called) > len(said) else ""
    return f"asked past the log: {', '.join(said)}{more}"
