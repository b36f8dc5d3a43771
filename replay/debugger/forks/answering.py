"""What holders would have answered: had one more task failed, or had determinants travelled less or more far.

The recovery manager of each task that is asked answers, or relays, as it does when it lives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from replay.causality.frontiers import FrontierRow, frontiers
from replay.causality.life import attempt_at
from replay.debugger.outcome import Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import Answers
from replay.debugger.recorded.story import Story
from replay.log.causal_log import Copy
from replay.model import WORLD, ChannelId, Graph, LogId, TaskId
from replay.recovery import (
    AnswerDeterminants,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    Logs,
    RecoveryManager,
    RequestDeterminants,
    Setting,
)
from replay.recovery.answers import Answer
from replay.recovery.effects import Effect


@dataclass(slots=True)
class Answering:
    """At one moment. `down`: the tasks that are down, and know nothing. `depth`: how far determinants had travelled."""

    source: RecordingSource
    story: Story
    answers: Answers
    t_us: int
    down: frozenset[str]
    depth: int | None
    graph: Graph = field(init=False)
    _grown: list[FrontierRow] | None = None

    def __post_init__(self) -> None:
        manifest = self.source.manifest
        self.graph = Graph(replace(manifest, protocol=replace(manifest.protocol, sharing_depth=self.depth)))

    def of(self, task: TaskId, epoch: int) -> Mapping[ChannelId, Answer]:
        """By output of the task, what is answered to a request for its own logs."""
        outputs = self.graph.task(task).outputs
        return {one.channel: self.asked(ChannelId(one.channel), task, epoch) for one in outputs}

    def asked(self, channel: ChannelId, of: TaskId, epoch: int) -> Answer:
        """What is answered there to a request for the logs of that task."""
        if channel.endswith(f">{WORLD}"):
            return self._left_outside(of, epoch)
        target = self.graph.channel(channel).target
        lost = target in self.down
        setting = Setting.of(
            self.graph,
            target,
            (lambda one, since: Logs()) if lost else (lambda one, since: self._held(target, one, since)),
            touched=lambda one: not lost,
        )
        manager = RecoveryManager(setting, running=not lost, epoch=epoch)
        for output in setting.outputs if lost else ():
            manager.handle(ChannelReconnected(output, "output", 0))
        effects = manager.handle(DeterminantsRequested(channel, of, epoch))
        while (answer := _answer(effects)) is None:
            effects = tuple(
                effect
                for asked in effects
                if isinstance(asked, RequestDeterminants)
                for effect in self._relayed(manager, asked)
            )
            if not effects:
                return Answer("failed-too")
        return Answer(answer.result, answer.logs)

    def _relayed(self, manager: RecoveryManager, asked: RequestDeterminants) -> tuple[Effect, ...]:
        below = self.asked(asked.channel, asked.of, asked.epoch)
        return manager.handle(DeterminantsReturned(asked.channel, asked.of, below.result, below.logs))

    # --- what a survivor holds ---

    def _left_outside(self, of: TaskId, epoch: int) -> Answer:
        """The world, or a storage, that keeps determinants never fails."""
        lineage = sum(int(one["t_us"]) <= self.t_us for one in self.story.rollbacks)
        copies = self.answers.holders_of(of).held_at(WORLD, lineage, self.t_us, from_epoch=epoch)
        return Answer("held", Logs.of(copy for copy in copies if copy.data))

    def _held(self, holder: TaskId, of: TaskId, epoch: int) -> Logs:
        hops, longest = self.graph.distance(of, holder), self.graph.longest_distance(of, holder)
        if hops is None or (self.depth is not None and hops > self.depth):
            return Logs()
        recorded = self.source.manifest.protocol.sharing_depth
        attempt = attempt_at(self.story.lives, holder, self.t_us)
        if self.depth != recorded and hops != longest:
            raise Missing(
                f"Ways of {hops} and of {longest} hops lead from {of} to {holder}, so it can't be told what {holder} "
                f"would have held of it at another sharing depth.",
                holder=holder,
            )
        if recorded is None or hops <= recorded:
            return self.answers.held_by(holder, attempt, of, epoch, self.t_us)
        return self._depended_on(holder, attempt, of, epoch)

    def _depended_on(self, holder: TaskId, attempt: int, of: TaskId, epoch: int) -> Logs:
        """Where a log had travelled as far as what follows from it, a task holds all that it depends on."""
        if self._grown is None:
            self._grown = frontiers(self.source)
        upto: dict[tuple[str, int], int] = {}
        for row in self._grown:
            mine = (row.task, row.attempt, row.of_task) == (holder, attempt, of)
            if mine and row.t_us <= self.t_us and row.epoch >= epoch:
                upto[row.thread, row.epoch] = max(row.upto, upto.get((row.thread, row.epoch), 0))
        writer = attempt_at(self.story.lives, of, self.t_us - 1)
        found = []
        for (thread, one), length in sorted(upto.items()):
            data = max((self.source.log_bytes(of, each, thread, one) for each in range(writer + 1)), key=len)[:length]
            if len(data) < length:
                raise Missing(
                    f"The recording lacks the log of {of}, epoch {one}, as far as {holder} depended on it.",
                    holder=holder,
                )
            found.append(Copy(holder, LogId(of, thread), one, data))
        return Logs.of(found)


def _answer(effects: tuple[Effect, ...]) -> AnswerDeterminants | None:
    return next((one for one in effects if isinstance(one, AnswerDeterminants)), None)
