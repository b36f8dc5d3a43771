"""Random event orders against a small model of the table, written independently of the states."""

from __future__ import annotations

import random
from typing import Any

import pytest

from replay.errors import UnexpectedEvent
from replay.log.causal_log import Copy
from replay.model import MAIN, ChannelId, LogId, TaskId
from replay.recovery import Logs, RecoveryManager, Setting
from replay.recovery import effects as fx
from replay.recovery import events as ev

US = TaskId("b.0")
OTHERS = (TaskId("a.0"), TaskId("s.0"))
INS = (ChannelId("a.0>b.0"), ChannelId("a.1>b.0"))
OUTS = (ChannelId("b.0>c.0"), ChannelId("b.0>c.1"))
WHOLE = {(of, thread): bytes(range(40, 60)) for of in (US, *OTHERS) for thread in (MAIN, "out-0", "out-1")}


class Refused(Exception):
    """The model's word for an event that the table doesn't list."""


class Model:
    """The table, row by row, over one mutable record."""

    def __init__(self, depth: int | None, on_lost: str) -> None:
        self.depth, self.on_lost = depth, on_lost
        self.state, self.epoch, self.escalated = "Standby", 0, False
        self.up: set[tuple[str, str]] = set()
        self.restores: set[int] = set()
        self.own: dict[str, ev.DeterminantsReturned] = {}
        self.relays: dict[str, dict[str, Any]] = {}
        self.parked: dict[str, ev.ReplayRequested] = {}
        self.unbuilt = set(OUTS)
        self.asks = () if depth == 0 else OUTS
        self.out: list[Any] = []

    def handle(self, e: Any) -> list[Any]:
        self.out = []
        getattr(self, type(e).__name__)(e)
        self.settle()
        return self.out

    def need(self, *states: str) -> None:
        if self.state not in states:
            raise Refused

    def RecoveryStarted(self, e: Any) -> None:
        self.need("Standby")
        self.state = "WaitingConnections"

    def RestoreStarted(self, e: Any) -> None:
        self.need("Standby", "WaitingConnections")
        self.restores.add(e.checkpoint)

    def StateRestored(self, e: Any) -> None:
        self.need("Standby", "WaitingConnections")
        self.restores = {c for c in self.restores if c > e.checkpoint}
        self.epoch = max(self.epoch, e.checkpoint)

    def ChannelReconnected(self, e: Any) -> None:
        self.up.add((e.channel, e.side))
        started = self.state not in ("Standby", "WaitingConnections")
        if e.side == "input":
            if started and self.depth == 0:
                self.out.append(fx.DropPartialRecord(e.channel))
            if started:
                self.out.append(fx.RequestReplay(e.channel, self.epoch, 0 if self.depth == 0 else e.received))
            return
        if self.state == "WaitingDeterminants" and e.channel in self.asks:
            self.own.pop(e.channel, None)
            self.out.append(fx.RequestDeterminants(e.channel, US, self.epoch))
        for of, relay in self.relays.items():
            if e.channel not in relay["answers"]:
                self.out.append(fx.RequestDeterminants(e.channel, TaskId(of), relay["epoch"]))

    def ChannelLost(self, e: Any) -> None:
        self.up.discard((e.channel, e.side))
        for relay in self.relays.values():
            relay["answers"].pop(e.channel, None)
            relay["askers"].discard(e.channel)
        if e.side == "output":
            self.own.pop(e.channel, None)
            self.parked.pop(e.channel, None)

    def DeterminantsRequested(self, e: Any) -> None:
        if e.of == US:
            raise Refused
        if self.state == "Running":
            result = "held" if self.depth is None or self.depth >= 1 else "beyond-depth"
            self.out.append(fx.AnswerDeterminants(e.channel, e.of, result, Logs()))  # type: ignore[arg-type]
            if e.of in self.relays:
                self.relays[e.of]["askers"].discard(e.channel)
            return
        relay = self.relays.pop(e.of, None)
        if relay is None:
            relay = {"epoch": e.epoch, "askers": set(), "answers": {}}
            self.out += [fx.RequestDeterminants(c, e.of, e.epoch) for c in self.asks if (c, "output") in self.up]
        self.relays[e.of] = relay
        relay["askers"].add(e.channel)
        self.close(e.of)

    def DeterminantsReturned(self, e: Any) -> None:
        if (e.channel, "output") not in self.up:
            raise Refused
        if e.of == US:
            self.need("WaitingDeterminants")
            if e.channel not in self.asks:
                raise Refused
            self.own[e.channel] = e
            return
        if e.of not in self.relays:
            raise Refused
        relay = self.relays.pop(e.of)
        self.relays[e.of] = relay
        relay["answers"][e.channel] = e
        self.close(e.of)

    def close(self, of: str) -> None:
        relay = self.relays[of]
        if set(self.asks) - set(relay["answers"]):
            return
        del self.relays[of]
        results = {a.result for a in relay["answers"].values()}
        logs = longest(relay["answers"].values())
        result = "beyond-depth" if "beyond-depth" in results else "held" if logs else "failed-too"
        self.out += [
            fx.AnswerDeterminants(c, TaskId(of), result, logs)  # type: ignore[arg-type]
            for c in INS
            if c in relay["askers"]
        ]

    def ReplayRequested(self, e: Any) -> None:
        if e.channel in self.unbuilt:
            self.parked.pop(e.channel, None)
            self.parked[e.channel] = e
        else:
            self.out.append(fx.ReplayInFlight(e.channel, e.epoch, e.skip))

    def MainLogUsedUp(self, e: Any) -> None:
        self.need("Replaying")
        self.state = "Running"
        self.out.append(fx.EnteredRunning())

    def OutputRebuilt(self, e: Any) -> None:
        self.need("Replaying", "Running")
        if e.channel not in self.unbuilt:
            raise Refused
        self.built({e.channel})

    def EpochStarted(self, e: Any) -> None:
        self.need("Replaying", "Running")
        if e.epoch < self.epoch:
            raise Refused
        self.epoch = e.epoch

    def built(self, channels: set[Any]) -> None:
        self.unbuilt -= channels
        for channel in [c for c in self.parked if c in channels]:
            request = self.parked.pop(channel)
            self.out.append(fx.ReplayInFlight(channel, request.epoch, request.skip))

    def settle(self) -> None:
        all_up = {(c, "input") for c in INS} | {(c, "output") for c in OUTS}
        if self.state == "WaitingConnections" and all_up <= self.up and not self.restores:
            self.state = "WaitingDeterminants"
            self.out += [fx.RequestReplay(c, self.epoch, 0) for c in INS]
            self.out += [fx.RequestDeterminants(c, US, self.epoch) for c in self.asks]
        if self.state != "WaitingDeterminants" or self.escalated or set(self.asks) - set(self.own):
            return
        if any(a.result == "beyond-depth" for a in self.own.values()):
            self.out.append("escalate")
            if self.on_lost == "rollback":
                self.escalated = True
                return
        logs = Logs(tuple(copy for copy in longest(self.own.values()) if copy.epoch >= self.epoch))
        self.out.append(fx.StartReplaying(logs))
        self.state = "Replaying"
        with_bytes = {copy.log.thread for copy in logs if copy.data}
        self.built({c for k, c in enumerate(OUTS) if f"out-{k}" not in with_bytes})
        if MAIN not in with_bytes:
            self.state = "Running"
            self.out.append(fx.EnteredRunning())


