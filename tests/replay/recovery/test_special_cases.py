"""What the table says about depth, sinks, sources, relays, losses and escalation."""

from __future__ import annotations

from typing import Any

import pytest

from replay.errors import CorruptRecording, UnexpectedEvent
from replay.log.causal_log import Copy
from replay.model import MAIN, ChannelId, LogId, TaskId
from replay.recovery import (
    AnswerDeterminants,
    ChannelLost,
    ChannelReconnected,
    DeterminantsRequested,
    DeterminantsReturned,
    DropPartialRecord,
    Effect,
    EnteredRunning,
    EpochStarted,
    Escalate,
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

US, UP, SIDE = TaskId("b.0"), TaskId("a.0"), TaskId("s.0")
IN, IN_1 = ChannelId("a.0>b.0"), ChannelId("x.0>b.0")
OUT, OUT_1 = ChannelId("b.0>c.0"), ChannelId("b.0>c.1")
MAIN_LOG = Copy("c.0", LogId(US, MAIN), 0, b"\0\1")
OUT_LOG = Copy("c.0", LogId(US, "out-0"), 0, b"\7\0\0\0\1")


def recovering(*, inputs: Any = (IN,), outputs: Any = (OUT,), **setting: Any) -> RecoveryManager:
    """A manager whose channels are all there and whose restore is done."""
    one = RecoveryManager(Setting(US, inputs, outputs, **setting))
    for channel in inputs:
        one.handle(ChannelReconnected(channel, "input"))
    for channel in outputs:
        one.handle(ChannelReconnected(channel, "output"))
    return one


def answered(one: RecoveryManager, *answers: DeterminantsReturned) -> tuple[Effect, ...]:
    return tuple(effect for answer in answers for effect in one.handle(answer))


def test_a_source_asks_nobody_upstream() -> None:
    assert recovering(inputs=()).handle(RecoveryStarted()) == (RequestDeterminants(OUT, US, 0),)


def test_a_plain_sink_awaits_no_determinants() -> None:
    one = recovering(outputs=())
    assert one.handle(RecoveryStarted()) == (RequestReplay(IN, 0, 0), StartReplaying(Logs()), EnteredRunning())


def test_a_task_without_channels_recovers_too() -> None:
    one = recovering(inputs=(), outputs=())
    assert one.handle(RecoveryStarted()) == (StartReplaying(Logs()), EnteredRunning())


def test_at_depth_zero_nothing_is_asked_or_skipped_and_partial_records_are_dropped() -> None:
    one = recovering(sharing_depth=0)
    assert one.handle(RecoveryStarted()) == (RequestReplay(IN, 0, 0), StartReplaying(Logs()), EnteredRunning())
    one.handle(EpochStarted(2))
    one.handle(ChannelLost(IN, "input"))
    again = one.handle(ChannelReconnected(IN, "input", received=5))
    assert again == (DropPartialRecord(IN), RequestReplay(IN, 2, 0))


def test_a_task_past_lost_choices_asks_for_others_and_not_for_itself() -> None:
    one = recovering(diverged=True)
    assert one.handle(DeterminantsRequested(IN, UP, 0)) == (RequestDeterminants(OUT, UP, 0),)
    assert one.handle(RecoveryStarted()) == (RequestReplay(IN, 0, 0), StartReplaying(Logs()), EnteredRunning())
    again = one.handle(ChannelReconnected(OUT, "output"))
    assert again == (RequestDeterminants(OUT, UP, 0),), "what it relays is asked again, and nothing else"


def test_a_sender_past_lost_choices_is_asked_for_all_and_its_half_record_dropped() -> None:
    one = recovering()
    one.handle(RecoveryStarted())
    answered(one, DeterminantsReturned(OUT, US, "held"))
    one.handle(EpochStarted(2))
    one.handle(ChannelLost(IN, "input"))
    again = one.handle(ChannelReconnected(IN, "input", received=5, diverged=True))
    assert again == (DropPartialRecord(IN), RequestReplay(IN, 2, 0))
    one.handle(ChannelLost(IN, "input"))
    assert one.handle(ChannelReconnected(IN, "input", received=5)) == (RequestReplay(IN, 2, 5),)


def test_a_sink_with_a_determinant_keeping_world_asks_it_for_itself_and_for_others() -> None:
    world = ChannelId("b.0>world")
    one = recovering(outputs=(), world=world)
    assert one.handle(DeterminantsRequested(IN, UP, 0)) == (RequestDeterminants(world, UP, 0),)
    assert one.handle(RecoveryStarted()) == (RequestReplay(IN, 0, 0), RequestDeterminants(world, US, 0))
    kept = Logs((Copy("world", LogId(UP, MAIN), 0, b"\0\1"),))
    assert one.handle(DeterminantsReturned(world, UP, "held", kept)) == (AnswerDeterminants(IN, UP, "held", kept),)
    own = Logs((Copy("world", LogId(US, MAIN), 0, b"\0\1"),))
    assert one.handle(DeterminantsReturned(world, US, "held", own)) == (StartReplaying(own),)


def test_skip_counts_from_the_epoch_that_is_asked_for() -> None:
    one = recovering()
    one.handle(RestoreStarted(3))
    one.handle(StateRestored(3))
    one.handle(RecoveryStarted())
    assert one.handle(ChannelReconnected(IN, "input", received=4)) == (RequestReplay(IN, 3, 4),)
    answered(one, DeterminantsReturned(OUT, US, "held"))
    one.handle(EpochStarted(4))
    assert one.handle(ChannelReconnected(IN, "input", received=1)) == (RequestReplay(IN, 4, 1),)
    with pytest.raises(UnexpectedEvent):
        one.handle(EpochStarted(3))


def test_a_restore_closes_all_earlier_ones() -> None:
    one = recovering()
    one.handle(RestoreStarted(1))
    one.handle(RestoreStarted(2))
    one.handle(RestoreStarted(5))
    assert one.handle(RecoveryStarted()) == ()
    assert one.handle(StateRestored(2)) == ()
    assert one.handle(StateRestored(5)) == (RequestReplay(IN, 5, 0), RequestDeterminants(OUT, US, 5))


def test_a_channel_lost_before_recovery_starts_is_waited_for() -> None:
    one = recovering()
    one.handle(ChannelLost(OUT, "output"))
    assert one.handle(RecoveryStarted()) == ()
    assert one.handle(ChannelReconnected(OUT, "output"))[-1] == RequestDeterminants(OUT, US, 0)


def test_an_answer_is_void_once_its_channel_is_lost() -> None:
    one = recovering(outputs=(OUT, OUT_1))
    one.handle(RecoveryStarted())
    first = Logs((MAIN_LOG,))
    answered(one, DeterminantsReturned(OUT, US, "held", first))
    one.handle(ChannelLost(OUT, "output"))
    assert answered(one, DeterminantsReturned(OUT_1, US, "failed-too")) == (), "the void answer is awaited again"
    with pytest.raises(UnexpectedEvent):
        one.handle(DeterminantsReturned(OUT, US, "held", first))  # late words of one who is gone
    assert one.handle(ChannelReconnected(OUT, "output")) == (RequestDeterminants(OUT, US, 0),)
    effects = answered(one, DeterminantsReturned(OUT, US, "failed-too"))
    assert effects == (StartReplaying(Logs()), EnteredRunning())


def test_answers_from_epochs_before_the_restored_one_are_not_replayed() -> None:
    one = recovering()
    one.handle(RestoreStarted(1))
    one.handle(StateRestored(1))
    one.handle(RecoveryStarted())
    later = Copy("c.0", LogId(US, MAIN), 1, b"\0\2")
    assert answered(one, DeterminantsReturned(OUT, US, "held", Logs((MAIN_LOG, later)))) == (
        StartReplaying(Logs((later,))),
    )


def test_holders_that_disagree_are_named() -> None:
    one = recovering(outputs=(OUT, OUT_1))
    one.handle(RecoveryStarted())
    answered(one, DeterminantsReturned(OUT, US, "held", Logs((MAIN_LOG,))))
    other = Copy("c.1", LogId(US, MAIN), 0, b"\0\2")
    with pytest.raises(CorruptRecording, match=r"c\.0.*c\.1"):
        one.handle(DeterminantsReturned(OUT_1, US, "held", Logs((other,))))


@pytest.mark.parametrize("on_lost", ["rollback", "continue"])
def test_beyond_depth_escalates_after_the_last_answer_even_beside_a_held(on_lost: str) -> None:
    one = recovering(outputs=(OUT, OUT_1), on_lost=on_lost, sharing_depth=1)
    one.handle(RecoveryStarted())
    assert answered(one, DeterminantsReturned(OUT, US, "beyond-depth")) == ()
    effects = answered(one, DeterminantsReturned(OUT_1, US, "held", Logs((MAIN_LOG,))))
    assert isinstance(effects[0], Escalate)
    assert OUT in effects[0].why and US in effects[0].why
    if on_lost == "rollback":
        assert len(effects) == 1
        assert one.state.name == "WaitingDeterminants"
        one.handle(ChannelLost(OUT, "output"))
        one.handle(ChannelReconnected(OUT, "output"))
        assert answered(one, DeterminantsReturned(OUT, US, "held")) == (), "it stays until the attempt is ended"
        assert one.state.name == "WaitingDeterminants"
    else:
        assert effects[1:] == (StartReplaying(Logs((MAIN_LOG,))),)
        assert one.state.name == "Replaying"


def test_everyone_having_failed_too_makes_a_free_execution() -> None:
    one = recovering(outputs=(OUT, OUT_1))
    one.handle(RecoveryStarted())
    effects = answered(one, DeterminantsReturned(OUT, US, "failed-too"), DeterminantsReturned(OUT_1, US, "failed-too"))
    assert effects == (StartReplaying(Logs()), EnteredRunning())


def test_replay_requests_wait_for_their_own_channel_only() -> None:
    one = recovering(outputs=(OUT, OUT_1))
    one.handle(ReplayRequested(OUT, 0, 7))
    one.handle(ReplayRequested(OUT_1, 0, 2))
    one.handle(ReplayRequested(OUT, 0, 3))  # the latest counts
    one.handle(RecoveryStarted())
    effects = answered(
        one,
        DeterminantsReturned(OUT, US, "held", Logs((MAIN_LOG, OUT_LOG))),
        DeterminantsReturned(OUT_1, US, "held"),
    )
    assert effects[-1] == ReplayInFlight(OUT_1, 0, 2), "nothing of that output was returned: nothing to rebuild"
    assert one.handle(MainLogUsedUp()) == (EnteredRunning(),)
    assert one.handle(OutputRebuilt(OUT)) == (ReplayInFlight(OUT, 0, 3),)
    with pytest.raises(UnexpectedEvent):
        one.handle(OutputRebuilt(OUT))


def test_a_replay_request_of_one_who_is_gone_is_forgotten() -> None:
    one = recovering()
    one.handle(ReplayRequested(OUT, 0, 7))
    one.handle(ChannelLost(OUT, "output"))
    one.handle(ChannelReconnected(OUT, "output"))
    one.handle(RecoveryStarted())
    assert answered(one, DeterminantsReturned(OUT, US, "held")) == (StartReplaying(Logs()), EnteredRunning())


def test_a_relay_waits_for_outputs_that_are_not_there_yet() -> None:
    one = RecoveryManager(Setting(US, (IN,), (OUT, OUT_1)))
    assert one.handle(DeterminantsRequested(IN, UP, 4)) == ()
    assert one.handle(ChannelReconnected(OUT, "output")) == (RequestDeterminants(OUT, UP, 4),)
    assert one.handle(DeterminantsReturned(OUT, UP, "failed-too")) == ()
    one.handle(ChannelLost(OUT, "output"))
    assert one.handle(ChannelReconnected(OUT_1, "output")) == (RequestDeterminants(OUT_1, UP, 4),)
    assert one.handle(DeterminantsReturned(OUT_1, UP, "failed-too")) == (), "the first answer is void"
    assert one.handle(ChannelReconnected(OUT, "output")) == (RequestDeterminants(OUT, UP, 4),)
    answer = one.handle(DeterminantsReturned(OUT, UP, "failed-too"))
    assert answer == (AnswerDeterminants(IN, UP, "failed-too", Logs()),)


def test_two_who_ask_for_one_task_are_served_by_one_question() -> None:
    one = recovering(inputs=(IN, IN_1))
    assert one.handle(DeterminantsRequested(IN, SIDE, 0)) == (RequestDeterminants(OUT, SIDE, 0),)
    assert one.handle(DeterminantsRequested(IN_1, SIDE, 0)) == ()
    logs = Logs((Copy("c.0", LogId(SIDE, MAIN), 0, b"\0\1"),))
    assert one.handle(DeterminantsReturned(OUT, SIDE, "held", logs)) == (
        AnswerDeterminants(IN, SIDE, "held", logs),
        AnswerDeterminants(IN_1, SIDE, "held", logs),
    )


def test_one_who_asked_and_is_gone_gets_no_answer_until_its_next_attempt_asks() -> None:
    one = recovering(inputs=(IN, IN_1))
    one.handle(DeterminantsRequested(IN, SIDE, 0))
    one.handle(ChannelLost(IN, "input"))
    assert one.handle(DeterminantsReturned(OUT, SIDE, "failed-too")) == ()
    assert one.handle(DeterminantsRequested(IN, SIDE, 0)) == (RequestDeterminants(OUT, SIDE, 0),)


def test_a_relay_opened_before_running_completes_there_but_new_requests_are_answered_from_the_log() -> None:
    one = recovering(inputs=(IN, IN_1), distance=lambda *_: 2, sharing_depth=1)
    one.handle(RecoveryStarted())
    one.handle(DeterminantsRequested(IN, SIDE, 0))
    one.handle(DeterminantsReturned(OUT, US, "held"))
    assert one.is_running
    assert one.handle(DeterminantsRequested(IN_1, SIDE, 0)) == (AnswerDeterminants(IN_1, SIDE, "beyond-depth", Logs()),)
    effects = one.handle(DeterminantsReturned(OUT, SIDE, "failed-too"))
    assert effects == (AnswerDeterminants(IN, SIDE, "failed-too", Logs()),)


@pytest.mark.parametrize("came, far, result", [(True, 2, "beyond-depth"), (False, 2, "held"), (True, 1, "held")])
def test_a_relay_to_which_something_came_past_the_depth_may_itself_depend_on_what_was_lost(
    came: bool, far: int, result: str
) -> None:
    one = recovering(distance=lambda *_: far, sharing_depth=1, touched=lambda channel: came and channel == IN)
    one.handle(DeterminantsRequested(IN, UP, 0))
    logs = Logs((Copy("c.0", LogId(UP, MAIN), 0, b"\0\1"),))
    assert one.handle(DeterminantsReturned(OUT, UP, "held", logs)) == (AnswerDeterminants(IN, UP, result, logs),)


def test_only_who_asks_on_the_input_that_brought_it_is_told_so() -> None:
    one = recovering(inputs=(IN, IN_1), distance=lambda *_: 2, sharing_depth=1, touched=lambda channel: channel == IN_1)
    one.handle(DeterminantsRequested(IN, SIDE, 0))
    one.handle(DeterminantsRequested(IN_1, SIDE, 0))
    assert one.handle(DeterminantsReturned(OUT, SIDE, "failed-too")) == (
        AnswerDeterminants(IN, SIDE, "failed-too", Logs()),
        AnswerDeterminants(IN_1, SIDE, "beyond-depth", Logs()),
    )


def test_a_recovering_sink_answers_what_it_has_at_once() -> None:
    held = Logs((Copy(US, LogId(UP, MAIN), 0, b"\0\1"),))
    has = recovering(outputs=(), holdings=lambda of, epoch: held)
    assert has.handle(DeterminantsRequested(IN, UP, 0)) == (AnswerDeterminants(IN, UP, "held", held),)
    has_not = recovering(outputs=())
    assert has_not.handle(DeterminantsRequested(IN, UP, 0)) == (AnswerDeterminants(IN, UP, "failed-too", Logs()),)


def test_a_relays_own_copy_is_that_of_the_moment_it_answers() -> None:
    held = [Logs()]
    one = recovering(holdings=lambda of, epoch: held[0])
    one.handle(DeterminantsRequested(IN, UP, 0))
    held[0] = Logs((Copy(US, LogId(UP, MAIN), 0, b"\0\1"),))
    assert one.handle(DeterminantsReturned(OUT, UP, "failed-too")) == (AnswerDeterminants(IN, UP, "held", held[0]),)


def test_a_request_from_an_earlier_epoch_than_the_open_one_is_refused() -> None:
    one = recovering()
    one.handle(DeterminantsRequested(IN, UP, 4))
    with pytest.raises(UnexpectedEvent, match="checkpoints only go forward"):
        one.handle(DeterminantsRequested(IN, UP, 3))


@pytest.mark.parametrize(
    "event",
    [
        ChannelReconnected(IN, "output"),
        ChannelLost(OUT, "input"),
        ReplayRequested(IN, 0, 0),
        DeterminantsRequested(OUT, UP, 0),
        DeterminantsReturned(IN, US, "held"),
        OutputRebuilt(IN),
    ],
)
def test_events_on_channels_of_others_raise(event: Any) -> None:
    with pytest.raises(UnexpectedEvent, match="no such channel"):
        recovering().handle(event)


def test_running_again_without_all_that_it_once_passed_on_it_asks_below() -> None:
    """Its own copies were lost with the attempt before: tasks below it may hold more than came again so far."""
    heard: list[bool] = [False]
    one = recovering(holdings=lambda of, epoch: Logs(), informed=lambda of, epoch: heard[0])
    one.handle(RecoveryStarted())
    answered(one, DeterminantsReturned(OUT, US, "held"))
    assert one.is_running
    theirs = Logs((Copy("c.0", LogId(UP, MAIN), 0, b"\0\1"),))
    assert one.handle(DeterminantsRequested(IN, UP, 0)) == (RequestDeterminants(OUT, UP, 0),)
    assert one.handle(DeterminantsReturned(OUT, UP, "held", theirs)) == (AnswerDeterminants(IN, UP, "held", theirs),)
    heard[0] = True
    assert one.handle(DeterminantsRequested(IN, UP, 0)) == (AnswerDeterminants(IN, UP, "held", Logs()),)


def test_a_sink_that_runs_again_answers_what_it_has() -> None:
    one = recovering(outputs=(), informed=lambda of, epoch: False)
    one.handle(RecoveryStarted())
    assert one.is_running
    assert one.handle(DeterminantsRequested(IN, UP, 0)) == (AnswerDeterminants(IN, UP, "failed-too", Logs()),)
