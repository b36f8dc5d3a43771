"""Replays one recovery: the state machine over the recorded events, the task over the recorded buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replay.debugger.answers import Answers, Bringers, check_prefix_of_lineage
from replay.debugger.comparison import Comparison
from replay.debugger.evidence import check_output
from replay.debugger.execution import Execution, Plan
from replay.debugger.lineage import Lineage
from replay.debugger.log_walk import walk_log
from replay.debugger.logs import check_decodable
from replay.debugger.outcome import DivergenceFound, Missing, Verdict
from replay.debugger.ports import RecordingSource
from replay.debugger.resend import write_resends
from replay.debugger.scene import Scene, own_logs, snapshot_of
from replay.debugger.sink_writes import SinkWrites
from replay.debugger.stepping import Stepping
from replay.debugger.steps import StepWriter
from replay.debugger.story import Story
from replay.debugger.verify import culprit_upstream, operator_of, verify_attempt
from replay.debugger.walk import Walk
from replay.debugger.words import counted, no_logs, writes_since_checkpoint
from replay.model import TaskId, Thread
from replay.recovery import EpochStarted, Logs, MainLogUsedUp, OutputRebuilt, ReplayInFlight
from replay.recovery.effects import Effect

VERIFIED_BYTES = 64 << 20
VERIFIED_ASIDE_BYTES = 16 << 20
"""Recordings with more bytes of buffers than this: their attempts are not executed again beside the recovery."""


@dataclass(slots=True)
class RecoveryReplay:
    """One failure. `detail` says what was compared, and what was not."""

    source: RecordingSource
    story: Story
    scene: Scene
    steps: StepWriter
    detail: dict[str, Any] = field(default_factory=dict)
    walk: Walk = field(init=False)
    execution: Execution | None = None
    comparison: Comparison | None = None
    _used_up: bool = False
    _rebuilt: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        answers = Answers(self.source, self.story)
        self.walk = Walk(self.story, self.scene, self.source.graph, answers, self.steps, self._on_effect)

    def run(self) -> tuple[Verdict, str]:
        """The verdict and its sentence; raises where something contradicts or is missing."""
        if self.story.was_rolled_back_to(self.scene.task, self.scene.attempt):
            self.walk.take_restores()  # it runs from the beginning: there is no recovery to follow
            return self._never_replayed()
        while self.walk.started is None and self.walk.next_event():
            pass
        if self.walk.started is None:
            return self._never_replayed()
        self._check_touched()
        if not self.walk.started:
            return self._free()
        self._replay(self.walk.started)
        self._check_own_log(self.walk.started)
        self._verify_attempts()
        return self._identical(self.walk.started)

    # --- no replay ---

    def _never_replayed(self) -> tuple[Verdict, str]:
        scene, state = self.scene, self.walk.manager.state.name
        self._check_touched()
        if self.walk.given_up:
            return "free", (
                f"The recovery of {scene.task} escalated and everything was rolled back, as {self.walk.escalated}: "
                f"no determinants were replayed, and the execution after it is a new one."
            )
        for attempt in (scene.attempt, scene.attempt + 1):
            if self.story.was_rolled_back_to(scene.task, attempt):
                checkpoint = self.story.checkpoint_of(scene.task, attempt)
                return "free", (
                    f"Everything was rolled back to checkpoint {checkpoint} before {scene.task} could recover by "
                    f"itself: no determinants were replayed, and attempt {attempt} is a new execution."
                )
        if (scene.task, scene.attempt) not in self.story.of_attempt:
            raise Missing(
                f"The recording tells nothing of a recovery of {scene.task} after failure {scene.failure}: there are "
                f"no events of attempt {scene.attempt}."
            )
        raise Missing(
            f"Attempt {scene.attempt} of {scene.task} ended in {state}, before its determinants were back: there is "
            f"nothing to replay of this recovery{self._next_failure()}.",
            state=state,
        )

    def _next_failure(self) -> str:
        for number, event in sorted(self.story.failures.items()):
            if event.get("task") == self.scene.task and event.get("attempt") == self.scene.attempt:
                return f"; failure {number} is that of this very attempt"
        return ""

    def _free(self) -> tuple[Verdict, str]:
        task, attempt = self.scene.task, self.scene.attempt
        if any(self.story.returned_to(task, attempt).values()):
            depth = self.source.manifest.protocol.sharing_depth
            raise DivergenceFound(
                f"The events say that determinants came back to attempt {attempt} of {task}, but at sharing depth "
                f"{'full' if depth is None else depth} it asks nobody for any.",
                member="events.ndjson",
                asked="no determinants",
                logged="determinants-received",
            )
        self._verify_attempts()
        return (
            "free",
            f"No determinants of {task} were returned{self._why_free()} Attempt {attempt} is a new execution.",
        )

    def _why_free(self) -> str:
        """What follows for others is not always the same."""
        protocol = self.source.manifest.protocol
        if not protocol.logs:
            return (
                f", as {no_logs(protocol)}: tasks below it may depend on what it had chosen, and nothing binds it to "
                f"choose the same again."
            )
        if protocol.in_storage:
            return ": the stable storage had none of them yet, and nobody who depended on more was left as he was."
        if self.walk.manager.setting.world is not None:
            return ": the outside world was left none, so that what it has of this epoch follows from the inputs alone."
        if not self.source.graph.task(self.scene.task).outputs:
            return f", as nobody is below it to hold them: {writes_since_checkpoint(protocol.sink)}"
        return ": nobody depends on what it had chosen."

    # --- the replay ---

    def _replay(self, logs: Logs) -> None:
        source, scene = self.source, self.scene
        check_prefix_of_lineage(source, scene.task, scene.before, logs)
        by_thread: dict[Thread, dict[int, bytes]] = {}
        for copy in logs:
            by_thread.setdefault(copy.log.thread, {})[copy.epoch] = copy.data
        check_decodable(by_thread, "what was returned", len(source.graph.task(scene.task).inputs))
        bringers = Bringers.of(self.walk.answers.holders_of(scene.task), logs, self.walk.started_us)
        try:
            self._execute(by_thread, bringers)
        except DivergenceFound as found:
            raise culprit_upstream(source, self.story, scene.task, found) from None
        except Missing:
            self.walk_log(bringers)
            raise

    def walk_log(self, bringers: Bringers | None = None) -> None:
        """Where nothing was executed: the determinants that came back, and the state machine to its end."""
        logs, scene = self.walk.started, self.scene
        if not logs or (self.execution is not None and self.execution.log.lengths):
            return
        by_thread: dict[Thread, dict[int, bytes]] = {}
        for copy in logs:
            by_thread.setdefault(copy.log.thread, {})[copy.epoch] = copy.data
        shape = self.source.graph.task(scene.task)
        check_decodable(by_thread, "what was returned", len(shape.inputs))
        walk_log(by_thread, shape, self._lineage(), self.steps, bringers or Bringers())
        self._conclude_without_execution()

    def _lineage(self) -> Lineage:
        return Lineage(self.source, self.scene.task, self.scene.before)

    def _execute(self, logs: Mapping[Thread, Mapping[int, bytes]], bringers: Bringers) -> None:
        source, scene = self.source, self.scene
        state = snapshot_of(source, scene.task, scene.checkpoint, scene.attempt)
        if scene.checkpoint and state is None:
            raise Missing(
                f"The recording lacks the snapshot of checkpoint {scene.checkpoint} that {scene.task} restored (no "
                f"state/{scene.checkpoint}.json), so its records can't be processed again.",
                checkpoint=scene.checkpoint,
            )
        plan = Plan(scene.task, scene.checkpoint, state, logs, (scene.attempt, *scene.before), "the returned log")
        writes = SinkWrites(source, self.story, scene.task, scene.attempt, state)
        self.comparison = Comparison(source, scene.task, own=scene.attempt, against=scene.before, writes=writes)
        stepping = Stepping(
            source.graph.task(scene.task),
            self._lineage(),
            self.steps,
            self.comparison,
            bringers,
            holds_back=True,
            requested=self.walk.requested,
            on_epoch=self._on_epoch,
        )
        self.execution = Execution(source, plan, operator_of(source, scene.task), stepping)
        stepping.begin(self.execution, self._restored_words(), self.steps.caused_by("transition"))
        self.execution.start()
        self._drive()
        self.execution.log.check_complete()
        self.detail |= stepping.resolution

    def _conclude_without_execution(self) -> None:
        """The state machine goes its way; what a live task would have told it is taken as done."""
        if self.walk.manager.state.name == "Replaying":
            self.walk.handle(MainLogUsedUp(), self.steps.caused_by("take-determinant"))
        for channel in sorted(self.walk.manager.state.context.rebuilding):
            self.walk.handle(OutputRebuilt(channel), self.steps.caused_by("take-determinant"))

    def _drive(self) -> None:
        execution = self.execution
        if execution is None:
            return
        self._tell_manager()
        while True:
            self._catch_up(execution)
            if not execution.step():
                break
            self._tell_manager()
        while self.walk.manager.state.name == "Replaying" or self.walk.next_is_due(self.steps.t_us):
            if not self.walk.next_event():
                break
        self.walk.check_all_seen()

    def _catch_up(self, execution: Execution) -> None:
        """Recorded events come before what was done after them."""
        following = execution.next_time_us()
        while following is not None and self.walk.next_us is not None and self.walk.next_us <= following:
            if self.walk.next_is_running and execution.body.replaying:
                return
            self.walk.next_event()

    def _tell_manager(self) -> None:
        execution = self.execution
        if execution is None:
            return
        if not self._used_up and not execution.body.replaying:
            self._used_up = True
            self.walk.take_what_precedes_running()
            if not self.walk.manager.is_running:
                self.walk.handle(MainLogUsedUp(), self.steps.caused_by("append"))
        rebuilding = self.walk.manager.state.context.rebuilding
        for k, one in enumerate(self.source.graph.task(self.scene.task).outputs):
            if k not in self._rebuilt and not execution.pending[k]:
                self._rebuilt.add(k)
                if one.channel in rebuilding:
                    self.walk.handle(OutputRebuilt(one.channel), self.steps.caused_by("hold-back"))

    def _on_epoch(self, epoch: int) -> None:
        self.walk.handle(EpochStarted(epoch), self.steps.caused_by("take-buffer"))

    def _on_effect(self, effect: Effect, causes: tuple[str, ...]) -> None:
        if isinstance(effect, ReplayInFlight) and self.comparison is not None:
            write_resends(self.source, self.scene, self.steps, self.comparison, effect, causes)

    def _restored_words(self) -> str:
        scene = self.scene
        what = f"the state of checkpoint {scene.checkpoint}" if scene.checkpoint else "its initial state"
        return f"{scene.task} begins with {what}, in epoch {scene.checkpoint}."

    # --- checks ---

    def _check_touched(self) -> None:
        """The buffers and deltas that the recovery touches, against everything else said of them."""
        source, scene = self.source, self.scene
        present = set(source.attempts(scene.task))
        for attempt in sorted({scene.attempt, *scene.before} & present):
            for k in range(len(source.graph.task(scene.task).outputs)):
                check_output(source, self.story, scene.task, attempt, k)
        for channel in source.graph.task(scene.task).inputs:
            one = source.graph.channel(channel)
            for attempt in source.attempts(one.source):
                check_output(source, self.story, one.source, attempt, one.k)

    def _check_own_log(self, logs: Logs) -> None:
        """What the attempt itself recorded begins with what was returned to it."""
        cut_short = self.story.was_cut_short(self.scene.task, self.scene.attempt)
        own = own_logs(self.source, self.scene.task, self.scene.attempt, from_epoch=self.scene.checkpoint)
        if not any(own.values()):
            self.detail["not_compared"] = f"attempt {self.scene.attempt} left no log of its own"
            return
        for copy in logs:
            mine = own.get(copy.log.thread, {}).get(copy.epoch, b"")
            if mine.startswith(copy.data) or (cut_short and copy.data.startswith(mine)):
                continue
            path = f"tasks/{self.scene.task}/{self.scene.attempt}/{copy.log.thread}/{copy.epoch}.det"
            raise DivergenceFound(
                f"{path} does not begin with the {len(copy.data)} bytes that were returned: the live recovery appended "
                f"something else.",
                member=path,
                thread=copy.log.thread,
                epoch=copy.epoch,
            )

    def _verify_attempts(self) -> None:
        """Every attempt of this task, and of those it reads from, executed again as a whole; and, where the recording
        is small, every other one: a recording that contradicts itself anywhere is not called identical."""
        source, task = self.source, self.scene.task
        touched = {task, *source.graph.upstream(task)}
        size = self._buffer_bytes(source.graph.order)
        for one in source.graph.order:
            if size <= (VERIFIED_BYTES if one in touched else VERIFIED_ASIDE_BYTES):
                for attempt in source.attempts(one):
                    self._verify(one, attempt)
            else:
                self._note(f"{one} as a whole, as the recording's buffers have {size:,} bytes")

    def _verify(self, task: TaskId, attempt: int) -> None:
        for k in range(len(self.source.graph.task(task).outputs)):
            check_output(self.source, self.story, task, attempt, k)
        try:
            verify_attempt(self.source, self.story, task, attempt, self.steps.look_up)
        except Missing as missing:
            self._note(f"{task} attempt {attempt}: {missing.sentence}")

    def _note(self, what: str) -> None:
        self.detail.setdefault("not_executed_again", []).append(what)

    def _buffer_bytes(self, tasks: Iterable[TaskId]) -> int:
        members = self.source.members
        names = (name for one in tasks for name in members.names(f"tasks/{one}/") if name.endswith(".buf"))
        return sum(members.size(name) for name in names)

    def _identical(self, logs: Logs) -> tuple[Verdict, str]:
        comparison, execution = self.comparison, self.execution
        if comparison is None or execution is None:
            raise Missing("Nothing was replayed.")
        if comparison.uncompared:
            raise Missing(
                f"{counted(comparison.uncompared, 'rebuilt buffer')} of {self.scene.task} could not be compared: the "
                f"recording lacks what the attempt before had cut.",
                uncompared=comparison.uncompared,
            )
        size = sum(len(copy.data) for copy in logs)
        self.detail |= {"log_bytes": size, "buffers": comparison.compared, "snapshots": comparison.snapshots}
        self.detail["holders"] = sorted({copy.holder for copy in logs})
        return "identical", (
            f"The replay of {self.scene.task} is identical: {size:,} bytes of log appended again as they were "
            f"returned, {counted(comparison.compared, 'buffer')} rebuilt as they were before."
        )
