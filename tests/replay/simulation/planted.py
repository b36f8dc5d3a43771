"""Faults put back in on purpose, for as long as a test looks: the checks must see each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from replay.log.determinants import IgnoreCheckpoint, is_async
from replay.model import MAIN
from replay.recovery import Logs
from replay.recovery.answers import Answers
from replay.runtime import output_thread
from replay.runtime.attempt import Attempt
from replay.runtime.output_thread import OutputThread
from replay.runtime.task import TaskBody
from replay.services.choices import Choices

Plant = Callable[[], Any]


@contextmanager
def counts_received_over_a_lifetime() -> Iterator[None]:
    """Clonos: `skip` counts over a channel's lifetime, while the epoch that is asked for moves on."""
    with mock.patch.object(Attempt, "received_since", lambda self, i, epoch: sum(self.received[i].values())):
        yield


@contextmanager
def does_not_log_an_ignored_checkpoint_again() -> Iterator[None]:
    """Clonos: replaying an ignore-checkpoint does not append it again."""
    append = Choices.append

    def forgetful(self: Choices, determinant: Any) -> None:
        if not (self.replaying and isinstance(determinant, IgnoreCheckpoint)):
            append(self, determinant)

    with mock.patch.object(Choices, "append", forgetful):
        yield


@contextmanager
def never_fires_at_the_head_of_a_log() -> Iterator[None]:
    """Clonos: an asynchronous determinant that is the first of its log is not executed before the first record."""
    fire_due = TaskBody.fire_due

    def late(self: TaskBody) -> None:
        if self.processed or self.record_count or not self.replaying:
            fire_due(self)

    with mock.patch.object(TaskBody, "fire_due", late):
        yield


@contextmanager
def logs_an_interruption_before_what_came_before_it() -> Iterator[None]:
    """Clonos: a choice that is directly followed by an interruption is appended after it."""
    append, held = Choices.append, {}

    def swapping(self: Choices, determinant: Any) -> None:
        before = held.pop(id(self), None)
        cursor = self.cursor
        follows = cursor is not None and (ahead := cursor.peek(self.epoch)) is not None and is_async(ahead)
        if follows and not is_async(determinant):
            held[id(self)] = determinant
            return
        append(self, determinant)
        if before is not None:
            append(self, before)

    with mock.patch.object(Choices, "append", swapping):
        yield


@contextmanager
def relays_without_its_own_copy() -> Iterator[None]:
    """Clonos: a recovering task passes on what others hold, and not what it holds itself."""
    relayed = Answers.relayed
    with mock.patch.object(Answers, "relayed", lambda self, own: relayed(self, Logs())):
        yield


@contextmanager
def shares_no_main_log() -> Iterator[None]:
    """Buffers leave without the choices that they depend on."""
    encode = output_thread.encode_deltas
    with mock.patch.object(
        output_thread,
        "encode_deltas",
        lambda entries, *how: encode([e for e in entries if e.log.thread != MAIN], *how),
    ):
        yield


@contextmanager
def sends_what_it_rebuilds() -> Iterator[None]:
    """Clonos' way without deduplication: the receiver's count is not looked at."""
    serve = OutputThread.serve
    with mock.patch.object(OutputThread, "serve", lambda self, epoch, skip: serve(self, epoch, 0)):
        yield


@contextmanager
def interrupts_before_it_has_caught_up() -> Iterator[None]:
    """A checkpoint is taken while buffers are still rebuilt that were sent before it."""
    with mock.patch.object(Attempt, "settled", property(lambda self: self.executing and self.manager.is_running)):
        yield


@contextmanager
def answers_before_it_has_heard_all_again() -> Iterator[None]:
    """A task that runs again is believed to hold all that it ever held."""
    with mock.patch.object(Attempt, "informed", property(lambda self: True)):
        yield


@contextmanager
def keeps_half_a_record() -> Iterator[None]:
    """At depth 0 the new sender's first bytes are glued to the old one's last."""
    with mock.patch.object(Attempt, "drop_partial_record", lambda self, channel: None):
        yield


PLANTS: tuple[Plant, ...] = (
    counts_received_over_a_lifetime,
    does_not_log_an_ignored_checkpoint_again,
    never_fires_at_the_head_of_a_log,
    logs_an_interruption_before_what_came_before_it,
    relays_without_its_own_copy,
    shares_no_main_log,
    sends_what_it_rebuilds,
    interrupts_before_it_has_caught_up,
    answers_before_it_has_heard_all_again,
    keeps_half_a_record,
)
