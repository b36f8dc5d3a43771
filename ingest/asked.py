"""Children that are asked one thing: a comparison, a question, an import, steps, an audit. Standard library only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ingest.errors import IngestCancelled, ReplayChildDied, ReplayFailed
from ingest.pipes import ROOT, Child, ChildGone, child_environment, ending
from ingest.replay_limits import ReplayLimits

LOOK_S = 0.05
OVERTIME_S = 15.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is: `done` of `total` `unit`s of a phase."""

    phase: str
    done: int = 0
    total: int = 0
    unit: str = ""
    message: str = ""


OnProgress = Callable[[Progress], None]
Cancelled = Callable[[], bool]


def never() -> bool:
    return False


def run_comparison(
    sides: Sequence[Mapping[str, Any]], limits: ReplayLimits, log_path: Path, cancelled: Cancelled = never
) -> dict[str, Any]:
    """Holds two attempts side by side in a child of its own. A side is {pack, task, attempt, name}.

    Raises `ReplayFailed` or `ReplayChildDied`.
    """
    too_long = f"the comparison was ended after {limits.wall_s:,} s: the command `compare` takes all the time it needs"
    asked = {"sides": [dict(side) for side in sides], "limits": asdict(limits)}
    return answered("compare", "comparison", asked, too_long, limits, log_path, cancelled)


def run_import(
    path: Path, out: Path, name: str, max_bytes: int, limits: ReplayLimits, log_path: Path
) -> dict[str, Any]:
    """Writes what another engine left at `path` as a bundle, in a child of its own; {refused} for what is damaged.

    Raises `ReplayFailed` or `ReplayChildDied`.
    """
    too_long = f"the import was given up after {limits.wall_s:,} s: leave older versions of the state out of the copy"
    asked: dict[str, Any] = {"path": str(Path(path).absolute()), "out": str(Path(out).absolute()), "name": name}
    asked |= {"max_bytes": max_bytes, "limits": asdict(limits)}
    return answered("importing", "import", asked, too_long, limits, log_path, never)


def run_question(
    question: Mapping[str, Any], limits: ReplayLimits, log_path: Path, cancelled: Cancelled = never
) -> dict[str, Any]:
    """Answers a question in SQL in a child of its own, see `ingest.jobs.question`.

    Raises `ReplayFailed` or `ReplayChildDied`.
    """
    too_long = f"the question was ended after {limits.wall_s:,} s: ask for less at once"
    asked = {**question, "limits": asdict(limits)}
    return answered("question", "question", asked, too_long, limits, log_path, cancelled)


def run_steps(
    steps: Path, folder: Path, most_bytes: int, limits: ReplayLimits, log_path: Path, cancelled: Cancelled = never
) -> dict[str, Any]:
    """Takes a file of steps that were made elsewhere into `folder`, in a child of its own; gives what it tells.

    Raises `ReplayFailed`, where the file is refused, or `ReplayChildDied`.
    """
    too_long = f"the steps were refused: reading them took more than {limits.wall_s:,} s"
    asked = {"steps": str(Path(steps).absolute()), "folder": str(Path(folder).absolute()), "most_bytes": most_bytes}
    return answered(
        "steps_elsewhere", "steps", asked | {"limits": asdict(limits)}, too_long, limits, log_path, cancelled
    )


def run_audit(
    pack: Path,
    out: Path,
    limits: ReplayLimits,
    log_path: Path,
    on_progress: OnProgress = lambda _: None,
    cancelled: Cancelled = never,
    *,
    lake: tuple[Path | str, str] | None = None,
) -> dict[str, Any]:
    """Writes the report of an audit to `out`, in a child of its own, and gives its verdicts. Where a limit is reached,
    the report says what could not be decided for it. `lake`: where the lake is and the job whose tables may be asked.

    Raises `ReplayFailed`, `ReplayChildDied` or `IngestCancelled`.
    """
    too_long = f"the audit was ended after {limits.wall_s:,} s: the command `audit` on the bundle takes all it needs"
    asked = {"pack": str(Path(pack).absolute()), "out": str(Path(out).absolute()), "limits": asdict(limits)}
    if lake is not None:
        data = lake[0].absolute() if isinstance(lake[0], Path) else lake[0]
        asked |= {"data": str(data), "job": lake[1]}
    return answered("audit", "audit", asked, too_long, limits, log_path, cancelled, on_progress, OVERTIME_S)


def answered(
    module: str,
    what: str,
    asked: Mapping[str, Any],
    too_long: str,
    limits: ReplayLimits,
    log_path: Path,
    cancelled: Cancelled,
    on_progress: OnProgress = lambda _: None,
    overtime_s: float = 0.0,
) -> dict[str, Any]:
    """The one answer of a child that is asked one thing."""
    child = Child(
        [sys.executable, "-m", f"ingest.jobs.{module}"],
        log_path=log_path,
        environment=child_environment(),
        folder=ROOT,
    )
    latest_s = time.monotonic() + limits.wall_s + overtime_s
    try:
        child.send(asked)
        while time.monotonic() <= latest_s:
            if cancelled():
                raise IngestCancelled("cancelled")
            message = child.receive(LOOK_S) or {}
            if "progress" in message:
                on_progress(Progress(**message["progress"]))
            elif "outcome" in message:
                return dict(message["outcome"])
            elif "failed" in message:
                raise ReplayFailed(message["failed"])
        raise ReplayFailed(f"{too_long}.")
    except ChildGone as gone:
        status = child.kill()
        raise ReplayChildDied(
            f"the {what}'s process ended ({ending(status)}; {gone}). Its log is {log_path}."
        ) from gone
    finally:
        child.kill()
