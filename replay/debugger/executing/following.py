"""Executes what a recovery executed: along the returned log, and beyond it along what the new attempt chose itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution, Plan
from replay.debugger.executing.verify import operator_of
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import Bringers
from replay.debugger.recorded.lineage import Lineage
from replay.debugger.recorded.logs import Logs, built_buffers, check_decodable
from replay.debugger.recorded.scene import Scene, own_logs, snapshot_of
from replay.debugger.recorded.story import Story
from replay.debugger.together.ahead import Ahead
from replay.debugger.together.exchange import Exchange
from replay.debugger.turns import Turns
from replay.debugger.walking.walk import Walk
from replay.debugger.writing.followed import Followed
from replay.debugger.writing.stepping import Stepping
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import bytes_of, counted, no_logs
from replay.model import MAIN, thread_of_output
from replay.recovery import EpochStarted, MainLogUsedUp, OutputRebuilt

Until = Literal["running", "snapshot", "end"]
UNTIL: tuple[Until, ...] = ("running", "snapshot", "end")
"""How far a replay goes beyond what was returned: not at all, to the attempt's next snapshot, to the end of its log."""


@dataclass(slots=True)
class Following:
    """One attempt after a failure. `tells` is False where no recovery manager has a part in it: after a rollback.

    `lacks` says why the attempt's own log could not be followed beyond what was returned, where it could not.
    """

    source: RecordingSource
    story: Story
    scene: Scene
    steps: StepWriter
    walk: Walk
    returned: Logs
    until: Until = "snapshot"
    bringers: Bringers = field(default_factory=Bringers)
    tells: bool = True
    exchange: Exchange | None = None
    lacks: str = ""
    stopped_at: int | None = None
    execution: Execution = field(init=False)
    comparison: Comparison = field(init=False)
    stepping: Stepping = field(init=False)
    _recovered_buffers: list[int] = field(default_factory=list)
    _begun: bool = False
    _at_its_end: bool = False
    _used_up: bool = False
    _rebuilt: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        source, scene, task = self.source, self.scene, self.scene.task
        shape = source.graph.task(task)
        plan = self._plan()
        self.comparison = self._compared(plan)
        self._recovered_buffers = [
            len(built_buffers(self.returned, thread_of_output(k), plan.where)) for k in range(len(shape.outputs))
        ]
        self.stepping = Stepping(
            shape,
            Followed(
                Lineage(source, task, scene.before),
                self.bringers,
                plan.recovered,
                Lineage(source, task, (scene.attempt,)),
            ),
            self.steps,
            self.comparison,
            holds_back=True,
            requested=self.walk.requested,
            exchange=self.exchange,
            on_epoch=self._on_epoch,
            on_append=self._tell_used_up,
            on_snapshot=self._on_snapshot,
        )
        self.execution = self._executed(plan)
        if not shape.inputs:
            self.execution.cut_times.cut_us = self.comparison.own_cut_us
            self.execution.cut_times.main_first_us = self._main_first_us

    def _compared(self, plan: Plan) -> Comparison:
        return Comparison(self.source, self.story, plan)

    def _executed(self, plan: Plan) -> Execution:
        return Execution(
            self.source, plan, operator_of(self.source, self.scene.task, self.scene.operators), self.stepping
        )

    # --- what is followed ---

    def _plan(self) -> Plan:
        source, scene = self.source, self.scene
        state = snapshot_of(source, scene.task, scene.checkpoint, scene.attempt)
        if scene.checkpoint and state is None:
            raise Missing(
                f"The recording lacks the snapshot of checkpoint {scene.checkpoint} that {scene.task} restored (no "
                f"state/{scene.checkpoint}.json), so its records can't be processed again.",
                checkpoint=scene.checkpoint,
            )
        take_from, own, anew = (scene.attempt, *scene.before), self._own_log(), self.story.without_determinants
        if own is None:
            return Plan(
                scene.task, scene.checkpoint, state, self.returned, take_from, "the returned log", begin_anew=anew
            )
        return Plan(
            scene.task,
            scene.checkpoint,
            state,
            own,
            take_from,
            "the returned log",
            to_the_last_take=self.until != "running" and not source.graph.task(scene.task).outputs,
            recovered=self.returned,
            beyond=f"the log of attempt {scene.attempt} of {scene.task} itself",
            begin_anew=anew,
        )

    def _own_log(self) -> Logs | None:
        """The attempt's own log, where it goes on from what was returned; else None, and `lacks` says why."""
        source, scene = self.source, self.scene
        attempt = f"attempt {scene.attempt}"
        if self.until == "running":
            return None
        own = own_logs(source, scene.task, scene.attempt, from_epoch=scene.checkpoint)
        if not any(own.values()):
            protocol = source.manifest.protocol
            self.lacks = no_logs(protocol) if not protocol.logs else f"{attempt} left no log of its own"
            return None
        for thread, by_epoch in self.returned.items():
            if not all(own.get(thread, {}).get(epoch, b"").startswith(data) for epoch, data in by_epoch.items()):
                self.lacks = f"{attempt} ended before it had appended again all that was returned"
                return None
        try:
            check_decodable(own, f"the log of {attempt}", source.graph.task(scene.task).counted_inputs)
        except DivergenceFound as found:
            self.lacks = found.sentence
            return None
        return own

    # --- the way through it ---

    def turns(self, restored: str) -> Turns[None]:
        """To the end of what is followed, one thing a turn; raises where something contradicts or is missing."""
        execution = self.execution
        began = self.story.start_of(self.scene.task, self.scene.attempt)[1]
        yield
        self._begun = True
        self.stepping.begin(execution, restored, self.steps.caused_by("transition") if self.tells else began)
        self._tell_used_up()
        execution.start()
        self._tell_rebuilt()
        exact = False
        yield
        while True:
            if self.event_is_due():
                self._take_event(exact)
                exact = True
            elif execution.step():
                self._tell_used_up()
                self._tell_rebuilt()
                exact = False
            else:
                break
            yield
        self._at_its_end = True
        while self.tells and (not self._used_up or self.walk.next_is_due(self.steps.t_us)):
            yield
            if not self.walk.next_event():
                break
        if self.tells:
            self.walk.check_all_seen()
        execution.check_complete(self.returned if execution.stopped else None)

    def _take_event(self, exact: bool) -> None:
        """A recorded event. What was executed before it bears no time of its own: it may have come after it."""
        if not exact and self.steps.open_after is None:
            self.steps.open_after = self.steps.latest
        self.walk.next_event()
        self.steps.open_after = None

    def ahead(self) -> Ahead:
        """What comes next."""
        execution, now_us, event = self.execution, self.steps.t_us, self.walk.head
        if not self._begun:
            return Ahead(now_us)
        if event is not None and (self._at_its_end or self.event_is_due()):
            return Ahead(event["t_us"], True, event)
        if self._at_its_end:
            return Ahead(now_us)
        if not execution.inputs:
            cut_us = execution.next_cut_us()
            return Ahead(now_us) if cut_us is None else Ahead(max(now_us, cut_us))
        goes_on = execution.body.pending_elements or execution.next_cut() is not None or execution.done
        head = None if goes_on else execution.next_take()
        if head is None:
            return Ahead(now_us)
        taken = head.buffer.frame.seq, head.receipt.sender_attempt
        buffer = execution.shape.inputs[head.i], taken[1], taken[0]
        return Ahead(max(now_us, head.receipt.taken_us), True, buffer=buffer)

    def _main_first_us(self) -> int | None:
        """When the main thread had used up its log; None where it has."""
        return self.walk.next_us if self.tells and not self._used_up and self.walk.next_is_running else None

    def event_is_due(self) -> bool:
        """Whether a recorded event comes next: before what was done after it."""
        if not self.tells or self.walk.next_us is None:
            return False
        following = self.execution.next_time_us() if self.execution.inputs else self.execution.next_cut_us()
        if following is None or self.walk.next_us > following:
            return False
        return (self._used_up or not self.walk.next_is_running) and not self._was_cut_before(self.walk.next_us)

    def _was_cut_before(self, t_us: int) -> bool:
        """Whether a buffer can be cut that the attempt cut before that time."""
        k = self.execution.next_cut()
        cut_us = None if k is None else self.comparison.own_cut_us(k, self.execution.body.writers[k].next_seq)
        return cut_us is not None and cut_us < t_us

    def _tell_used_up(self) -> None:
        """As soon as the last returned determinant is appended again, be it in the midst of a record."""
        if self._used_up or not self.execution.log.reached(MAIN, self.returned.get(MAIN, {})):
            return
        self._used_up = True
        if self.tells:
            self.walk.take_what_precedes_running()
            if not self.walk.manager.is_running:
                self.walk.handle(MainLogUsedUp(), self.steps.caused_by("append"))
        self.comparison.beyond.begun = self.execution.own_takes_only = self.goes_beyond

    def _tell_rebuilt(self) -> None:
        if not self.tells:
            return
        rebuilding = self.walk.manager.state.context.rebuilding
        for k, one in enumerate(self.source.graph.task(self.scene.task).outputs):
            if k not in self._rebuilt and self.execution.cuts[k] >= self._recovered_buffers[k]:
                self._rebuilt.add(k)
                if one.channel in rebuilding:
                    self.walk.handle(OutputRebuilt(one.channel), self.steps.caused_by("hold-back"))

    def _on_epoch(self, epoch: int) -> None:
        if self.tells:
            self.walk.handle(EpochStarted(epoch), self.steps.caused_by("take-buffer"))

    def _on_snapshot(self, checkpoint: int) -> None:
        rebuilt = all(cut >= least for cut, least in zip(self.execution.cuts, self._recovered_buffers, strict=True))
        if self.until == "snapshot" and self.goes_beyond and self._used_up and rebuilt:
            self.stopped_at = checkpoint
            self.execution.stopped = True

    # --- what came of it ---

    @property
    def goes_beyond(self) -> bool:
        """Whether the attempt's own choices are followed."""
        return self.execution.plan.recovered is not None

    def words(self) -> tuple[str, dict[str, Any]]:
        """The end of a sentence, about what lies beyond what was returned if it was to be followed; and its numbers."""
        if self.until == "running":
            return "", {}
        task, attempt, beyond = self.scene.task, self.scene.attempt, self.comparison.beyond
        if not self.goes_beyond:
            return f"; what {task} did from there on can't be followed: {self.lacks}", {"not_followed": self.lacks}
        recovered = sum(len(data) for by_epoch in self.returned.values() for data in by_epoch.values())
        size = sum(self.execution.log.lengths.values()) - recovered
        numbers = {"log_bytes": size, "buffers": beyond.buffers, "snapshots": beyond.snapshots}
        if self.stopped_at is not None:
            numbers["stopped_at_checkpoint"] = self.stopped_at
            end = f"up to its snapshot of checkpoint {self.stopped_at}"
        else:
            end = "to its end"
        made = f"{bytes_of(size)} of log and {counted(beyond.buffers, 'buffer')}"
        begun = f"from there on attempt {attempt} is a new execution," if self.returned else "it is"
        said = f"; {begun} followed along its own log {end}: {made}"
        lacking = [counted(beyond.uncompared, "buffer")] if beyond.uncompared else []
        if beyond.uncompared:
            numbers["uncompared"] = beyond.uncompared
        if gone := beyond.snapshots_gone + self.comparison.snapshots_gone:
            numbers["snapshots_gone"] = gone
            lacking.append(counted(gone, "snapshot"))
        if lacking:
            return f"{said}, of which the recording lacks {' and '.join(lacking)} to compare with", {"beyond": numbers}
        return f"{said}, as recorded", {"beyond": numbers}