def longest(answers: Any) -> Logs:
    """All copies are cut from one string: the longest by length alone is right here."""
    best: dict[Any, Any] = {}
    for answer in answers:
        for copy in answer.logs:
            key = (copy.log.task, copy.log.thread, copy.epoch)
            if key not in best or len(copy.data) > len(best[key].data):
                best[key] = copy
    return Logs(tuple(best[key] for key in sorted(best, key=lambda k: (k[0], k[1] != MAIN, k[1:]))))


def random_logs(rng: random.Random, of: TaskId) -> Logs:
    threads = [t for t in (MAIN, "out-0", "out-1") if rng.random() < 0.5]
    return Logs(
        tuple(
            Copy("c.0", LogId(of, t), epoch, WHOLE[of, t][: rng.randrange(20)])
            for t in threads
            for epoch in sorted(rng.sample(range(3), rng.randrange(1, 3)))
        )
    )


def random_event(rng: random.Random) -> ev.Event:
    side = rng.choice(("input", "output"))
    channel = rng.choice(INS if side == "input" else OUTS)
    answer_of = rng.choice((US, US, *OTHERS))
    return rng.choice(
        (
            ev.RecoveryStarted(),
            ev.RestoreStarted(rng.randrange(3)),
            ev.StateRestored(rng.randrange(3)),
            ev.ChannelReconnected(channel, side, rng.randrange(4)),
            ev.ChannelReconnected(channel, side, rng.randrange(4)),
            ev.ChannelReconnected(channel, side, rng.randrange(4)),
            ev.ChannelLost(channel, side),
            ev.DeterminantsRequested(rng.choice(INS), rng.choice((US, *OTHERS, *OTHERS, *OTHERS)), 0),
            ev.DeterminantsReturned(
                rng.choice(OUTS),
                answer_of,
                rng.choice(("held", "held", "held", "failed-too", "beyond-depth")),
                random_logs(rng, answer_of),
            ),
            ev.DeterminantsReturned(rng.choice(OUTS), US, "held", random_logs(rng, US)),
            ev.ReplayRequested(rng.choice(OUTS), rng.randrange(3), rng.randrange(3)),
            ev.MainLogUsedUp(),
            ev.OutputRebuilt(rng.choice(OUTS)),
            ev.EpochStarted(rng.randrange(4)),
        )
    )


