"""Random forks of random recordings, each held against what is known of it without the code that makes its report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from replay.bundle.reader import Bundle
from replay.debugger.forks import At, change_of, fork
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import WrongSetting
from replay.jobs.registry import OPERATORS
from replay.runtime.body.output import Cut
from replay.runtime.body.task import TaskBody
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.worlds import Kept

OF_DETERMINANTS = {"order": ("order",), "value": ("timestamp", "rng", "serializable"), "lost": ()}
KINDS = ("order", "order", "value", "value", "value", "lost", "lost", "holder", "depth", "failure", "operator")


@dataclass(slots=True)
class Cuts:
    """Every buffer that any body cuts, by channel and number, of the execution that ran last."""

    made: list[tuple[TaskBody, str, Cut]] = field(default_factory=list)

    def watch(self, monkeypatch: Any) -> None:
        cut, made = TaskBody.cut, self.made

        def watched(body: TaskBody, k: int, size: int) -> Cut:
            one = cut(body, k, size)
            made.append((body, body.shape.outputs[k].channel, one))
            return one

        monkeypatch.setattr(TaskBody, "cut", watched)

    def by_body(self) -> list[dict[tuple[str, int], tuple[int, bool, bytes]]]:
        """One ledger an execution, in the order in which they ran."""
        found: dict[int, dict[tuple[str, int], tuple[int, bool, bytes]]] = {}
        for body, channel, cut in self.made:
            found.setdefault(id(body), {})[channel, cut.seq] = (cut.epoch, cut.is_event, cut.payload)
        return list(found.values())


@dataclass(slots=True)
class Forks:
    """What random forks came to; `faults` is empty where all that must hold of them holds."""

    cuts: Cuts
    stats: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def of_seed(self, seed: int, *, parents: int, each: int) -> None:
        bundle, draw = recorded(random_options(seed)), Random(f"forks {seed}")
        story = Story.read(bundle.events())
        cases: list[dict[str, Any]] = [
            {"task": event["task"], "failure": failure} for failure, event in story.failures.items()
        ]
        cases += [{"task": task, "attempt": attempt} for task in bundle.tasks() for attempt in bundle.attempts(task)]
        for of in draw.sample(cases, min(len(cases), parents)):
            kept = Kept()
            if replay(bundle, **of, sink=kept).verdict not in ("identical", "free"):
                continue
            for _ in range(each):
                step, change = _drawn(draw, bundle, kept)
                self.one(bundle, kept, of, step, change, f"seed {seed}, {of}, step {step}, {change}")

    def of_answers(self, seed: int) -> None:
        """Around the answers of every recovery of the recording of that seed."""
        bundle, draw = recorded(random_options(seed)), Random(f"answers {seed}")
        for failure, event in Story.read(bundle.events()).failures.items():
            kept = Kept()
            of = {"task": event["task"], "failure": failure}  # alone: with others, the steps have other numbers
            if replay(bundle, **of, sink=kept).verdict not in ("identical", "free"):
                continue
            merged = next((row.step for row in kept.rows if row.kind == "merge"), len(kept.rows))
            for step in sorted({draw.randrange(min(merged + 2, len(kept.rows))) for _ in range(6)}):
                change: dict[str, Any] = draw.choice(
                    (
                        {"change": "holder", "holder": draw.choice(bundle.tasks())},
                        {"change": "depth", "depth": draw.choice((0, 1, 2, "full"))},
                        {"change": "failure", "task": draw.choice(bundle.tasks())},
                    )
                )
                self.one(bundle, kept, of, step, change, f"seed {seed}, {of}, step {step}, {change}")

    def of_chains(self, seed: int, *, parents: int, each: int, depth: int = 3) -> None:
        """Forks of forks: each change is made to what came of the one before it."""
        bundle, draw = recorded(random_options(seed)), Random(f"chains {seed}")
        story = Story.read(bundle.events())
        cases: list[dict[str, Any]] = [
            {"task": event["task"], "failure": failure} for failure, event in story.failures.items()
        ]
        cases += [{"task": task, "attempt": attempt} for task in bundle.tasks() for attempt in bundle.attempts(task)]
        for of in draw.sample(cases, min(len(cases), parents)):
            root = Kept()
            if replay(bundle, **of, sink=root).verdict not in ("identical", "free"):
                continue
            for _ in range(each):
                self._chain(draw, bundle, root, of, depth, f"seed {seed}, {of}")

    def _chain(self, draw: Random, bundle: Bundle, kept: Kept, of: dict[str, Any], depth: int, where: str) -> None:
        before: tuple[At, ...] = ()
        since = 0
        for _ in range(depth + 3):  # many a draw applies to nothing
            if len(before) == depth:
                break
            step, change = _drawn(draw, bundle, kept, since)
            made = self.one(bundle, kept, of, step, change, f"{where}, after {before}, step {step}, {change}", before)
            if made is not None:
                kept, since = made
                before = (*before, At(step, change_of(change)))
        self.stats[f"chains of {len(before)}"] += 1

    def one(
        self,
        bundle: Bundle,
        parent: Kept,
        of: dict[str, Any],
        step: int,
        change: Any,
        where: str,
        before: tuple[At, ...] = (),
    ) -> tuple[Kept, int] | None:
        """What it wrote, and the step from which on it is a fork; None where it was refused."""
        self.cuts.made.clear()
        kept = Kept()
        try:
            outcome = fork(bundle, **of, step=step, change=change_of(change), before=before, sink=kept)
        except WrongSetting as refused:
            self.stats[f"{change['change']} refused"] += 1
            self.refused[str(refused)] += 1
            return None
        if outcome.verdict != "forked":
            self.faults.append(f"is {outcome.verdict}: {outcome.sentence}: {where}")
            return None
        self.stats[str(change["change"])] += 1
        report = outcome.detail["fork"]
        self._check_prefix(parent, kept, report["step"], where)
        self._check_outputs(report, parent, kept, where)
        return kept, report["step"]

    def _check_prefix(self, parent: Kept, kept: Kept, at: int, where: str) -> None:
        """Up to the forked step a fork is its parent; then it says what is changed."""
        if parent.rows[:at] != kept.rows[:at]:
            self.faults.append(f"differs from its parent before step {at}: {where}")
        if at < len(kept.rows) and kept.rows[at].kind != "fork":
            self.faults.append(f"does not say that it is forked at step {at}: {where}")

    def _check_outputs(self, report: dict[str, Any], parent: Kept, made: Kept, where: str) -> None:
        """What can't be affected is the same, byte for byte; what is not the same might be affected."""
        ran = self.cuts.by_body()  # of the runs that cut anything, the last two are the parent's and the fork's
        after = ran.pop() if made.kinds["cut-buffer"] else {}
        before = ran.pop() if parent.kinds["cut-buffer"] else {}
        may = {
            (span["output"], number)
            for span in report["may_be_affected"]
            for number in range(span["first"], span["last"] + 1)
        }
        for place, buffer in before.items():
            same = after.get(place) == buffer
            self.stats["same" if same else "other"] += 1
            if not same and place not in may:
                self.faults.append(f"changes {place}, which can't be affected: {where}")
            if place not in may:
                self.stats["can't be affected"] += 1


