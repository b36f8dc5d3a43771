"""The task that is forked fails once more: its next attempt, from the moment of that failure on.

What is answered to it is what its holders held then. It replays that, and goes on as a new execution: what it would
have taken is what the attempt on record took.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replay.debugger.executing.following import Until
from replay.debugger.forks.making import ForkSteps, Making
from replay.debugger.forks.recovery import ForkFollowing, ForkWalk
from replay.debugger.forks.survival import Survival
from replay.debugger.outcome import Missing
from replay.debugger.recorded.answers import Answers, Bringers, check_prefix_of_lineage
from replay.debugger.recorded.scene import Scene
from replay.debugger.recovery_replay import by_thread
from replay.debugger.together.exchange import Exchange
from replay.debugger.turns import at_once
from replay.debugger.writing.words import bytes_of
from replay.recovery import ChannelReconnected, DeterminantsReturned, RecoveryStarted, RestoreStarted, StateRestored


@dataclass(slots=True)
class Again:
    """`making` is the run that the failure ends."""

    making: Making
    steps: ForkSteps
    until: Until
    survival: Survival

    def run(self) -> str:
        """To its end; what there is to say of it."""
        making, survival = self.making, self.survival
        scene = self._scene()
        walk = self._asked(scene)
        if walk.started is None:
            what = f"checkpoint {survival.checkpoint}" if survival.checkpoint else "the beginning"
            return (
                f"The recovery of {scene.task} escalates here, as {walk.escalated}: everything would be rolled back "
                f"to {what} or before, and go on as a new execution, of which this recording tells nothing"
            )
        source, story = making.source, making.story
        check_prefix_of_lineage(source, scene.task, scene.before, walk.started)
        holders = walk.answers.holders_of(scene.task)
        again = making.again = replace(making, scene=scene, tracing=None, cut_logs=True, is_again=True)
        exchange = Exchange.between(story, ())
        if making.tracing is not None:  # an earlier attempt of the task stands in the same steps
            exchange.states[scene.task] = dict(making.tracing.held)
        following = ForkFollowing(
            source,
            story,
            scene,
            self.steps,
            walk,
            by_thread(walk.started),
            "end" if making.scene.failure is None else self.until,
            Bringers.of(holders, walk.started, survival.t_us),
            exchange=exchange,
            making=again,
        )
        what = f"the state of checkpoint {scene.checkpoint}" if scene.checkpoint else "its initial state"
        at_once(following.turns(f"{scene.task} begins with {what}, in epoch {scene.checkpoint}."))
        return ""

    def _scene(self) -> Scene:
        """Of an attempt that no recording knows."""
        before, story = self.making.scene, self.making.story
        known = story.attempts(before.task).union(self.making.source.attempts(before.task))
        return replace(
            before,
            attempt=max(known, default=0) + 1,
            checkpoint=self.survival.checkpoint,
            before=(before.attempt, *before.before),
        )

    def _asked(self, scene: Scene) -> ForkWalk:
        """Up to where every answer is in, or the recovery gives up."""
        making, steps, survival = self.making, self.steps, self.survival
        steps.begin_anew(survival.checkpoint)
        answers = Answers(making.source, making.story)
        walk = ForkWalk(making.story, scene, making.source.graph, answers, steps, lambda effect, causes: None)
        walk.loosen()
        what = f"the state of checkpoint {scene.checkpoint}" if scene.checkpoint else "the initial state"
        step = steps.write(
            "restore", f"{scene.task} is begun again as attempt {scene.attempt}, with {what}.", causes=steps.forked
        )
        causes = (f"step:{step}",)
        walk.handle(RestoreStarted(scene.checkpoint), causes)
        walk.handle(StateRestored(scene.checkpoint), causes)
        walk.handle(RecoveryStarted(), causes)
        for side, channels in (("input", walk.manager.setting.inputs), ("output", walk.manager.setting.outputs)):
            for channel in channels:
                walk.handle(ChannelReconnected(channel, side, 0), causes)  # type: ignore[arg-type]
        for channel, answer in survival.answers.items():
            asked = walk.asked.get((scene.task, channel))
            if asked is None:
                raise Missing(f"Nobody asks on {channel} for the logs of {scene.task}, though it was answered there.")
            size = sum(len(copy.data) for copy in answer.logs)
            said = f"What is held below {channel} when {scene.task} fails comes back: {bytes_of(size)}"
            causes = (f"step:{asked}",)
            step = steps.write("answer", f"{said} ({answer.result}).", causes=causes, channel=channel, size=size)
            walk.answered[scene.task, channel] = step
            walk.handle(DeterminantsReturned(channel, scene.task, answer.result, answer.logs), (f"step:{step}",))
        return walk
