"""Random forks of random recordings, each held against what is known of it without the code that makes its report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from replay.bundle.reader import Bundle
from replay.debugger.forks import change_of, fork
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
        for failure in Story.read(bundle.events()).failures:
            kept = Kept()
            if replay(bundle, failure=failure, sink=kept).verdict not in ("identical", "free"):
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
                self.one(bundle, kept, {"failure": failure}, step, change, f"seed {seed}, {failure}, {step}, {change}")

    def one(self, bundle: Bundle, parent: Kept, of: dict[str, Any], step: int, change: Any, where: str) -> None:
        self.cuts.made.clear()
        kept = Kept()
        try:
            outcome = fork(bundle, **of, step=step, change=change_of(change), sink=kept)
        except WrongSetting:
            self.stats[f"{change['change']} refused"] += 1
            return
        if outcome.verdict != "forked":
            self.faults.append(f"is {outcome.verdict}: {outcome.sentence}: {where}")
            return
        self.stats[str(change["change"])] += 1
        report = outcome.detail["fork"]
        self._check_prefix(parent, kept, report["step"], where)
        self._check_outputs(report, where)

    def _check_prefix(self, parent: Kept, kept: Kept, at: int, where: str) -> None:
        """Up to the forked step a fork is its parent; then it says what is changed."""
        if parent.rows[:at] != kept.rows[:at]:
            self.faults.append(f"differs from its parent before step {at}: {where}")
        if at < len(kept.rows) and kept.rows[at].kind != "fork":
            self.faults.append(f"does not say that it is forked at step {at}: {where}")

    def _check_outputs(self, report: dict[str, Any], where: str) -> None:
        """What can't be affected is the same, byte for byte; what is not the same might be affected."""
        ran = self.cuts.by_body()
        if not ran:
            return
        before, after = (ran[0], ran[1]) if len(ran) > 1 else (ran[0], {})
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


def _drawn(draw: Random, bundle: Bundle, kept: Kept) -> tuple[int, dict[str, Any]]:
    kind = draw.choice(KINDS)
    step = draw.randrange(len(kept.rows))
    if kind in OF_DETERMINANTS:
        wanted = OF_DETERMINANTS[kind]
        fitting = [number for number, _, one, *_ in kept.determinants if not wanted or one in wanted]
        step = draw.choice(fitting) if fitting else step
    elif kind != "operator":
        step = draw.randrange(min(24, len(kept.rows)))
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
