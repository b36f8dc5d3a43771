"""More of Clonos' faults, put back in: what its generator, its merges, its deltas and its sends do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from replay.errors import DeltaGap
from replay.log.causal_log import CausalLog, Copy, HeldLogs
from replay.log.deltas import DeltaEntry
from replay.log.determinants import Order, Timestamp
from replay.recovery import AnswerDeterminants, Logs, OutputRebuilt, RecoveryManager, answers
from replay.recovery.answers import Answers
from replay.recovery.context import Context
from replay.recovery.relays import Relay
from replay.recovery.states import WaitingDeterminants
from replay.runtime.network import Connection
from replay.services import cursor
from replay.services.choices import Choices
from replay.services.random_numbers import RandomPerEpoch, SplitMix


@contextmanager
def sets_a_seed_without_effect() -> Iterator[None]:
    """The epoch's seed is logged and replayed, and the numbers come from elsewhere."""
    begin_epoch = RandomPerEpoch.begin_epoch

    def elsewhere(self: RandomPerEpoch) -> None:
        begin_epoch(self)
        self._numbers = SplitMix(self._wall.random_int32())

    with mock.patch.object(RandomPerEpoch, "begin_epoch", elsewhere):
        yield


@contextmanager
def logs_other_bytes_of_the_same_length() -> Iterator[None]:
    """While replaying, timestamps are logged again as something else: the lengths agree."""
    append = Choices.append

    def another(self: Choices, determinant: Any) -> None:
        if self.replaying and isinstance(determinant, Timestamp):
            determinant = Timestamp(determinant.value + 1)
        append(self, determinant)

    with mock.patch.object(Choices, "append", another):
        yield


@contextmanager
def counts_answers() -> Iterator[None]:
    """One who answered, died and was asked again counts twice."""

    def added(self: Answers, channel: Any, answer: Any) -> Answers:
        return Answers((*self.by_channel, (channel, answer)))

    def own(self: WaitingDeterminants) -> Any:
        return self.context.setting.asked[len(self.answers.by_channel) :]

    def relayed(self: Relay, setting: Any) -> Any:
        return setting.asked[len(self.answers.by_channel) :]

    with (
        mock.patch.object(Answers, "with_", added),
        mock.patch.object(Answers, "without", lambda self, channel: self),
        mock.patch.object(WaitingDeterminants, "awaited", property(own)),
        mock.patch.object(Relay, "awaited", relayed),
    ):
        yield


@contextmanager
def a_damaged_copy() -> Iterator[None]:
    """The second subtasks' memory is bad: what they hold has another last byte than what they were sent."""
    held = CausalLog.held

    def damaged(self: CausalLog, *args: Any) -> list[Copy]:
        copies = held(self, *args)
        if not self.task.endswith(".1"):
            return copies
        return [replace(one, data=one.data[:-1] + bytes((one.data[-1] ^ 1,))) if one.data else one for one in copies]

    with mock.patch.object(CausalLog, "held", damaged):
        yield


@contextmanager
def takes_the_longer_copy_unseen() -> Iterator[None]:
    """Of copies that disagree the longer one wins; one of them is damaged."""

    def longest(copies: Iterable[Copy]) -> dict[Any, Copy]:
        best: dict[Any, Copy] = {}
        for copy in copies:
            key = copy.log, copy.epoch
            if key not in best or len(copy.data) >= len(best[key].data):
                best[key] = copy
        return best

    with a_damaged_copy(), mock.patch.object(answers, "merge_copies", longest):
        yield


