"""Connections, as events tell of them: made for a new attempt, its sender told first; broken for both ends that live;
and what goes over one arrives in the order in which it was sent."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.story import Event
from replay.model import Channel

Side = Literal["input", "output"]
_OTHER: Mapping[Side, Side] = {"input": "output", "output": "input"}

_ARRIVED: Mapping[str, Side] = {
    "replay-request-received": "output",
    "determinants-received": "output",
    "determinants-request-received": "input",
}
"""What goes over a connection, by the event that tells of its arrival: at which end of it."""

_SENT: Mapping[str, str] = {
    "replay-requested": "replay-request-received",
    "determinants-returned": "determinants-received",
    "determinants-requested": "determinants-request-received",
}
"""By the event that tells of its sending: that of its arrival."""


def check_connections(source: RecordingSource) -> None:
    """Raises `DivergenceFound` at the first event that can't be, as its channel was not connected like that."""
    if source.manifest.clock.kind == "virtual":
        _Connections(source).run()


@dataclass(slots=True)
class _Connection:
    """`number`: the event that it began with; `told`: whether its receiver knows of it."""

    channel: Channel
    attempts: dict[Side, int]
    number: int
    re: object = None
    told: bool = False
    under_way: dict[Side, deque[tuple[int, str]]] = field(default_factory=lambda: {"input": deque(), "output": deque()})

    def has(self, side: Side, attempt: object) -> bool:
        return self.attempts[side] == attempt

    def end(self, side: Side) -> str:
        return self.channel.source if side == "output" else self.channel.target


