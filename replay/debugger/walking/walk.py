"""Gives the recovery manager every event that the recording has for the attempt, in order, and writes the steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from replay.debugger.outcome import DivergenceFound
from replay.debugger.recorded.answers import Answers, disagreeing
from replay.debugger.recorded.members import placed_receipts
from replay.debugger.recorded.scene import Scene
from replay.debugger.recorded.story import Event, Story, extents_of
from replay.debugger.together.exchange import Exchange
from replay.debugger.walking.deeds import EFFECTS, Deeds
from replay.debugger.walking.walk_words import effect_words, event_words, merge_words, transition_words
from replay.debugger.writing.steps import StepWriter
from replay.debugger.writing.words import listed
from replay.errors import CorruptRecording, UnexpectedEvent
from replay.model import ChannelId, Graph, TaskId, Thread
from replay.recovery import (
    AnswerDeterminants,
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    EnteredRunning,
    Escalate,
    Logs,
    RecoveryManager,
    RecoveryStarted,
    ReplayInFlight,
    Replaying,
    ReplayRequested,
    RequestDeterminants,
    RequestReplay,
    RestoreStarted,
    Setting,
    StartReplaying,
    State,
    StateRestored,
    WaitingDeterminants,
)
from replay.recovery import Event as ManagerEvent
from replay.recovery.answers import RESULTS
from replay.recovery.answers import Answers as Given
from replay.recovery.effects import Effect


@dataclass(slots=True)
class Walk:
    """The state machine's part of a replay. `on_effect` is told what the runtime would have to do.

    By failed task and channel, the steps at which it `asked` for determinants and was `answered`; by channel those at
    which buffers were `requested` on an input and `wanted` on an output; by log and epoch the answer that `brought` it.
    """

    story: Story
    scene: Scene
    graph: Graph
    answers: Answers
    steps: StepWriter
    on_effect: Callable[[Effect, tuple[str, ...]], None]
    exchange: Exchange | None = None
    manager: RecoveryManager = field(init=False)
    deeds: Deeds = field(init=False)
    started: Logs | None = None
    started_us: int = 0
    event_us: int = 0
    escalated: str | None = None
    answered: dict[tuple[str, ChannelId], int] = field(default_factory=dict)
    asked: dict[tuple[str, ChannelId], int] = field(default_factory=dict)
    requested: dict[ChannelId, int] = field(default_factory=dict)
    wanted: dict[ChannelId, int] = field(default_factory=dict)
    brought: dict[tuple[Thread, int], int] = field(default_factory=dict)
    _events: deque[Event] = field(default_factory=deque)
    _current: Event = field(default_factory=dict)
    _causes: tuple[str, ...] = ()
    _told_at: int | None = None

    def __post_init__(self) -> None:
        task = self.scene.task
        events = self.story.of_attempt.get((task, self.scene.attempt), ())
        self._events = deque(events)
        self.deeds = Deeds.of(self.scene, self.answers, self.steps, events)
        diverged = self.story.recovers_without_determinants(task, self.scene.attempt)
        setting = Setting.of(self.graph, task, self._holdings, self._was_informed, self._was_touched, diverged=diverged)
        self.manager = RecoveryManager(setting, observer=self)

    # --- driving ---

    @property
    def given_up(self) -> bool:
        """Whether the recovery escalated to a rollback."""
        return self.escalated is not None and self.graph.manifest.protocol.on_lost == "rollback"

    @property
    def head(self) -> Event | None:
        """The next recorded event."""
        return self._events[0] if self._events else None

    @property
    def next_us(self) -> int | None:
        """When the next recorded event happened; None where there is none left."""
        return int(self._events[0]["t_us"]) if self._events else None

    @property
    def next_is_running(self) -> bool:
        """Whether the next recorded event is that of entering Running."""
        return bool(self._events) and self._events[0].get("to") == "Running"

    @property
    def is_to_run(self) -> bool:
        """Whether it is recorded that it enters Running, and was not told so far."""
        return any(event.get("to") == "Running" for event in self._events)

    def next_is_due(self, t_us: int) -> bool:
        """Whether the next recorded event happened up to that time."""
        return self.next_us is not None and self.next_us <= t_us

    @property
    def next_is_restore(self) -> bool:
        """Whether the next recorded event tells of how it got its state."""
        return bool(self._events) and self._events[0].get("type") in ("restore-started", "state-restored")

    def take_what_precedes_running(self) -> None:
        """Takes the recorded events before that of entering Running, where there is such a one."""
        if self.is_to_run:
            while not self.next_is_running and self.next_event():
                pass

    def next_event(self) -> bool:
        """Takes the next recorded event; False where there is none left."""
        if self.given_up:
            self._events.clear()  # the attempt is about to be ended; its manager is told no more
        if not self._events:
            return False
        event = self._current = self._events.popleft()
        self.event_us = int(event["t_us"])
        self.steps.t_us = max(self.steps.t_us, self.event_us)
        kind = str(event.get("type"))
        if kind == "recovery-state":
            self._recorded_state(event)
        elif kind in EFFECTS:
            self._recorded_effect(kind, event)
        else:
            told = self._read(kind, event)
            if told is not None:
                from_others = () if self.exchange is None else self.exchange.caused(event)
                self._causes = (f"event:{event['n']}", *from_others)
                self._write_event(event, told)
                self.handle(told, self._causes)
        return True

    def handle(self, event: ManagerEvent, causes: tuple[str, ...] = ()) -> None:
        """Tells the manager, and does what it asks for."""
        self._causes = causes
        if not isinstance(event, DeterminantsRequested | DeterminantsReturned | ChannelReconnected):
            self._told_at = None
        try:
            effects = self.manager.handle(event)
        except UnexpectedEvent as fault:
            self.steps.findings.differs(
                DivergenceFound(
                    f"The recorded event can't have happened in this state: {fault}.",
                    event=str(event),
                    state=self.manager.state.name,
                )
            )
            return
        except CorruptRecording as fault:
            raise disagreeing(fault) from None
        if isinstance(event, ChannelLost | ChannelReconnected) and event.side == "output":  # what it had said is void
            self.answered = {of: step for of, step in self.answered.items() if of[1] != event.channel}
        for effect in effects:
            self._perform(effect)

    def check_all_seen(self) -> None:
        """At the end, what the manager asked for stands in the recording, if the attempt lived to do it."""
        if not self.story.was_cut_short(self.scene.task, self.scene.attempt):
            self.deeds.check_all_told(self._events)

    # --- what was recorded ---

    def _read(self, kind: str, event: Event) -> ManagerEvent | None:
        try:
            return self._told(kind, event)
        except (KeyError, TypeError, ValueError) as fault:
            found = DivergenceFound(
                f"Event {event['n']} ({kind}) can't be understood: {type(fault).__name__} at {fault}.",
                event=event["n"],
                member="events.ndjson",
            )
            self.steps.findings.differs(found)
            return None

    def _told(self, kind: str, event: Event) -> ManagerEvent | None:
        channel = ChannelId(str(event.get("channel")))
        match kind:
            case "restore-started":
                return RestoreStarted(int(event["checkpoint"]))
            case "state-restored":
                return StateRestored(int(event["checkpoint"]))
            case "channel-reconnected":
                return ChannelReconnected(
                    channel, event["side"], int(event.get("received", 0)), event.get("diverged") is True
                )
            case "channel-lost":
                return ChannelLost(channel, event["side"])
            case "determinants-request-received":
                return DeterminantsRequested(channel, TaskId(event["of"]), int(event["epoch"]))
            case "determinants-received":
                logs = self.answers.returned(event)
                result = event["result"]
                if result not in RESULTS:
                    raise ValueError(f"the result {result!r:.60}")
                return DeterminantsReturned(channel, TaskId(event["of"]), result, logs)
            case "replay-request-received":
                return ReplayRequested(channel, int(event["epoch"]), int(event["skip"]))
            case _:
                return None

    def _recorded_state(self, event: Event) -> None:
        if event.get("from") == "Standby":
            activation = self.story.activations.get(self.scene.failure if self.scene.failure is not None else -1)
            causes = (f"event:{activation['n']}",) if activation else (f"event:{event['n']}",)
            self.handle(RecoveryStarted(), causes)
        self.deeds.told_that_it_went(event, self._awaited)

    def _recorded_effect(self, kind: str, event: Event) -> None:
        step = self.deeds.told_that_it_did(kind, event)
        if step is not None and self.exchange is not None:
            self.exchange.told(event, step)

    def _awaited(self) -> str:
        """What the manager still waits for, as an event of it is missing, or is not what it was."""
        state = self.manager.state
        context = state.context
        lacking = [f"checkpoint {one} to be restored (state-restored)" for one in sorted(context.restoring)]
        away = sorted(context.setting.channels - context.connected)
        lacking += [f"{channel} to be there as its {side} (channel-reconnected)" for channel, side in away]
        if state.name == "WaitingDeterminants":
            asked = [one for one in context.setting.asked_for_own if (self.scene.task, one) not in self.answered]
            lacking = [f"an answer on {channel} (determinants-received)" for channel in asked]
        elif state.name != "WaitingConnections":
            return ""
        return f": it still waits for {listed(lacking)}" if lacking else ""

    # --- steps ---

    def transition(self, before: State, event: ManagerEvent | None, after: State, effects: tuple[Effect, ...]) -> None:
        """The manager's observer."""
        if before.name == after.name:
            return
        self.deeds.went(before.name, after.name)
        causes = self._causes or self.steps.caused_by("transition")
        if isinstance(after, Replaying):
            causes += self._write_merge(before, after.logs)
        self.steps.state = after.name
        self.steps.t_us = max(self.steps.t_us, self._entered_us(before.name, after.name))
        text = transition_words(before.name, after.name, self.scene)
        self.steps.write("transition", text, actor="main", causes=causes)

    def _entered_us(self, before: str, after: str) -> int:
        """When the state was entered, where the recording is about to say so."""
        following = next((event for event in self._events if event.get("type") == "recovery-state"), None)
        if following is None or (following.get("from"), following.get("to")) != (before, after):
            return self.steps.t_us
        return int(following["t_us"])

    def _write_event(self, event: Event, told: ManagerEvent) -> None:
        channel = getattr(told, "channel", None)
        if isinstance(told, RestoreStarted | StateRestored):
            self.steps.epoch = told.checkpoint
        waits = channel in self.manager.state.context.rebuilding
        kind, text, actor = event_words(event, told, self.scene, waits=waits)
        causes = list(self._causes)
        asked = self.asked.get((str(event.get("of")), ChannelId(str(channel)))) if kind == "answer" else None
        if asked is not None:
            causes.append(f"step:{asked}")
        size = sum(upto for *_, upto in extents_of(event)) if kind == "answer" else None
        step = self.steps.write(kind, text, actor=actor, causes=causes, channel=channel, size=size)
        self._told_at = step
        if kind == "answer":
            self.answered[str(event.get("of")), ChannelId(str(channel))] = step
        elif isinstance(told, ReplayRequested):
            self.wanted[told.channel] = step

    def _write_merge(self, before: State, logs: Logs) -> tuple[str, ...]:
        """The step, as a cause of what follows from the answers together; none where nobody was asked."""
        given = before.answers if isinstance(before, WaitingDeterminants) else Given()
        told = {one: step for (of, one), step in self.answered.items() if of == self.scene.task}
        answers = sorted(told[channel] for channel in given.channels if channel in told)
        if not answers:
            return ()
        for copy in logs:
            if (channel := given.channel_of(copy)) in told:
                self.brought[copy.log.thread, copy.epoch] = told[channel]
        step = self.steps.write(
            "merge",
            merge_words(logs, given, self.scene),
            causes=[f"step:{one}" for one in answers],
            size=sum(len(copy.data) for copy in logs),
        )
        return (f"step:{step}",)

    def _answers_of(self, of: str) -> tuple[str, ...]:
        return tuple(f"step:{step}" for (task, _), step in self.answered.items() if task == of)

    def _because_told(self) -> tuple[str, ...]:
        """What others ask for has nothing to do with the state it is in."""
        return self._causes if self._told_at is None else (f"step:{self._told_at}",)

    def _perform(self, effect: Effect) -> None:
        causes = self.steps.caused_by("transition") or self._causes
        match effect:
            case RequestReplay(channel, epoch, skip):
                step = self.steps.write("request", effect_words(effect, self.scene), causes=causes, channel=channel)
                self.requested[channel] = step
                self.deeds.did("replay-requested", step, channel=channel, epoch=epoch, skip=skip)
            case RequestDeterminants(channel, of, epoch):
                causes = causes if of == self.scene.task else self._because_told()
                step = self.steps.write("request", effect_words(effect, self.scene), causes=causes, channel=channel)
                self.deeds.did("determinants-requested", step, of=of, channel=channel, epoch=epoch)
                self.asked[of, channel] = step
            case AnswerDeterminants(channel, of, result, logs):
                extents = [list(extent) for extent in logs.extents()]
                words = effect_words(effect, self.scene)
                causes = tuple(dict.fromkeys((*self._because_told(), *self._answers_of(of))))
                step = self.steps.write("answer", words, causes=causes, channel=channel)
                self.deeds.did("determinants-returned", step, of=of, channel=channel, result=result, logs=extents)
            case Escalate(why):
                self.escalated = why
                step = self.steps.write("transition", effect_words(effect, self.scene), causes=self._causes)
                self.deeds.did("escalated", step)
            case StartReplaying(logs):
                self.started = logs
                self.started_us = self.steps.t_us
                self.on_effect(effect, causes)
            case ReplayInFlight(channel):
                wanted = (f"step:{self.wanted[channel]}",) if channel in self.wanted else ()
                self.on_effect(effect, (*self._causes, *wanted))
            case EnteredRunning():
                self.on_effect(effect, self._causes)
            case _:
                self.steps.write("request", effect_words(effect, self.scene), causes=self._causes)

    def _holdings(self, of: TaskId, epoch: int) -> Logs:
        return self.answers.held_by(self.scene.task, self.scene.attempt, of, epoch, self.event_us)

    def _was_informed(self, of: TaskId, epoch: int) -> bool:
        """Whether the live task answered the current request from its log; else it asked the tasks below it."""
        asked = self._current
        for event in self._events:
            kind, re = event.get("type"), event.get("re")
            if event.get("of") != of or kind not in ("determinants-requested", "determinants-returned"):
                continue
            if re == asked.get("n") or (re is None and kind == "determinants-requested"):
                return bool(kind == "determinants-returned")
            if event.get("channel") == asked.get("channel"):
                return re is None  # numbered, it is the answer of a relay that was open already
        return True

    def _was_touched(self, channel: ChannelId) -> bool:
        """Whether something had arrived on that input; in the same microsecond, what was answered tells."""
        i, task, attempt = self.graph.channel(channel).i, self.scene.task, self.scene.attempt
        arrivals = (receipt.received_us for _, _, receipt in placed_receipts(self.answers.source, task, attempt, i))
        first_us = min(arrivals, default=None)
        if first_us is None or first_us != self.event_us:
            return first_us is not None and first_us < self.event_us
        answers = (one for one in self._events if one.get("type") == "determinants-returned")
        return next((one.get("result") for one in answers if one.get("channel") == channel), None) == "beyond-depth"