def plain(effects: Any) -> list[Any]:
    return ["escalate" if isinstance(effect, fx.Escalate) else effect for effect in effects]


@pytest.mark.parametrize("seed", range(300))
def test_random_orders_agree_with_the_model(seed: int) -> None:
    rng = random.Random(seed)
    depth, on_lost = rng.choice((None, None, 1, 0)), rng.choice(("rollback", "continue"))
    one = RecoveryManager(Setting(US, INS, OUTS, sharing_depth=depth, on_lost=on_lost, distance=lambda *_: 1))
    model = Model(depth, on_lost)
    for n in range(120):
        event, before = random_event(rng), one.state
        where = f"seed {seed}, event {n}: {event} in {before.name}"
        try:
            expected: Any = model.handle(event)
        except Refused:
            expected = None
        if expected is None:
            with pytest.raises(UnexpectedEvent):
                one.handle(event)
            assert one.state is before, where
            continue
        assert plain(one.handle(event)) == expected, where
        assert one.state.name == model.state, where


@pytest.mark.parametrize("seed", range(100))
def test_what_is_said_twice_changes_nothing(seed: int) -> None:
    """Connections, restores, losses, answers and replay requests may be repeated without another outcome."""
    rng = random.Random(seed)
    repeatable = (ev.ChannelLost, ev.RestoreStarted, ev.StateRestored, ev.ReplayRequested, ev.EpochStarted)
    one = RecoveryManager(Setting(US, INS, OUTS))
    for n in range(120):
        event, before = random_event(rng), one.state.name
        try:
            one.handle(event)
        except UnexpectedEvent:
            continue
        if one.state.name != before:
            continue  # it has done its work: the next state need not take it
        again = isinstance(event, repeatable) or (
            isinstance(event, ev.ChannelReconnected) and one.state.name in ("Standby", "WaitingConnections")
        )
        if again:
            state = one.state
            one.handle(event)
            assert one.state == state, f"seed {seed}, event {n}: {event}"


@pytest.mark.parametrize("seed", range(100))
def test_the_order_of_connections_and_answers_does_not_matter(seed: int) -> None:
    """Whatever the order in which channels come and answers arrive, the same logs are replayed."""
    rng = random.Random(seed)
    answers = [ev.DeterminantsReturned(c, US, "held", random_logs(rng, US)) for c in OUTS]
    channels: list[ev.Event] = [ev.ChannelReconnected(c, "input") for c in INS]
    channels += [ev.ChannelReconnected(c, "output") for c in OUTS]
    started = set()
    for _ in range(4):
        rng.shuffle(channels)
        rng.shuffle(answers)
        at = rng.randrange(len(channels) + 1)
        one = RecoveryManager(Setting(US, INS, OUTS))
        effects: list[Any] = []
        for event in [*channels[:at], ev.RecoveryStarted(), *channels[at:], *answers]:
            effects += one.handle(event)
        started |= {effect.logs.extents() for effect in effects if isinstance(effect, fx.StartReplaying)}
    assert len(started) == 1, f"seed {seed}"
