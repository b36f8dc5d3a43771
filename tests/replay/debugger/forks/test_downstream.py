"""What can't be affected below a fork, against an oracle: tasks below are executed again with the fork's buffers."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from replay.bundle.frames import read_buffers
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.debugger.forks import change_of, fork
from replay.debugger.forks.changes import OtherOrder
from replay.debugger.forks.fork import _Run
from replay.debugger.forks.making import Making, Of, fork_steps
from replay.debugger.forks.places import ForkPlace
from replay.debugger.forks.stages import Stage
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import NoSteps, StepRow
from replay.debugger.recorded.scene import choose
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.debugger.sides.closure import Closure
from replay.debugger.sides.trace import Trace
from replay.errors import WrongSetting
from replay.jobs.options import RecordOptions
from replay.simulation.replays import recorded
from tests.replay.debugger.forks.made import Cuts
from tests.replay.debugger.worlds import Kept

JOBS = ("concat", "word-count", "pass-through", "nexmark-q3", "random-load-balance", "enrich", "windowed")
_NEVER = 1 << 62
Made = dict[tuple[str, int], tuple[int, bool, bytes]]


def with_buffers(bundle: Bundle, task: str, made: Made) -> tuple[Bundle, list[tuple[str, int]]] | None:
    """The recording with another payload in each buffer of a task that is made otherwise; and which those are.

    None where one was not made at all: then nobody can say what its receiver would have taken instead.
    """
    members = dict(bundle.members.members)  # type: ignore[attr-defined]
    changed = []
    for k, output in enumerate(bundle.graph.task(task).outputs):
        for epoch in bundle.epochs(task, 0, f"sent-{k}"):
            name = f"tasks/{task}/0/sent-{k}/{epoch}.buf"
            if name not in members:
                continue
            frames = [frame for _, frame in read_buffers(members[name], epoch=epoch)]
            data = b""
            for frame in frames:
                one = made.get((output.channel, frame.seq))
                if one is None or (one[0], one[1]) != (frame.epoch, frame.is_event):
                    return None
                if one[2] != frame.payload:
                    changed.append((output.channel, frame.seq))
                head = frame.to_bytes()[: -len(frame.payload) - 4] if frame.payload else frame.to_bytes()[:-4]
                data += head + len(one[2]).to_bytes(4, "big") + one[2]
            members[name] = data
    return Bundle(MembersInMemory(members)), changed


def executed_again(bundle: Bundle, task: str, cuts: Cuts) -> Made | None:
    """A task below, from its own log as far as that applies, with the buffers that stand there now."""
    story = Story.read(bundle.events())
    scene = choose(bundle, story, task=task, failure=None, attempt=0)
    cuts.made.clear()
    with Trace() as trace:
        row = StepRow(0, task, "main", "restore", "Running", 0, 0, 0, None, None, None, None, None, "")
        nothing = Stage(OtherOrder(), ForkPlace(row, frozenset(), False, own=True), _NEVER)
        making = Making(bundle, story, scene, trace, (nothing,))  # nothing is changed but what it takes
        try:
            _Run(Of(task, None, 0), making, fork_steps(NoSteps(), making)).run()
        except (DivergenceFound, Missing):
            return None
    return cuts.by_body()[0] if cuts.by_body() else {}


def drawn(draw: Random, kept: Kept) -> tuple[int, dict[str, Any]] | None:
    fitting = [(step, kind) for step, _, kind, *_ in kept.determinants if kind in ("order", "timestamp", "rng")]
    if not fitting:
        return None
    step, kind = draw.choice(fitting)
    return step, {"change": "order"} if kind == "order" else {"change": "value", "value": draw.randrange(8)}


@pytest.mark.parametrize("seed", range(21))
def test_what_tasks_below_make_otherwise_might_be_affected(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    job = JOBS[seed % len(JOBS)]
    options = RecordOptions(job=job, seed=seed, events=120, checkpoint_interval_ms=40, buffer_bytes=256)
    bundle, draw, seen = recorded(options), Random(f"below {seed}"), Counter[str]()
    cuts = Cuts()
    cuts.watch(monkeypatch)
    for task in bundle.tasks():
        kept = Kept()
        replay(bundle, task=task, attempt=0, sink=kept)
        for _ in range(4):
            chosen = drawn(draw, kept) if bundle.graph.task(task).outputs else None
            if chosen is None:
                continue
            step, change = chosen
            cuts.made.clear()
            try:
                outcome = fork(bundle, step=step, change=change_of(change), task=task, attempt=0)
            except WrongSetting:
                continue
            report, ran = outcome.detail["fork"], cuts.by_body()
            first = {span["output"]: span["first"] for span in report["may_be_affected"]}
            closure = Closure(bundle, bundle.graph.task(task).id, 0, first)
            where = f"seed {seed}, {job}, {task}, step {step}, {change}"
            if len(ran) == 2:
                follow(bundle, task, ran[1], closure, cuts, seen, where)
    assert not seen["tasks"] or seen["may"] >= seen["changed"]


def follow(bundle: Bundle, task: str, made: Made, closure: Closure, cuts: Cuts, seen: Counter[str], where: str) -> None:
    """Goes down the graph, task by task, with what each makes now."""
    altered = with_buffers(bundle, task, made)
    if altered is None or not altered[1]:
        return
    current = altered[0]
    for below in (one for one in bundle.graph.order if one in bundle.graph.all_downstream(task)):
        again = executed_again(current, below, cuts)
        following = None if again is None else with_buffers(current, below, again)
        if following is None:
            return
        current, changed = following
        seen["tasks"] += 1
        seen["changed"] += len(changed)
        for channel, seq in changed:
            assert closure.may_affect(below, 0, channel, seq), f"{channel} buffer {seq} is made otherwise: {where}"
        for k, output in enumerate(bundle.graph.task(below).outputs):
            for frame in bundle.buffers(below, 0, k):
                seen["may" if closure.may_affect(below, 0, output.channel, frame.seq) else "can't"] += 1


def test_the_oracle_sees_tasks_below_change_and_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that a dispatcher draws is named in what it sends, and passed on to the sinks."""
    bundle = recorded(RecordOptions(job="random-load-balance", seed=3, events=300, depth=5, buffer_bytes=256))
    seen, cuts, kept = Counter[str](), Cuts(), Kept()
    replay(bundle, task="dispatch.0", attempt=0, sink=kept)
    cuts.watch(monkeypatch)
    drawn_at = [(step, value) for step, _, kind, value, _ in kept.determinants if kind == "rng"]
    for step, value in drawn_at[:: len(drawn_at) // 12]:
        cuts.made.clear()
        change = change_of({"change": "value", "value": (value or 0) ^ 1})
        outcome = fork(bundle, step=step, change=change, task="dispatch.0", attempt=0)
        spans = outcome.detail["fork"]["may_be_affected"]
        first = {one["output"]: one["first"] for one in spans}
        closure = Closure(bundle, bundle.graph.task("dispatch.0").id, 0, first)
        follow(bundle, "dispatch.0", cuts.by_body()[1], closure, cuts, seen, f"step {step}")
    assert seen["changed"] > 0 and seen["can't"] > 0 and seen["tasks"] >= 3, seen