@contextmanager
def loses_what_follows_a_gap() -> Iterator[None]:
    """A consumer that comes again is sent what follows its old offset; its gap ends the message, unheard."""
    register, apply = CausalLog.register_consumer, HeldLogs.apply

    def kept(self: CausalLog, channel: Any, from_epoch: int = 0) -> None:
        if channel not in self._consumers:
            register(self, channel, from_epoch)

    def until_a_gap(self: HeldLogs, entries: Iterable[DeltaEntry], *args: Any, **named: Any) -> list[DeltaEntry]:
        news: list[DeltaEntry] = []
        for entry in entries:
            try:
                news += apply(self, [entry], *args, **named)
            except DeltaGap:
                break
        return news

    with (
        mock.patch.object(CausalLog, "register_consumer", kept),
        mock.patch.object(CausalLog, "unregister_consumer", lambda self, channel: None),
        mock.patch.object(HeldLogs, "apply", until_a_gap),
    ):
        yield


@contextmanager
def leaks_an_epoch_into_the_one_before() -> Iterator[None]:
    """Where an epoch was passed over, the bytes of the next one are sent as the last one's."""
    delta_for = CausalLog.delta_for

    def leaking(self: CausalLog, channel: Any) -> list[DeltaEntry]:
        found: list[DeltaEntry] = []
        for entry in delta_for(self, channel):
            before = next((i for i, one in enumerate(found) if one.log == entry.log), None)
            if before is not None and found[before].epoch + 1 < entry.epoch:
                found[before] = replace(found[before], data=found[before].data + entry.data)
            else:
                found.append(entry)
        return found

    with mock.patch.object(CausalLog, "delta_for", leaking):
        yield


@contextmanager
def drops_late_bytes_of_an_old_epoch() -> Iterator[None]:
    """Where a sending also brings a later epoch, what is still missing of an earlier one counts as known."""
    apply = HeldLogs.apply

    def latest(self: HeldLogs, entries: Iterable[DeltaEntry], *args: Any, **named: Any) -> list[DeltaEntry]:
        found = list(entries)
        newest: dict[Any, int] = {}
        for entry in found:
            newest[entry.log] = max(entry.epoch, newest.get(entry.log, 0))
        return apply(self, [entry for entry in found if entry.epoch == newest[entry.log]], *args, **named)

    with mock.patch.object(HeldLogs, "apply", latest):
        yield


@contextmanager
def never_escalates() -> Iterator[None]:
    """What lies past the sharing depth is treated as if nobody had ever depended on it."""
    with mock.patch.object(Answers, "beyond_depth", property(lambda self: ())):
        yield


@contextmanager
def reads_a_channel_as_a_signed_byte() -> Iterator[None]:
    """From 128 on, indexes are negative."""
    decode_at = cursor.decode_at

    def signed(data: bytes, at: int) -> Any:
        determinant, end = decode_at(data, at)
        if isinstance(determinant, Order) and determinant.channel > 127:
            determinant = Order(determinant.channel - 256)
        return determinant, end

    with mock.patch.object(cursor, "decode_at", signed):
        yield


@contextmanager
def counts_logs_in_a_signed_byte() -> Iterator[None]:
    """An answer with 128 logs or more arrives with none."""
    answered_from_log = Context.answered_from_log

    def cut(self: Context, event: Any) -> Any:
        context, effects = answered_from_log(self, event)
        return context, tuple(
            replace(one, logs=Logs()) if isinstance(one, AnswerDeterminants) and len(one.logs.copies) > 127 else one
            for one in effects
        )

    with mock.patch.object(Context, "answered_from_log", cut):
        yield


@contextmanager
def lets_failed_sends_be() -> Iterator[None]:
    """Every fifth question or answer that goes up is lost, and nobody asks again."""
    send_up, sent = Connection.send_up, [0]

    def losing(self: Connection, *args: Any) -> None:
        sent[0] += 1
        if sent[0] % 5:
            send_up(self, *args)

    with mock.patch.object(Connection, "send_up", losing):
        yield


@contextmanager
def drops_events_that_come_unexpectedly() -> Iterator[None]:
    """The manager does not expect to hear that an output is rebuilt."""
    handle = RecoveryManager.handle

    def dropping(self: RecoveryManager, event: Any) -> Any:
        return () if isinstance(event, OutputRebuilt) else handle(self, event)

    with mock.patch.object(RecoveryManager, "handle", dropping):
        yield