@dataclass(slots=True)
class _Connections:
    source: RecordingSource
    current: dict[str, int] = field(default_factory=dict)
    starts: dict[int, tuple[str, int]] = field(default_factory=dict)
    begun: set[str] = field(default_factory=set)
    failures: dict[int, tuple[str, int]] = field(default_factory=dict)
    latest: dict[tuple[str, int], int] = field(default_factory=dict)
    open: dict[str, _Connection] = field(default_factory=dict)
    broken: dict[str, tuple[_Connection, Event]] = field(default_factory=dict)
    channels: Mapping[str, Channel] = field(init=False)

    def __post_init__(self) -> None:
        self.channels = {one.id: one for one in self.source.graph.channels}
        for event in self.source.events():
            task, attempt, number = event.get("at"), event.get("attempt"), event.get("n")
            if event.get("type") == "channel-lost" and isinstance(task, str) and isinstance(attempt, int):
                self.latest[task, attempt] = number if isinstance(number, int) else -1

    def run(self) -> None:
        for event in self.source.events():
            number, t_us, kind = event.get("n"), event.get("t_us"), str(event.get("type"))
            if not isinstance(number, int) or not isinstance(t_us, int):
                continue
            self._check_other_ends(number, t_us)
            if kind == "attempt-started":
                self._start(number, event)
            elif kind == "task-failed":
                self._fail(event)
            elif kind == "global-rollback":
                self.open.clear()
                self.begun.clear()
            elif kind == "recovery-state" and event.get("from") == "WaitingConnections":
                self._check_all_there(number, event)
            else:
                self._take(number, kind, event)

    def _take(self, number: int, kind: str, event: Event) -> None:
        channel = self._channel_of(event)
        if channel is None:
            return
        side: Side = "output" if event.get("at") == channel.source else "input"
        if kind == "channel-lost":
            self._lose(number, event, channel, side)
        elif kind == "channel-reconnected" and side == "output":
            self._connect(number, event, channel)
        elif kind == "channel-reconnected":
            self._tell(number, event, channel)
        elif kind in _SENT and side != _ARRIVED[_SENT[kind]]:
            known = self.open.get(channel.id)
            if known is not None and known.has(side, event.get("attempt")):
                known.under_way[_OTHER[side]].append((number, _SENT[kind]))
        elif kind in _ARRIVED and side == _ARRIVED[kind]:
            self._arrive(number, event, channel, side)

    def _channel_of(self, event: Event) -> Channel | None:
        """None where there is no such one, or it is not the task's, which is found out elsewhere."""
        name = event.get("channel")
        channel = self.channels.get(name) if isinstance(name, str) else None
        return channel if channel is not None and event.get("at") in (channel.source, channel.target) else None

    # --- attempts ---

    def _start(self, number: int, event: Event) -> None:
        task, attempt = event.get("task"), event.get("attempt")
        if not isinstance(task, str) or not isinstance(attempt, int) or task not in self.source.graph:
            return
        self.current[task], self.starts[number] = attempt, (task, attempt)
        if attempt != 0 and "rollback" not in event:
            return
        self.begun.add(task)  # all begin together, with all their channels
        shape = self.source.graph.task(task)
        for name in (*shape.inputs, *(one.channel for one in shape.outputs)):
            channel = self.source.graph.channel(name)
            if {channel.source, channel.target} <= self.begun:
                self.open[name] = self._made(channel, number, told=True)

    def _made(self, channel: Channel, number: int, *, re: object = None, told: bool = False) -> _Connection:
        attempts: dict[Side, int] = {"output": self.current[channel.source], "input": self.current[channel.target]}
        return _Connection(channel, attempts, number, re, told)

    def _fail(self, event: Event) -> None:
        failure, task, attempt = event.get("failure"), event.get("task"), event.get("attempt")
        if isinstance(failure, int) and isinstance(task, str) and isinstance(attempt, int):
            self.failures[failure] = task, attempt

    def _notices(self, connection: _Connection, side: Side, number: int) -> bool:
        """Whether whoever is at that end of it is there, be it fenced: then it noticed something later still."""
        who = connection.end(side), connection.attempts[side]
        return self._counts(connection, side) or self.latest.get(who, -1) > number

    def _counts(self, connection: _Connection, side: Side) -> bool:
        """Whether that end of it is the attempt that its task is in, and did not fail."""
        task, attempt = connection.end(side), connection.attempts[side]
        return self.current.get(task) == attempt and (task, attempt) not in self.failures.values()

    def _check_all_there(self, number: int, event: Event) -> None:
        """Nobody's determinants are asked for, or awaited, before all his channels are there."""
        task, attempt = event.get("at"), event.get("attempt")
        if not isinstance(task, str) or task not in self.source.graph:
            return
        shape = self.source.graph.task(task)
        ends: list[tuple[str, Side]] = [(one, "input") for one in shape.inputs]
        ends += [(one.channel, "output") for one in shape.outputs]
        for name, side in ends:
            known = self.open.get(name)
            if known is None or not known.has(side, attempt) or (side == "input" and not known.told):
                self._differs(
                    number,
                    f"recovery-state of {task}, attempt {attempt}, goes on from WaitingConnections, but {name} is not "
                    f"there as its {side}: a channel-reconnected before it is missing, or was changed",
                    channel=name,
                )

    # --- breaking ---

    def _lose(self, number: int, event: Event, channel: Channel, side: Side) -> None:
        attempt = event.get("attempt")
        other, _ = self.broken.pop(channel.id, (None, event))
        if other is not None and side == "input" and other.has(side, attempt):
            return
        known = self.open.get(channel.id)
        if known is None or not known.has(side, attempt):
            self._differs(
                number,
                f"channel-lost says that {channel.id} was lost by attempt {attempt} of {event.get('at')}, which did "
                f"not have it: a channel-reconnected before it is missing, or one of them was changed",
                channel=channel.id,
            )
        gone = self.failures.get(failure) if isinstance(failure := event.get("failure"), int) else None
        ends = [(known.end(one), known.attempts[one]) for one in _OTHER]
        if gone not in ends:
            self._differs(
                number,
                f"channel-lost of {channel.id} names failure {failure}, which is none of the two attempts that it was "
                f"between ({', '.join(f'{task} attempt {one}' for task, one in ends)})",
                channel=channel.id,
            )
        del self.open[channel.id]
        if side == "output":
            self.broken[channel.id] = known, event
        elif self._notices(known, "output", number):
            self._other_end_knows_nothing(number, known, "output", number)

    def _check_other_ends(self, number: int, t_us: int) -> None:
        """Both ends that live notice it in one moment, the sender first."""
        for connection, event in list(self.broken.values()):
            if t_us > event["t_us"]:
                del self.broken[connection.channel.id]
                if self._notices(connection, "input", event["n"]):
                    self._other_end_knows_nothing(number, connection, "input", event["n"])

    def _other_end_knows_nothing(self, number: int, connection: _Connection, side: Side, lost: int) -> NoReturn:
        task, attempt = connection.end(side), connection.attempts[side]
        self._differs(
            number,
            f"a channel-lost of {connection.channel.id} at {task}, attempt {attempt}, must stand before here: by event "
            f"{lost} the other end lost it, and both that live notice it together",
            cause=lost,
            channel=connection.channel.id,
        )

    # --- connecting ---

    def _connect(self, number: int, event: Event, channel: Channel) -> None:
        attempt, known = event.get("attempt"), self.open.get(channel.id)
        if known is not None:
            for side in _OTHER:
                if self._counts(known, side):
                    self._still_there(number, known, side)
        if self.current.get(channel.source) != attempt or channel.target not in self.current:
            return  # told by who is not there, which is found out elsewhere
        made = self._made(channel, number, re=event.get("re"))
        if not self._counts(made, "input"):
            self._differs(
                number,
                f"channel-reconnected connects {channel.source} with attempt {made.attempts['input']} of "
                f"{channel.target}, which had failed",
                channel=channel.id,
            )
        of = self.starts.get(made.re) if isinstance(made.re, int) else None
        if of not in [(made.end(side), made.attempts[side]) for side in _OTHER]:
            self._differs(
                number,
                f"channel-reconnected of {channel.id} follows from event {made.re}, which is not the attempt-started "
                f"of either of its ends",
                channel=channel.id,
            )
        self.open[channel.id] = made

    def _tell(self, number: int, event: Event, channel: Channel) -> None:
        attempt, known = event.get("attempt"), self.open.get(channel.id)
        if known is None or not known.has("input", attempt):
            self._differs(
                number,
                f"channel-reconnected says that {channel.id} came back to attempt {attempt} of {channel.target}, but "
                f"its sender {channel.source} is told first: a channel-reconnected before it is missing, or one of "
                f"them was changed",
                channel=channel.id,
            )
        if known.told:
            self._still_there(number, known, "input")
        if event.get("re") != known.re:
            self._differs(
                number,
                f"channel-reconnected of {channel.id} follows from event {event.get('re')}, but its sender was told by "
                f"event {known.number}, which follows from {known.re}",
                cause=known.number,
                channel=channel.id,
            )
        known.told = True

    def _still_there(self, number: int, known: _Connection, side: Side) -> NoReturn:
        self._differs(
            number,
            f"channel-reconnected says that {known.channel.id} came back, but attempt {known.attempts[side]} of "
            f"{known.end(side)} has it since event {known.number}: a channel-lost between the two is missing, or "
            f"one of them was changed",
            cause=known.number,
            channel=known.channel.id,
        )

    # --- what goes over them ---

    def _arrive(self, number: int, event: Event, channel: Channel, side: Side) -> None:
        kind, of, known = str(event.get("type")), event.get("re"), self.open.get(channel.id)
        if known is None or not known.has(side, event.get("attempt")):
            self._differs(
                number,
                f"{kind} came by {channel.id} to attempt {event.get('attempt')} of {event.get('at')}, which did not "
                f"have it: a channel-reconnected before it is missing, or one of them was changed",
                channel=channel.id,
            )
        waiting = known.under_way[side]
        if all(of != one for one, _ in waiting):
            self._differs(
                number,
                f"{kind} came by {channel.id}, but what event {of} sent was not under way there, as the channel is "
                f"connected since event {known.number}",
                cause=known.number,
                channel=channel.id,
            )
        first, arrival = waiting.popleft()
        if first != of:
            self._differs(
                number,
                f"{kind} came by {channel.id} before what event {first} had sent there: a {arrival} that tells of it "
                f"is missing before here, or one of them was changed",
                cause=first,
                channel=channel.id,
            )

    def _differs(self, number: int, why: str, **detail: Any) -> NoReturn:
        raise DivergenceFound(f"Event {number}: {why}.", member="events.ndjson", event=number, **detail)
