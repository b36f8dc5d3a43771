"""A task that fails again in a fork, held against the engine: the same job is run with that failure, and recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from replay.bundle.reader import Bundle
from replay.debugger.forks import change_of, fork
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import WrongSetting
from replay.jobs.options import RecordOptions
from replay.model import WORLD, output_of_thread
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded
from tests.replay.debugger.forks.made import Cuts
from tests.replay.debugger.worlds import Kept

_BUFFER_BUILT_BYTES = 5
_LATE_MS = 3_000


def _ends_asking(event: Mapping[str, Any]) -> bool:
    return event.get("to") == "Replaying" or event.get("type") == "escalated"


_NUMBERS = ("n", "re", "failure", "together")


def _events_until(bundle: Bundle, t_us: int) -> list[dict[str, Any]]:
    """What happened by then, but for the numbers that it bears."""
    before = (event for event in bundle.events() if event["t_us"] <= t_us)
    return [{key: value for key, value in one.items() if key not in _NUMBERS} for one in before]


Made = dict[tuple[str, int], tuple[int, bool, bytes]]


@dataclass(slots=True)
class Failing:
    """`faults` is empty where the fork says of the failure what the engine makes of it."""

    cuts: Cuts
    stats: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def of_seed(self, seed: int, *, each: int, failures: bool, others: bool = False) -> None:
        """`failures`: tasks fail that are recovering, or have recovered; else those that never failed. `others`: it is
        another task's replay that is forked."""
        options, draw = random_options(seed), Random(f"failing {seed}")
        if not failures:
            options = replace(options, kills=(), kills_in=(), suspects=())
        task = draw.choice(recorded(options).tasks())
        # A run in which the task fails long after: it is the same until it fails, whenever that is.
        bundle = recorded(replace(options, kills=(*options.kills, f"{task}@{_LATE_MS}")))
        story = Story.read(bundle.events())
        cases: list[dict[str, Any]] = [
            {"task": task, "failure": failure} for failure, event in story.failures.items() if event["task"] == task
        ]
        cases.append({"task": task, "attempt": 0})
        if others:
            cases = [{"task": one, "attempt": 0} for one in bundle.tasks() if one != task]
        for of in draw.sample(cases, min(len(cases), 2)):
            kept = Kept()
            if replay(bundle, **of, until="end", sink=kept).verdict not in ("identical", "free"):
                self.stats["no parent"] += 1
                continue
            for _ in range(each):
                step = draw.randrange(len(kept.rows))
                self._one(options, bundle, of, task, step, kept, f"seed {seed}, {of}, step {step}")

    def _one(
        self,
        options: RecordOptions,
        bundle: Bundle,
        of: dict[str, Any],
        task: str,
        step: int,
        parent: Kept,
        where: str,
    ) -> None:
        self.cuts.made.clear()
        change = change_of({"change": "failure", "task": task})
        kept = Kept()
        try:
            outcome = fork(bundle, step=step, change=change, until="end", sink=kept, **of)
        except WrongSetting as refused:
            self.stats[f"refused: {refused}"[:60]] += 1
            return
        if outcome.verdict != "forked":
            self.faults.append(f"is {outcome.verdict}, {outcome.sentence}: {where}")
            return
        ran = self.cuts.by_body()
        told = outcome.detail["fork"]["second_failure"]
        if parent.rows[:step] != kept.rows[:step] or kept.rows[step].kind != "fork":
            self.faults.append(f"is not its parent before step {step}: {where}")
        kill = f"{task}@{(told['t_us'] + 1) / 1000:g}"
        real = recorded(replace(options, kills=(*options.kills, kill)))
        made = (
            ran[-1]
            if ran and of["task"] == task and any(row.kind == "cut-buffer" and row.step > step for row in kept.rows)
            else {}
        )
        self._against(bundle, real, told, made, f"{where}, against --kill {kill}")

    def _against(self, bundle: Bundle, real: Bundle, told: dict[str, Any], made: Made, where: str) -> None:
        task, attempt, t_us = told["task"], told["attempt"], told["t_us"]
        story = Story.read(real.events())
        struck = [one for one in story.failures.values() if one["task"] == task and 0 <= one["t_us"] - t_us <= 2]
        if not struck or struck[0]["attempt"] != attempt:
            self.stats["not struck"] += 1
            return
        if any(channel.endswith(f">{WORLD}") for channel in told["answers"]):
            self.stats["by the world"] += 1  # which accepts a write at a time that no recording has
            return
        after = attempt + 1
        begun = [one["t_us"] for one in story.of_attempt.get((task, after), ()) if _ends_asking(one)]
        until_us = min(begun, default=1 << 62)
        if any(t_us <= one["t_us"] <= until_us and one is not struck[0] for one in story.failures.values()):
            self.stats["others fail meanwhile"] += 1
            return
        if _events_until(bundle, t_us) != _events_until(real, t_us):
            self.stats["another run"] += 1
            return
        if story.was_rolled_back_to(task, after) or not story.began_to_replay(task, after):
            escalated = any(one.get("type") == "escalated" for one in story.of_attempt.get((task, after), ()))
            self.stats["escalated" if escalated else "never replayed"] += 1
            if escalated and told["escalates"] is None:
                self.faults.append(f"escalates in the engine, and not in the fork: {where}")
            return
        checkpoint = story.checkpoint_of(task, after)
        if checkpoint < told["checkpoint"] or told["returned"] is None:
            self.faults.append(f"begins from {checkpoint}, {told}: {where}")
            return
        returned = story.returned_to(task, after)
        for _, thread, epoch, upto in told["returned"]:
            if epoch >= checkpoint and upto > returned.get((thread, epoch), 0):
                self.faults.append(f"{upto} bytes of {thread}, epoch {epoch}; {returned} came back: {where}")
        self.stats["replayed"] += 1
        if checkpoint == told["checkpoint"]:
            self._rebuilt(real, told, made, where)

    def _rebuilt(self, real: Bundle, told: dict[str, Any], made: Made, where: str) -> None:
        """Each buffer that what came back names is rebuilt in the fork as the engine rebuilt it."""
        task, after = told["task"], told["attempt"] + 1
        for k, output in enumerate(real.graph.task(task).outputs):
            size = sum(upto for _, thread, _, upto in told["returned"] if output_of_thread(thread) == k)
            mine = sorted(seq for channel, seq in made if channel == output.channel)[: size // _BUFFER_BUILT_BYTES]
            theirs = {frame.seq: frame for frame in real.buffers(task, after, k)}
            for seq in mine:
                frame = theirs.get(seq)
                if frame is None:
                    self.stats["not rebuilt by the engine"] += 1
                elif (frame.epoch, frame.is_event, frame.payload) != made[output.channel, seq]:
                    self.faults.append(f"rebuilds buffer {seq} of {output.channel} otherwise: {where}")
                else:
                    self.stats["rebuilt alike"] += 1
