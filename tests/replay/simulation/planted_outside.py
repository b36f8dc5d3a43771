"""Faults put in at the edge to the world outside: in sinks, in calls, past the sharing depth, in states of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from replay.model import Record
from replay.recovery.answers import Answers
from replay.runtime.failing.losses import Losses
from replay.runtime.operators.keyed import KeyedState
from replay.runtime.operators.windows import Pane
from replay.runtime.outside.world import World
from replay.runtime.sinks.determinant import DeterminantSink
from replay.runtime.sinks.idempotent import IdempotentSink
from replay.runtime.sinks.plain import PlainSink
from replay.runtime.sinks.transactional import TransactionalSink
from replay.services.external import ExternalCalls, ExternalFault

# --- transactions ---


@contextmanager
def commits_at_the_barrier() -> Iterator[None]:
    """What the epoch wrote is made final before its checkpoint is complete."""
    barrier = TransactionalSink.barrier

    def hasty(self: TransactionalSink, checkpoint: int) -> Any:
        listed = barrier(self, checkpoint)
        for one in self._sealed:
            self._finish("epoch-committed", one, None)
        return listed

    with mock.patch.object(TransactionalSink, "barrier", hasty):
        yield


def _ends_with(kind: str | None, *, listed: bool) -> Any:
    """A restore that gives the same end to what the checkpoint lists, or to what it doesn't."""

    def restore(self: TransactionalSink, transactions: Sequence[dict[str, Any]]) -> None:
        self.attempt.engine.world.meets(self.attempt)
        known = {int(one["txn"]) for one in transactions}
        for one in self._ledger.unfinished(self.attempt.task):
            right = "epoch-committed" if one.txn in known else "epoch-aborted"
            end = kind if (one.txn in known) == listed else right
            if end is not None:
                self._finish(end, one, self.attempt.state_cause)

    return mock.patch.object(TransactionalSink, "restore", restore)


@contextmanager
def commits_what_the_checkpoint_does_not_list() -> Iterator[None]:
    """A recovery takes over all that the attempt before left."""
    with _ends_with("epoch-committed", listed=False):
        yield


@contextmanager
def aborts_what_the_checkpoint_lists() -> Iterator[None]:
    """A recovery knows nothing of what was sealed before its checkpoint."""
    with _ends_with("epoch-aborted", listed=True):
        yield


@contextmanager
def leaves_transactions_open() -> Iterator[None]:
    """A recovery lets be what the attempt before had begun."""
    with _ends_with(None, listed=False):
        yield


# --- write-ahead logs ---


@contextmanager
def gives_other_ids_in_every_attempt() -> Iterator[None]:
    """A log that is flushed once more counts once more."""
    accepted = IdempotentSink._accepted

    def numbered(self: IdempotentSink, epoch: int, t_us: int, record: Record, **marks: Any) -> None:
        accepted(self, epoch, t_us, record, id=f"{self.attempt.number}/{marks['id']}")

    with mock.patch.object(IdempotentSink, "_accepted", numbered):
        yield


@contextmanager
def flushes_at_once() -> Iterator[None]:
    """As soon as a log is sealed, and another checkpoint told the sink to look."""
    with mock.patch.object(IdempotentSink, "_next", lambda self: self._sealed[0] if self._sealed else None):
        yield


@contextmanager
def forgets_the_write_ahead_log() -> Iterator[None]:
    """A recovery doesn't flush what its checkpoint holds."""
    with mock.patch.object(IdempotentSink, "restore", lambda self, transactions: None):
        yield


# --- a world that keeps determinants, and one that doesn't ---


@contextmanager
def writes_again_what_the_world_has() -> Iterator[None]:
    """Nothing is held back."""
    with mock.patch.object(World, "accepted", lambda self, task, from_epoch: 0):
        yield


@contextmanager
def leaves_no_determinants() -> Iterator[None]:
    """A write goes out without what makes it stable."""
    with mock.patch.object(DeterminantSink, "_leave_determinants", lambda self, epoch, now_us: None):
        yield


@contextmanager
def takes_its_first_write_for_made() -> Iterator[None]:
    """A plain sink that begins again believes that what comes first was written before."""
    write, begun = PlainSink.write, set()

    def once(self: PlainSink, record: Record) -> None:
        if self.attempt.number and id(self) not in begun:
            begun.add(id(self))
        else:
            write(self, record)

    with mock.patch.object(PlainSink, "write", once):
        yield


@contextmanager
def writes_at_the_barrier_again() -> Iterator[None]:
    """A plain sink gives the last record of an epoch a second time."""
    write, barrier, last = PlainSink.write, PlainSink.barrier, {}

    def noted(self: PlainSink, record: Record) -> None:
        last[id(self)] = record
        write(self, record)

    def again(self: PlainSink, checkpoint: int) -> Any:
        if id(self) in last:
            write(self, last.pop(id(self)))
        return barrier(self, checkpoint)

    with mock.patch.object(PlainSink, "write", noted), mock.patch.object(PlainSink, "barrier", again):
        yield


# --- calls ---


@contextmanager
def asks_again_what_is_logged() -> Iterator[None]:
    """A replay makes the call, and then takes the answer from the log."""
    ask = ExternalCalls.ask

    def twice(self: ExternalCalls, call: str, request: Any, effect: str) -> Any:
        if self._choices.replaying:
            with suppress(ExternalFault):
                self._wall.external(call, request, effect)
        return ask(self, call, request, effect)

    with mock.patch.object(ExternalCalls, "ask", twice):
        yield


@contextmanager
def makes_calls_with_an_effect_only_in_the_log() -> Iterator[None]:
    """The answer is made up, and the outside never hears of it."""
    asked = ExternalCalls._asked

    def made_up(self: ExternalCalls, call: str, request: Any, effect: str) -> Any:
        if effect == "read":
            return asked(self, call, request, effect)
        with mock.patch.object(type(self._wall), "external", lambda *_: None):
            return asked(self, call, request, effect)

    with mock.patch.object(ExternalCalls, "_asked", made_up):
        yield


# --- past the sharing depth ---


@contextmanager
def takes_no_answer_for_a_loss() -> Iterator[None]:
    """Whoever holds nothing is believed to be too far away: a recovery escalates within the depth."""

    def empty(self: Answers) -> tuple[Any, ...]:
        return tuple(channel for channel, answer in self.by_channel if not answer.logs)

    with mock.patch.object(Answers, "beyond_depth", property(empty)):
        yield


@contextmanager
def keeps_to_logs_that_bind_nobody() -> Iterator[None]:
    """Below choices that were given up, recoveries go on as if nothing were lost."""
    with mock.patch.object(Losses, "diverges", lambda self, task, checkpoint: False):
        yield


@contextmanager
def forgets_that_it_began_anew() -> Iterator[None]:
    """What an attempt logs that began without determinants is shared, beside what the one before it had logged."""
    with mock.patch.object(Losses, "began_anew", lambda self, attempt: None):
        yield


# --- states of jobs ---


@contextmanager
def loses_what_a_window_names() -> Iterator[None]:
    """A window that was restored names one record less."""
    from_json = Pane.from_json

    def less(fields: list[Any]) -> Pane:
        pane = from_json(fields)
        return Pane(pane.held, pane.lineage[1:])

    with mock.patch.object(Pane, "from_json", less):
        yield


@contextmanager
def begins_keyed_state_anew() -> Iterator[None]:
    """What a key held is not restored."""
    with mock.patch.object(KeyedState, "restore", lambda self, pairs: None):
        yield
