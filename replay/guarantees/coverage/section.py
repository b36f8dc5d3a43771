"""An audit's section on coverage: every attempt executed again from its own log, as far as a budget of bytes goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Story
from replay.debugger.writing.words import counted
from replay.errors import printable
from replay.guarantees.claims import Section
from replay.guarantees.coverage.attempts import executed
from replay.guarantees.coverage.epochs import STATUSES, Epoch, epochs_of, rows_of

MOST_BYTES = 32 << 20
"""Attempts whose members have more bytes than this together are not executed: a second goes by for one or two MiB."""
MOST_ROWS = 5_000
"""More epochs are counted, and not listed."""


def coverage(
    source: RecordingSource,
    *,
    most_bytes: int = MOST_BYTES,
    listen: bool = True,
    cancelled: Callable[[], bool] | None = None,
) -> Section:
    """By task, attempt and epoch. `listen`: whether calls past the log are heard, which takes six times as long.

    Code is executed: operators of our own, and those of installed packages. Nothing that a recording brings.
    """
    section = Section("coverage", "Whether every choice is in a log")
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    left = most_bytes
    for task, attempt, size in _attempts(source):
        looked_at = size <= left
        left -= size if looked_at else 0
        found = (
            list(rows_of(source, task, attempt, executed(source, task, attempt, listen=listen, cancelled=cancelled)))
            if looked_at
            else list(_not_looked_at(source, task, attempt, size))
        )
        counts.update(one.status for one in found)
        rows += [one.to_json() for one in found[: MOST_ROWS - len(rows)]]
        _claims(section, found)
    section.numbers = {
        "epochs": rows,
        "epochs_left_out": counts.total() - len(rows),
        "counts": {status: counts[status] for status in STATUSES},
        "most_bytes": most_bytes,
        "looked_at_bytes": most_bytes - left,
        "listened": listen,
    }
    _sum_up(section, counts)
    return section


def _attempts(source: RecordingSource) -> Iterator[tuple[str, int, int]]:
    """With the bytes of their members, from the sources down; also those that only events tell of have nothing."""
    told = Story.read(source.events()).starts
    for task in source.graph.order:
        known = set(source.attempts(task))
        for attempt in sorted(known | {number for one, number in told if one == task}):
            prefix = f"tasks/{task}/{attempt}/"
            yield task, attempt, sum(source.members.size(name) for name in source.members.names(prefix))


def _not_looked_at(source: RecordingSource, task: str, attempt: int, size: int) -> Iterator[Epoch]:
    why = f"its members have {size:,} bytes, which is more than the budget has left"
    for epoch in epochs_of(source, task, attempt):
        yield Epoch(task, attempt, epoch, "not looked at", why, "a larger budget of bytes")


def _claims(section: Section, rows: list[Epoch]) -> None:
    """One for each run of epochs of an attempt of which the same is to be said."""
    for (status, why), those in groupby(rows, key=lambda one: (one.status, one.why)):
        run = list(those)
        first = run[0]
        where = f"{_epochs(run)} of attempt {first.attempt} of {printable(first.task)}"
        said = _SAID[status].replace("WHERE", where).replace("ASKED", _asked(run)).replace("WHY", why.rstrip("."))
        said = f"{said[:1].upper()}{said[1:]}"
        if status in ("unknown", "not looked at"):
            section.lack(f"task:{first.task}", said, first.wants)
        else:
            section.claim(f"task:{first.task}", status, said, [name for one in run for name in one.evidence])


_SAID: dict[str, str] = {
    "deterministic": "WHERE asked nothing that another execution would be told otherwise, and came out the same.",
    "covered": "WHERE asked ASKED, all of it in the log; executed again from it, all came out the same.",
    "diverged": "WHERE diverged: WHY.",
    "uncovered": "WHERE WHY.",
    "unknown": "whether the log covers WHERE can't be said: WHY.",
    "not looked at": "WHERE was not looked at: WHY.",
}


def _epochs(run: list[Epoch]) -> str:
    first, last = run[0].epoch, run[-1].epoch
    return f"epoch {first}" if first == last else f"epochs {first} to {last}"


def _asked(run: list[Epoch]) -> str:
    total: Counter[str] = Counter()
    for one in run:
        total.update(one.asked)
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(total.items()))


def _sum_up(section: Section, counts: Counter[str]) -> None:
    worst = next((status for status in STATUSES if counts[status]), None)
    open_ = counts["unknown"] + counts["not looked at"]
    bad = counts["diverged"] + counts["uncovered"]
    section.good = False if bad else None if open_ or worst is None else True
    section.verdict = "nothing" if worst is None else "undecided" if not bad and open_ else worst
    told = ", ".join(f"{counts[status]:,} {status}" for status in STATUSES if counts[status])
    total = counted(counts.total(), "epoch")
    section.sentence = f"Of {total} of all attempts: {told}." if worst else "The recording has nothing of any attempt."
