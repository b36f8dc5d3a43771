"""Replays one recovery: the state machine over the recorded events, the task over the recorded buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from replay.bundle.members import member_name
from replay.causality.life import life_of
from replay.debugger.agreeing.contradictions import OF_ALL, check_attempt, contradiction_anywhere, told_by_events
from replay.debugger.agreeing.events import check_events
from replay.debugger.agreeing.evidence import check_output
from replay.debugger.agreeing.lines import check_offsets
from replay.debugger.agreeing.orders import check_orders
from replay.debugger.agreeing.receipts import LogEnds, check_receipts
from replay.debugger.agreeing.sizes import check_sizes
from replay.debugger.agreeing.snapshots import check_barriers
from replay.debugger.executing.following import Following, Until
from replay.debugger.executing.resend import write_resends
from replay.debugger.executing.verify import culprit_upstream, verify_attempt
from replay.debugger.outcome import DivergenceFound, Missing, Verdict
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import Answers, Bringers, check_prefix_of_lineage, first_difference
from replay.debugger.recorded.lineage import Lineage
from replay.debugger.recorded.logs import Logs, check_decodable
from replay.debugger.recorded.scene import Scene, own_logs
from replay.debugger.recorded.story import Story
from replay.debugger.together.ahead import Ahead
from replay.debugger.together.exchange import Exchange
from replay.debugger.turns import Turns
from replay.debugger.walking.log_walk import walk_log, walk_own_log
from replay.debugger.walking.walk import Walk
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import bytes_of, counted, no_logs, writes_since_checkpoint
from replay.model import TaskId, Thread
from replay.recovery import Logs as Returned
from replay.recovery import MainLogUsedUp, OutputRebuilt, ReplayInFlight
from replay.recovery.effects import Effect

ROLLS_BACK = ("coordinated",)
"""Protocols whose recovery is that all tasks begin again from a checkpoint."""

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
    until: Until = "snapshot"
    following: Following | None = None
    answers: Answers | None = None
    exchange: Exchange | None = None
    _executes: bool = True

    def __post_init__(self) -> None:
        answers = self.answers or Answers(self.source, self.story)
        graph = self.source.graph
        self.walk = Walk(self.story, self.scene, graph, answers, self.steps, self._on_effect, self.exchange)

    def ahead(self) -> Ahead:
        """What comes next."""
        head = self.walk.head
        if self.following is not None and self._executes:
            return self.following.ahead()
        if head is None or (self.walk.started and self._executes):
            return Ahead(self.steps.t_us)
        return Ahead(head["t_us"], True, head)

    def turns(self) -> Turns[tuple[Verdict, str]]:
        """One thing a turn, then the verdict and its sentence; raises where something contradicts or is missing."""
        self._agreed(check_events, self.source, self.story)
        if self.story.was_rolled_back_to(self.scene.task, self.scene.attempt):
            yield
            while self.walk.next_is_restore:  # it runs from the beginning: there is no recovery to follow
                self.walk.next_event()
                yield
            return (yield from self._rolled_back())
        yield
        while self.walk.started is None and self._next_event():
            yield
        if self.walk.started is None:
            return (yield from self._never_replayed())
        self._check_touched()
        if not self.walk.started:
            return (yield from self._free())
        yield from self._replay(self.walk.started)
        self._check_own_log(self.walk.started)
        self._verify_attempts()
        return self._identical(self.walk.started)

    def _next_event(self) -> bool:
        """An answer that can't be derived is told by what it doesn't follow from, where that can be found."""
        try:
            return self.walk.next_event()
        except DivergenceFound as found:
            raise contradiction_anywhere(self.source, self.story) or found from None

    # --- no replay ---

    def _never_replayed(self) -> Turns[tuple[Verdict, str]]:
        scene, state = self.scene, self.walk.manager.state.name
        self._check_touched()
        self._verify_attempts()
        rolled_back = self.story.was_rolled_back_to(scene.task, scene.attempt + 1)
        after = (yield from self._after_rollback(scene.attempt + 1)) if rolled_back else ""
        if self.walk.given_up:
            return "free", (
                f"The recovery of {scene.task} escalated and everything was rolled back, as {self.walk.escalated}: "
                f"no determinants were replayed, and the execution after it is a new one{after}."
            )
        if rolled_back:
            return "free", f"{self._rollback_words(scene.attempt + 1)}{after}."
        if self.source.manifest.protocol.observed and (scene.task, scene.attempt) in self.story.starts:
            walk_own_log(self.source, self.story, scene, self.steps)
            return "free", (
                f"The engine of this recording was only observed, and returns no determinants: attempt {scene.attempt} "
                f"of {scene.task} chose anew. Its own log was walked."
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

    def _rolled_back(self) -> Turns[tuple[Verdict, str]]:
        """The attempt began from a checkpoint with all others: nothing binds it, and its own log is followed."""
        self._check_touched()
        attempt = self.scene.attempt
        after = yield from self._after_rollback(attempt)
        self._verify_attempts()
        return "free", f"{self._rollback_words(attempt)}{after}."

    def _after_rollback(self, attempt: int) -> Turns[str]:
        """The execution that took the recovery's place, which no recovery manager has a part in."""
        task = self.scene.task
        checkpoint = self.story.checkpoint_of(task, attempt)
        self.scene = replace(self.scene, attempt=attempt, checkpoint=checkpoint)
        self.steps.state = "Running"
        self.steps.t_us = max(self.steps.t_us, self.story.start_of(task, attempt)[0])
        return (yield from self._go_on_freely(tells=False))

    def _rollback_words(self, attempt: int) -> str:
        task, protocol = self.scene.task, self.source.manifest.protocol
        checkpoint = self.story.checkpoint_of(task, attempt)
        what = f"checkpoint {checkpoint}" if checkpoint else "the beginning"
        if protocol.name in ROLLS_BACK:
            return (
                f"Everything was rolled back to {what}, as the protocol {protocol.name} has it: no determinants were "
                f"logged, nobody is left who depends on what {task} had chosen, and attempt {attempt} is a new "
                f"execution"
            )
        return (
            f"Everything was rolled back to {what} before {task} could recover by itself: no determinants were "
            f"replayed, and attempt {attempt} is a new execution"
        )

    def _go_on_freely(self, *, tells: bool) -> Turns[str]:
        """Where nothing was returned the whole attempt is a new execution: it is followed as far as it is recorded."""
        try:
            yield from self._follow({}, tells=tells)
        except Missing as missing:
            self.detail["not_followed"] = missing.sentence
            return f"; it can't be followed: {missing.sentence.rstrip('.')}"
        said, numbers = self.following.words() if self.following is not None else ("", {})
        self.detail |= numbers
        return said

    def _next_failure(self) -> str:
        for number, event in sorted(self.story.failures.items()):
            if event.get("task") == self.scene.task and event.get("attempt") == self.scene.attempt:
                return f"; failure {number} is that of this very attempt"
        return ""

    def _free(self) -> Turns[tuple[Verdict, str]]:
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
        said = yield from self._go_on_freely(tells=True)
        self._verify_attempts()
        free = f"No determinants of {task} were returned{self._why_free()}; attempt {attempt} is a new execution"
        return "free", f"{free}{said}."

    def _why_free(self) -> str:
        """What follows for others is not always the same."""
        protocol = self.source.manifest.protocol
        if self.story.recovers_without_determinants(self.scene.task, self.scene.attempt):
            return (
                ", as choices above it were lost and its inputs are not what its log tells of: tasks below it take "
                "records again, and nothing binds it to choose the same"
            )
        if not protocol.logs:
            return (
                f", as {no_logs(protocol)}: tasks below it may depend on what it had chosen, and nothing binds it to "
                f"choose the same again"
            )
        if protocol.in_storage:
            return ": the stable storage had none of them yet, and nobody who depended on more was left as he was"
        if self.walk.manager.setting.world is not None:
            return ": the outside world was left none, so that what it has of this epoch follows from the inputs alone"
        if not self.source.graph.task(self.scene.task).outputs:
            return f", as nobody is below it to hold them: {writes_since_checkpoint(protocol.sink)}"
        return ": nobody depends on what it had chosen"

    # --- the replay ---

    def _replay(self, logs: Returned) -> Turns[None]:
        source, scene = self.source, self.scene
        check_prefix_of_lineage(source, scene.task, scene.before, logs)
        returned = by_thread(logs)
        check_decodable(returned, "what was returned", source.graph.task(scene.task).counted_inputs)
        try:
            bringers = Bringers.of(self.walk.answers.holders_of(scene.task), logs, self.walk.started_us)
        except DivergenceFound as found:
            raise contradiction_anywhere(source, self.story) or found from None
        bringers.answers = self.walk.brought
        try:
            yield from self._follow(returned, bringers)
        except Missing:
            self.walk_log(bringers)
            raise

    def walk_log(self, bringers: Bringers | None = None) -> None:
        """Where nothing was executed: the determinants that came back, and the state machine to its end."""
        logs, scene = self.walk.started, self.scene
        if not logs or (self.following is not None and self.following.execution.log.lengths):
            return
        returned, shape = by_thread(logs), self.source.graph.task(scene.task)
        check_decodable(returned, "what was returned", shape.counted_inputs)
        lineage = Lineage(self.source, scene.task, scene.before)
        walk_log(returned, shape, lineage, self.steps, bringers or Bringers())
        self._conclude_without_execution()

    def _follow(self, returned: Logs, bringers: Bringers | None = None, *, tells: bool = True) -> Turns[None]:
        following = self.following = self._followed(returned, bringers or Bringers(), tells)
        if not returned and not following.goes_beyond:
            if tells:
                yield from self._take_what_precedes_running()
                self._conclude_without_execution()
            return
        try:
            yield from following.turns(self._restored_words())
        except DivergenceFound as found:
            raise self._blamed(found) from None
        self.detail |= following.stepping.resolution

    def _followed(
        self, returned: Logs, bringers: Bringers, tells: bool, kind: Callable[..., Following] = Following
    ) -> Following:
        """What is executed."""
        return kind(
            self.source,
            self.story,
            self.scene,
            self.steps,
            self.walk,
            returned,
            self.until,
            bringers,
            tells,
            self.exchange,
        )

    def _blamed(self, found: DivergenceFound) -> DivergenceFound:
        """What shows here may have begun elsewhere, in what was restored, or above."""
        contradicted = contradiction_anywhere(self.source, self.story) or self._restored_otherwise()
        return contradicted or culprit_upstream(self.source, self.story, self.scene.task, found)

    def _restored_otherwise(self) -> DivergenceFound | None:
        """Where the snapshot that it began with is not the one that the attempt takes which left it."""
        scene = self.scene
        for attempt in scene.before:
            path = member_name(scene.task, attempt, "state", scene.checkpoint)
            if path in self.source.members:
                found = self._verified(scene.task, attempt)
                if isinstance(found, DivergenceFound) and found.detail.get("member") == path:
                    return found
        return None

    def _take_what_precedes_running(self) -> Turns[None]:
        self._executes = False
        is_to_run = self.walk.is_to_run
        while is_to_run and not self.walk.next_is_running:
            yield
            if not self.walk.next_event():
                break

    def _conclude_without_execution(self) -> None:
        """The state machine goes its way; what a live task would have told it is taken as done."""
        if self.walk.manager.state.name == "Replaying":
            self.walk.handle(MainLogUsedUp(), self.steps.caused_by("take-determinant"))
        for channel in sorted(self.walk.manager.state.context.rebuilding):
            self.walk.handle(OutputRebuilt(channel), self.steps.caused_by("take-determinant"))

    def _on_effect(self, effect: Effect, causes: tuple[str, ...]) -> None:
        if isinstance(effect, ReplayInFlight) and self.following is not None:
            write_resends(self.source, self.scene, self.steps, self.following.comparison, effect, causes, self.exchange)

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
            self._agreed(check_orders, source, scene.task, attempt)
            ends = LogEnds(source, scene.task, attempt)
            for i in range(len(source.graph.task(scene.task).inputs)):
                self._agreed(check_receipts, source, self.story, ends, i)
            for k in range(len(source.graph.task(scene.task).outputs)):
                self._check_output(scene.task, attempt, k)
        for channel in source.graph.task(scene.task).inputs:
            one = source.graph.channel(channel)
            for attempt in source.attempts(one.source):
                self._check_output(one.source, attempt, one.k)

    def _check_output(self, task: TaskId, attempt: int, k: int) -> None:
        self._agreed(check_output, self.source, self.story, task, attempt, k)

    def _agreed(self, check: Callable[..., None], *of: Any) -> None:
        try:
            check(*of)
        except DivergenceFound as found:
            self.steps.findings.differs(told_by_events(self.source, self.story, found))

    def _check_own_log(self, logs: Returned) -> None:
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
            at = first_difference(mine, copy.data)
            found = DivergenceFound(
                f"{path} does not begin with the {len(copy.data)} bytes that were returned: the live recovery appended "
                f"something else from offset {at} on.",
                member=path,
                thread=copy.log.thread,
                epoch=copy.epoch,
                offset=at,
                asked=copy.data[at : at + 8].hex(),
                logged=mine[at : at + 8].hex(),
            )
            self.steps.findings.differs(found)

    def _verify_attempts(self) -> None:
        """Every attempt of this task, and of those it reads from, executed again as a whole; and, where the recording
        is small, every other one: a recording that contradicts itself anywhere is not called identical."""
        source, task = self.source, self.scene.task
        touched = {task, *source.graph.upstream(task)}
        for check in OF_ALL:
            self._agreed(check, source, self.story)
        size = self._buffer_bytes(source.graph.order)
        verified = []
        for one in source.graph.order:
            if not source.graph.task(one).inputs:
                self._agreed(check_offsets, source, one)
            if size <= (VERIFIED_BYTES if one in touched else VERIFIED_ASIDE_BYTES):
                verified += [(one, attempt) for attempt in source.attempts(one)]
            else:
                self._note(f"{one} as a whole, as the recording's buffers have {size:,} bytes")
        for attempt_of in verified:  # before any is executed, which would only show what follows from it
            self._agreed(check_attempt, source, self.story, *attempt_of)
        for attempt_of in verified:
            self._verify(*attempt_of)
        self._agreed(check_barriers, source)
        self._agreed(check_sizes, source)

    def _verify(self, task: TaskId, attempt: int) -> None:
        found = self._verified(task, attempt)
        if isinstance(found, DivergenceFound):
            self.steps.findings.differs(found)
        elif found is not None:
            self._note(f"{task} attempt {attempt}: {found.sentence}")

    def _verified(self, task: TaskId, attempt: int) -> DivergenceFound | Missing | None:
        """Looked at once, however many recoveries are replayed together."""
        known = {} if self.exchange is None else self.exchange.verified
        if (task, attempt) not in known:
            known[task, attempt] = self._executed_again(task, attempt)
        return known[task, attempt]

    def _executed_again(self, task: TaskId, attempt: int) -> DivergenceFound | Missing | None:
        try:
            verify_attempt(self.source, self.story, task, attempt, self.steps.look_up)
        except (DivergenceFound, Missing) as found:
            return found
        return None

    def _note(self, what: str) -> None:
        self.detail.setdefault("not_executed_again", []).append(what)

    def _buffer_bytes(self, tasks: Iterable[TaskId]) -> int:
        members = self.source.members
        names = (name for one in tasks for name in members.names(f"tasks/{one}/") if name.endswith(".buf"))
        return sum(members.size(name) for name in names)

    def _identical(self, logs: Returned) -> tuple[Verdict, str]:
        if self.following is None:
            raise Missing("Nothing was replayed.")
        comparison = self.following.comparison
        if comparison.uncompared:
            raise Missing(
                f"{counted(comparison.uncompared, 'rebuilt buffer')} of {self.scene.task} could not be compared: the "
                f"recording lacks what the attempt before had cut.",
                uncompared=comparison.uncompared,
            )
        size = sum(len(copy.data) for copy in logs)
        self.detail |= {"log_bytes": size, "buffers": comparison.compared, "snapshots": comparison.snapshots}
        self.detail["holders"] = sorted({copy.holder for copy in logs})
        log = f"{bytes_of(size)} of log appended again as {'it was' if size == 1 else 'they were'} returned"
        as_before = "as it was before" if comparison.compared == 1 else "as they were before"
        rebuilt = f"{counted(comparison.compared, 'buffer')} rebuilt {as_before}"
        if not comparison.compared:
            rebuilt = "no buffer to rebuild, as none was named by what was returned"
        return "identical", f"The replay of {self.scene.task} is identical: {log}, {rebuilt}{self._and_then(size)}."

    def _and_then(self, size: int) -> str:
        """What there is to say of the attempt beyond what was returned to it, and of one that never came so far."""
        scene, following = self.scene, self.following
        life = life_of(self.story.lives, scene.task, scene.attempt)
        short = self.story.was_cut_short(scene.task, scene.attempt)
        if life is not None and short and not self.story.began_to_replay(scene.task, scene.attempt):
            self.detail["ended_before_replaying"] = life.ended_by
            return (
                f"; attempt {scene.attempt} itself never came to it, as a {life.ended_by} ended it before it began to "
                f"replay: this is what its recovery would have been"
            )
        if following is None:
            return ""
        said, numbers = following.words()
        self.detail |= numbers
        return said


def by_thread(logs: Returned) -> dict[Thread, dict[int, bytes]]:
    """What was returned, as a replay follows it."""
    found: dict[Thread, dict[int, bytes]] = {}
    for copy in logs:
        found.setdefault(copy.log.thread, {})[copy.epoch] = copy.data
    return found
