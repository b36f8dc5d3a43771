"""Every recovery state × every event, in one table: where it leads and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from replay.errors import UnexpectedEvent
from replay.log.causal_log import Copy
from replay.model import MAIN, ChannelId, LogId, TaskId
from replay.recovery import (
    AnswerDeterminants,
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    EnteredRunning,
    EpochStarted,
    Event,
    Logs,
    MainLogUsedUp,
    OutputRebuilt,
    RecoveryManager,
    RecoveryStarted,
    ReplayInFlight,
    ReplayRequested,
    RequestDeterminants,
    RequestReplay,
    RestoreStarted,
    Setting,
    StartReplaying,
    StateRestored,
)
from replay.recovery.events import EVENTS
from replay.recovery.states import STATE_NAMES

US, UP = TaskId("b.0"), TaskId("a.0")
IN_0, IN_1 = ChannelId("a.0>b.0"), ChannelId("a.1>b.0")
OUT_0, OUT_1 = ChannelId("b.0>c.0"), ChannelId("b.0>c.1")
OURS = Logs((Copy("c.0", LogId(US, MAIN), 3, b"\0\1"), Copy("c.0", LogId(US, "out-0"), 3, b"\7\0\0\0\5")))
THEIRS = Logs((Copy("c.0", LogId(UP, MAIN), 3, b"\0\1\0\0"),))
OWN_COPY = Logs((Copy("b.0", LogId(UP, MAIN), 3, b"\0\1"),))

RAISES = "raises"
STAYS = ("stays", ())


@dataclass
class Recorder:
    """Notes every transition that the manager reports."""

    seen: list[str]

    def transition(self, before: Any, event: Any, after: Any, effects: Any) -> None:
        self.seen.append(f"{before.name}>{after.name}")


def manager() -> RecoveryManager:
    setting = Setting(
        US, (IN_0, IN_1), (OUT_0, OUT_1), distance=lambda *_: 1, holdings=lambda of, epoch: OWN_COPY.since(epoch)
    )
    return RecoveryManager(setting, observer=Recorder([]))


# Epoch 3 is restored; in the first two states the input IN_1 is missing, so that nothing moves on by itself.
BEFORE_CONNECTED: list[Event] = [
    RestoreStarted(3),
    StateRestored(3),
    ChannelReconnected(IN_0, "input"),
    ChannelReconnected(OUT_0, "output"),
    ChannelReconnected(OUT_1, "output"),
]
ANSWERED: list[Event] = [
    DeterminantsReturned(OUT_0, US, "held", OURS),
    DeterminantsReturned(OUT_1, US, "held", Logs()),
]
WAYS: dict[str, list[Event]] = {
    "Standby": BEFORE_CONNECTED,
    "WaitingConnections": [*BEFORE_CONNECTED, RecoveryStarted()],
    "WaitingDeterminants": [*BEFORE_CONNECTED, RecoveryStarted(), ChannelReconnected(IN_1, "input")],
    "Replaying": [*BEFORE_CONNECTED, RecoveryStarted(), ChannelReconnected(IN_1, "input"), *ANSWERED],
    "Running": [*BEFORE_CONNECTED, RecoveryStarted(), ChannelReconnected(IN_1, "input"), *ANSWERED, MainLogUsedUp()],
}
RELAY: list[Event] = [DeterminantsRequested(IN_0, UP, 3)]
RELAY_HALF: list[Event] = [*RELAY, DeterminantsReturned(OUT_1, UP, "failed-too")]

CASES: dict[str, tuple[list[Event], Event]] = {
    "RecoveryStarted": ([], RecoveryStarted()),
    "RestoreStarted": ([], RestoreStarted(4)),
    "StateRestored": ([], StateRestored(4)),
    "ChannelReconnected input": ([], ChannelReconnected(IN_0, "input", received=2)),
    "ChannelReconnected last input": ([], ChannelReconnected(IN_1, "input", received=2)),
    "ChannelReconnected output": ([], ChannelReconnected(OUT_0, "output")),
    "ChannelReconnected output with a relay": ([*RELAY], ChannelReconnected(OUT_0, "output")),
    "ChannelLost input": ([], ChannelLost(IN_0, "input")),
    "ChannelLost output": ([], ChannelLost(OUT_0, "output")),
    "DeterminantsRequested of another": ([], DeterminantsRequested(IN_0, UP, 3)),
    "DeterminantsRequested of itself": ([], DeterminantsRequested(IN_0, US, 3)),
    "DeterminantsReturned own": ([], DeterminantsReturned(OUT_0, US, "held", OURS)),
    "DeterminantsReturned relayed, more to come": ([*RELAY], DeterminantsReturned(OUT_0, UP, "held", THEIRS)),
    "DeterminantsReturned relayed, the last": ([*RELAY_HALF], DeterminantsReturned(OUT_0, UP, "held", THEIRS)),
    "DeterminantsReturned unknown": ([], DeterminantsReturned(OUT_0, UP, "held", THEIRS)),
    "ReplayRequested being rebuilt": ([], ReplayRequested(OUT_0, 3, 1)),
    "ReplayRequested with nothing to rebuild": ([], ReplayRequested(OUT_1, 3, 1)),
    "MainLogUsedUp": ([], MainLogUsedUp()),
    "OutputRebuilt": ([], OutputRebuilt(OUT_0)),
    "OutputRebuilt with a request parked": ([ReplayRequested(OUT_0, 3, 1)], OutputRebuilt(OUT_0)),
    "EpochStarted": ([], EpochStarted(4)),
}


def stays(*effects: Any) -> tuple[str, tuple[Any, ...]]:
    return "stays", effects


def goes(state: str, *effects: Any) -> tuple[str, tuple[Any, ...]]:
    return state, effects


ASKS_ALL = (
    RequestReplay(IN_0, 3, 0),
    RequestReplay(IN_1, 3, 0),
    RequestDeterminants(OUT_0, US, 3),
    RequestDeterminants(OUT_1, US, 3),
)
RELAYS = (RequestDeterminants(OUT_0, UP, 3), RequestDeterminants(OUT_1, UP, 3))
RELAYED = stays(AnswerDeterminants(IN_0, UP, "held", THEIRS))
AGAIN = stays(RequestReplay(IN_0, 3, 2))
AGAIN_1 = stays(RequestReplay(IN_1, 3, 2))
FROM_LOG = stays(AnswerDeterminants(IN_0, UP, "held", OWN_COPY))

# One row per event, one column per state, in the order of STATE_NAMES.
TABLE: dict[str, tuple[Any, Any, Any, Any, Any]] = {
    "RecoveryStarted": (goes("WaitingConnections"), RAISES, RAISES, RAISES, RAISES),
    "RestoreStarted": (STAYS, STAYS, RAISES, RAISES, RAISES),
    "StateRestored": (STAYS, STAYS, RAISES, RAISES, RAISES),
    "ChannelReconnected input": (STAYS, STAYS, AGAIN, AGAIN, AGAIN),
    "ChannelReconnected last input": (STAYS, goes("WaitingDeterminants", *ASKS_ALL), AGAIN_1, AGAIN_1, AGAIN_1),
    "ChannelReconnected output": (STAYS, STAYS, stays(RequestDeterminants(OUT_0, US, 3)), STAYS, STAYS),
    "ChannelReconnected output with a relay": (
        stays(RELAYS[0]),
        stays(RELAYS[0]),
        stays(RequestDeterminants(OUT_0, US, 3), RELAYS[0]),
        stays(RELAYS[0]),
        STAYS,  # a running task has answered from its log: no relay is open
    ),
    "ChannelLost input": (STAYS, STAYS, STAYS, STAYS, STAYS),
    "ChannelLost output": (STAYS, STAYS, STAYS, STAYS, STAYS),
    "DeterminantsRequested of another": (stays(*RELAYS), stays(*RELAYS), stays(*RELAYS), stays(*RELAYS), FROM_LOG),
    "DeterminantsRequested of itself": (RAISES, RAISES, RAISES, RAISES, RAISES),
    "DeterminantsReturned own": (RAISES, RAISES, STAYS, RAISES, RAISES),
    "DeterminantsReturned relayed, more to come": (STAYS, STAYS, STAYS, STAYS, RAISES),
    "DeterminantsReturned relayed, the last": (RELAYED, RELAYED, RELAYED, RELAYED, RAISES),
    "DeterminantsReturned unknown": (RAISES, RAISES, RAISES, RAISES, RAISES),
    "ReplayRequested being rebuilt": (STAYS, STAYS, STAYS, STAYS, STAYS),
    "ReplayRequested with nothing to rebuild": (
        STAYS,
        STAYS,
        STAYS,
        stays(ReplayInFlight(OUT_1, 3, 1)),
        stays(ReplayInFlight(OUT_1, 3, 1)),
    ),
    "MainLogUsedUp": (RAISES, RAISES, RAISES, goes("Running", EnteredRunning()), RAISES),
    "OutputRebuilt": (RAISES, RAISES, RAISES, STAYS, STAYS),
    "OutputRebuilt with a request parked": (
        RAISES,
        RAISES,
        RAISES,
        stays(ReplayInFlight(OUT_0, 3, 1)),
        stays(ReplayInFlight(OUT_0, 3, 1)),
    ),
    "EpochStarted": (RAISES, RAISES, RAISES, STAYS, STAYS),
}
PAIRS = [
    (case, state, expected) for case, row in TABLE.items() for state, expected in zip(STATE_NAMES, row, strict=True)
]


def in_state(state: str) -> RecoveryManager:
    one = manager()
    for event in WAYS[state]:
        one.handle(event)
    assert one.state.name == state
    return one


@pytest.mark.parametrize("case, state, expected", PAIRS, ids=[f"{state}-{case}" for case, state, _ in PAIRS])
def test_every_state_and_event(case: str, state: str, expected: Any) -> None:
    one = in_state(state)
    prelude, event = CASES[case]
    prelude_raises = state == "Running" and any(isinstance(step, DeterminantsReturned) for step in prelude)
    for step in prelude if not prelude_raises else prelude[:1]:
        one.handle(step)
    before = one.state
    if expected == RAISES:
        with pytest.raises(UnexpectedEvent):
            one.handle(event)
        assert one.state is before, "a refused event changes nothing"
        return
    name, effects = expected
    assert one.handle(event) == effects
    assert one.state.name == (state if name == "stays" else name)
    hash(one.state)  # frozen through and through


def test_the_table_is_whole() -> None:
    assert set(TABLE) == set(CASES)
    assert {type(event) for _, event in CASES.values()} == set(EVENTS)
    assert set(WAYS) == set(STATE_NAMES)


def test_a_chain_of_transitions_is_observed_one_by_one() -> None:
    one = in_state("WaitingDeterminants")
    assert one.handle(DeterminantsReturned(OUT_0, US, "failed-too")) == ()
    effects = one.handle(DeterminantsReturned(OUT_1, US, "failed-too"))
    assert effects == (StartReplaying(Logs()), EnteredRunning())
    assert isinstance(one.observer, Recorder)
    assert one.observer.seen[-3:] == [
        "WaitingDeterminants>WaitingDeterminants",
        "WaitingDeterminants>Replaying",
        "Replaying>Running",
    ]