def _drawn(draw: Random, bundle: Bundle, kept: Kept, since: int = 0) -> tuple[int, dict[str, Any]]:
    """A change at a step, after `since` more often than not."""
    kind = draw.choice(KINDS)
    since = draw.choice((since, since, since, 0))
    step = draw.randrange(min(since, len(kept.rows) - 1), len(kept.rows))
    if kind in OF_DETERMINANTS:
        wanted = OF_DETERMINANTS[kind]
        of_kind = [number for number, _, one, *_ in kept.determinants if not wanted or one in wanted]
        fitting = [number for number in of_kind if number >= since]
        step = draw.choice(fitting) if fitting else step
    elif kind != "operator":
        step = min(since + draw.randrange(24), len(kept.rows) - 1)
    fields: dict[str, Any] = {
        "order": {},
        "value": {"value": draw.choice((0, 1, 7, 1_600_000_000_500, {"tier": "gold"}, "text"))},
        "lost": {"seed": draw.randrange(4)},
        "holder": {"holder": draw.choice(bundle.tasks())},
        "depth": {"depth": draw.choice((0, 1, 2, "full"))},
        "failure": {"task": draw.choice(bundle.tasks())},
        "operator": {"operator": draw.choice(sorted(OPERATORS))},
    }[kind]
    return step, {"change": kind, **fields}
