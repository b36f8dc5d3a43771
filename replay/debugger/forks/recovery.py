"""A recovery that is forked: the recovery manager with other answers, the task with another log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.following import Following
from replay.debugger.executing.verify import operator_of
from replay.debugger.forks.changes import OfAnswers, OtherDepth
from replay.debugger.forks.making import ForkSteps, Making
from replay.debugger.forks.places import ForkPlace
from replay.debugger.forks.stages import Stage
from replay.debugger.outcome import DivergenceFound, Verdict
from replay.debugger.recorded.answers import Bringers
from replay.debugger.recorded.logs import Logs
from replay.debugger.recorded.story import Event
from replay.debugger.recovery_replay import RecoveryReplay
from replay.debugger.turns import Turns
from replay.debugger.walking.walk import Walk
from replay.debugger.writing.words import bytes_of
from replay.errors import InvariantError
from replay.model import ChannelId, Graph
from replay.recovery import ChannelLost, ChannelReconnected, DeterminantsReturned, MainLogUsedUp, RecoveryStarted
from replay.recovery import Event as ManagerEvent
from replay.recovery import Logs as Returned


@dataclass(slots=True)
class ForkWalk(Walk):
    """`stages` change what is answered. What the recording says of states and requests binds no more."""

    stages: Sequence[Stage] = ()
    is_due: Callable[[int], bool] = lambda at: False
    depths: deque[tuple[int, Graph]] = field(default_factory=deque)
    _void: list[tuple[Stage, ChannelId]] = field(default_factory=list)

    def next_event(self) -> bool:
        """Where a task fails that had answered already, what it said is void, and it is asked again."""
        while self.depths and self.is_due(self.depths[0][0]):
            self._run_at_another_depth(self.depths.popleft()[1])
        while due := [one for one in self._void if self.is_due(one[0].at)]:
            stage, channel = due[-1]
            self._void.remove(due[-1])
            answer, what = stage.altered[channel], f"{channel.partition('>')[2]} is lost in this fork"
            step = self.steps.write("transition", f"{what}, and what it had answered is void.", channel=channel)
            self.handle(ChannelLost(channel, "output"), (f"step:{step}",))
            self.handle(ChannelReconnected(channel, "output", 0), (f"step:{step}",))
            size = sum(len(copy.data) for copy in answer.logs)
            said = f"What those below it hold comes back on {channel}: {bytes_of(size)} ({answer.result})."
            self.answered[self.scene.task, channel] = step = self.steps.write(
                "answer", said, causes=(f"step:{step}",), channel=channel, size=size
            )
            told = DeterminantsReturned(channel, self.scene.task, answer.result, answer.logs)
            self.handle(told, (f"step:{step}",))
        return Walk.next_event(self)

    def _run_at_another_depth(self, graph: Graph) -> None:
        """From here on: whom the task has asked until now it has asked."""
        protocol, manager = graph.manifest.protocol, self.manager
        setting = replace(manager.setting, sharing_depth=protocol.sharing_depth)
        manager.setting = setting
        manager.state = manager.state.with_(replace(manager.state.context, setting=setting))

    def loosen(self) -> None:
        """From here on the manager does what follows from the answers, whatever was recorded."""
        self.deeds.loosen()

    def _read(self, kind: str, event: Event) -> ManagerEvent | None:
        told = Walk._read(self, kind, event)
        if isinstance(told, DeterminantsReturned) and told.of == self.scene.task and not self._is_awaited(told):
            return None  # in the fork nobody was asked
        return told

    def _is_awaited(self, told: DeterminantsReturned) -> bool:
        return self.deeds.of_states or (
            self.manager.state.name == "WaitingDeterminants" and (told.channel in self.manager.setting.asked_for_own)
        )

    def _told(self, kind: str, event: Event) -> ManagerEvent | None:
        told = Walk._told(self, kind, event)
        if not isinstance(told, DeterminantsReturned) or told.of != self.scene.task:
            return told
        channel = told.channel
        stages = [stage for stage in self.stages if channel in stage.altered]
        self._void += [(stage, channel) for stage in stages if not self.is_due(stage.at)]  # until then it stands
        answers = [stage.altered[channel] for stage in stages if self.is_due(stage.at)]
        return replace(told, result=answers[-1].result, logs=answers[-1].logs) if answers else told

    def _recorded_state(self, event: Event) -> None:
        if self.deeds.of_states:
            Walk._recorded_state(self, event)
        elif event.get("from") == "Standby":
            activation = self.story.activations.get(-1 if self.scene.failure is None else self.scene.failure, event)
            self.handle(RecoveryStarted(), (f"event:{activation['n']}",))

    def _recorded_effect(self, kind: str, event: Event) -> None:
        if self.deeds.of_effects:
            Walk._recorded_effect(self, kind, event)


@dataclass(slots=True)
class ForkFollowing(Following):
    """What is executed of the recovery, with the change of a fork."""

    making: Making = field(kw_only=True)

    def _plan(self) -> Plan:
        plan, making = Following._plan(self), self.making
        if not making.cut_logs and any(isinstance(stage.change, OfAnswers) for stage in making.stages):
            making.cut_logs = self.tells and self._is_less()
        if making.cut_logs:
            plan = replace(plan, logs=self.returned, recovered=self.returned, beyond="the fork's own choices")
        for stage in making.stages:
            before, recovered = plan.logs, plan.recovered
            if (changed := stage.edited(before)) is not before:
                if recovered is not None:
                    recovered = _returned(recovered, before, changed, stage.place)
                plan = replace(plan, logs=changed, recovered=recovered)
                self.returned = changed if recovered is None else recovered
        return plan

    def _is_less(self) -> bool:
        """Whether less was returned than to the attempt that is on record, so that its own log tells of another one."""
        recorded = self.story.returned_to(self.scene.task, self.scene.attempt)
        return any(len(self.returned.get(one, {}).get(epoch, b"")) < upto for (one, epoch), upto in recorded.items())

    def _compared(self, plan: Plan) -> Comparison:
        return self.making.compared(plan)

    def _executed(self, plan: Plan) -> Execution:
        return self.making.executed(plan, self.stepping, operator_of(self.source, self.scene.task))

    def _tell_used_up(self) -> None:
        """Also where the log was left: the task makes its own choices then."""
        execution = self.making.execution
        if not self._used_up and execution is not None and execution.free:
            self._used_up = True
            if self.tells:
                self.walk.take_what_precedes_running()
                if self.walk.manager.state.name == "Replaying":
                    self.walk.handle(MainLogUsedUp(), self.steps.caused_by("append"))
            self.comparison.beyond.begun = self.goes_beyond
            return
        Following._tell_used_up(self)
        if self.making.is_again:  # what it would have taken is what the attempt on record took
            self.comparison.beyond.begun = self.execution.own_takes_only = False


def _returned(recovered: Logs, whole: Logs, changed: Logs, place: ForkPlace) -> Logs:
    """How much of a changed log counts as returned: as far as before, and no further than it goes."""
    found: dict[str, dict[int, bytes]] = {}
    for thread, by_epoch in recovered.items():
        for epoch, data in by_epoch.items():
            now, before = changed.get(thread, {}).get(epoch, b""), whole.get(thread, {}).get(epoch, b"")
            inside = (thread, epoch) == (place.thread, place.epoch) and place.offset < len(data)
            kept = now[: len(data) + (max(0, len(now) - len(before)) if inside else 0)]
            if kept:
                found.setdefault(thread, {})[epoch] = kept
    return found


@dataclass(slots=True)
class ForkRecovery(RecoveryReplay):
    """One failure, forked. What the parent has checked of the recording is not checked again."""

    making: Making = field(kw_only=True)

    def __post_init__(self) -> None:
        RecoveryReplay.__post_init__(self)
        walk, making, steps = self.walk, self.making, self.steps
        if not isinstance(steps, ForkSteps):
            raise InvariantError("a fork writes its steps as one")
        depths = [(one.at, one.change.depth) for one in making.stages if isinstance(one.change, OtherDepth)]
        self.walk = ForkWalk(
            walk.story,
            walk.scene,
            walk.graph,
            walk.answers,
            walk.steps,
            walk.on_effect,
            stages=making.stages,
            is_due=steps.is_due,
            depths=deque((at, making.graph_at(depth)) for at, depth in depths),
        )
        if making.stages:
            self.walk.loosen()

    def _free(self) -> Turns[tuple[Verdict, str]]:
        yield from self._follow({})
        return "free", ""

    def _check_touched(self) -> None:
        """The parent did."""

    def _verify_attempts(self) -> None:
        """The parent did."""

    def _check_own_log(self, logs: Returned) -> None:
        """The parent did."""

    def _followed(
        self, returned: Logs, bringers: Bringers, tells: bool, kind: Callable[..., Following] = ForkFollowing
    ) -> Following:
        return RecoveryReplay._followed(self, returned, bringers, tells, partial(kind, making=self.making))

    def _blamed(self, found: DivergenceFound) -> DivergenceFound:
        """The change is what it comes of."""
        return found

    def _identical(self, logs: Returned) -> tuple[Verdict, str]:
        return "identical", ""

    def _never_replayed(self) -> Turns[tuple[Verdict, str]]:
        scene = self.scene
        told = (event.get("type") for event in self.story.of_attempt.get((scene.task, scene.attempt), ()))
        if self.walk.escalated is not None and "escalated" not in told:
            what = f"checkpoint {scene.checkpoint}" if scene.checkpoint else "the beginning"
            return "free", (
                f"The recovery of {scene.task} escalates here, as {self.walk.escalated}: everything would be rolled "
                f"back to {what} or before, and go on as a new execution, of which this recording tells nothing"
            )
        return (yield from RecoveryReplay._never_replayed(self))
