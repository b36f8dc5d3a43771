"""Faults put back in on purpose, for as long as a test looks: the checks must see each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from replay.log.determinants import IgnoreCheckpoint, is_async
from replay.model import MAIN
from replay.recovery import Logs
from replay.recovery.answers import Answers
from replay.runtime.attempts import output_thread
from replay.runtime.attempts.attempt import Attempt
from replay.runtime.attempts.output_thread import OutputThread
from replay.runtime.body.task import TaskBody
from replay.runtime.checkpoint_policy import CheckpointPolicy
from replay.services.choices import Choices
from replay.simulation.plan import Plan
from replay.simulation.schedule import Aim, Schedule
from tests.replay.simulation import planted_clonos, planted_failing, planted_outside

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


@dataclass(frozen=True, slots=True)
class Planted:
    """A plant, the row of Clonos' faults that it puts back (or none), in which worlds it can show, and struck how."""

    plant: Plant
    row: str | None = None
    needs: Callable[[Plan], bool] = lambda plan: True
    aimed: Callable[[Plan], Plan] = lambda plan: plan


def _shares(plan: Plan) -> bool:
    return plan.protocol.name == "clonos" and plan.protocol.sharing_depth != 0


def _is_small(plan: Plan) -> bool:
    return _shares(plan) and sum(vertex.parallelism for vertex in plan.vertices) <= 5


def _is_short(plan: Plan) -> bool:
    return plan.protocol.name == "clonos" and plan.protocol.sharing_depth in (1, 2)


def _is_struck(plan: Plan) -> bool:
    return plan.schedule.size > 1 and _shares(plan)


def _beats_slowly(plan: Plan) -> bool:
    """A world that comes to a stop is followed until long after: where few clocks go on that is soon over."""
    is_slow = plan.costs.heartbeat_timeout_us > 100_000 and (plan.protocol.checkpoint_interval_ms or 0) > 50
    return _shares(plan) and is_slow and plan.costs.metric_us > 1_000_000


def _suspects(plan: Plan) -> bool:
    return _shares(plan) and bool(plan.schedule.suspicions)


def _suspects_who_stores(plan: Plan) -> bool:
    return plan.protocol.in_storage and bool(plan.schedule.suspicions)


def _checkpoints_often(plan: Plan) -> Plan:
    return replace(plan, protocol=replace(plan.protocol, checkpoint_interval_ms=10), checkpoints=CheckpointPolicy(0))


def _seeds(plan: Plan) -> bool:
    return _shares(plan) and any(one.services.get("random") == "seed" for one in plan.vertices)


def _churns(plan: Plan) -> bool:
    return _shares(plan) and plan.job == "churn"


def _forks(plan: Plan) -> bool:
    return _shares(plan) and any(vertex.id == "sink" and vertex.parallelism > 1 for vertex in plan.vertices)


def _one_fails(plan: Plan, *aims: Aim) -> Plan:
    """A map alone fails, and then whoever the aims say."""
    at_ms = 600 * plan.events / plan.rate_per_s
    vertex = next((one.id for one in plan.vertices if one.kind == "operator"), "source")
    return replace(plan, schedule=Schedule(((((f"{vertex}.0"), at_ms),),), aims=aims))


def _whoever_answers_first_dies(plan: Plan) -> Plan:
    """It has answered; its next attempt is asked again, and answers again."""
    return _one_fails(plan, Aim("determinants-received", 0, "downstream", 0))


def _a_source_fails(plan: Plan) -> Plan:
    """One that reads little and takes many checkpoints: most of its epochs begin with the next one."""
    protocol = replace(plan.protocol, checkpoint_interval_ms=10)
    # A world that comes to a stop is followed until long after: with little else going on that is soon over.
    costs = replace(plan.costs, metric_us=10_000_000, heartbeat_us=80_000, heartbeat_timeout_us=200_000)
    at_ms = 600 * plan.events / plan.rate_per_s
    schedule = Schedule(((("source.0", at_ms),),))
    return replace(plan, protocol=protocol, costs=costs, rate_per_s=400.0, schedule=schedule)


def _neighbours_fail(plan: Plan) -> Plan:
    """A task and the one above it, which gets through it what it needs."""
    return _one_fails(plan, Aim("recovery-state", 2, "upstream", 500), Aim("recovery-state", 4, "upstream", 500))


PLANTS: tuple[Planted, ...] = (
    Planted(planted_clonos.sets_a_seed_without_effect, "seed", _seeds),
    Planted(logs_an_interruption_before_what_came_before_it, "order", _churns),
    Planted(never_fires_at_the_head_of_a_log, "head", _is_small, _a_source_fails),
    Planted(planted_clonos.logs_other_bytes_of_the_same_length, "length", _shares),
    Planted(planted_clonos.counts_answers, "count", _forks, _whoever_answers_first_dies),
    Planted(planted_clonos.takes_the_longer_copy_unseen, "longer", _shares),
    Planted(planted_clonos.loses_what_follows_a_gap, "gap", _is_struck),
    Planted(planted_clonos.leaks_an_epoch_into_the_one_before, "epochs", _is_struck),
    Planted(planted_clonos.drops_late_bytes_of_an_old_epoch, "epochs", _is_struck),
    Planted(does_not_log_an_ignored_checkpoint_again, "ignore", _is_struck),
    Planted(counts_received_over_a_lifetime, "skip", _is_struck),
    Planted(planted_clonos.never_escalates, "nobody", _is_short),
    Planted(relays_without_its_own_copy, "relay", _shares, _neighbours_fail),
    Planted(planted_clonos.lets_failed_sends_be, "sends", _beats_slowly),
    Planted(planted_clonos.drops_events_that_come_unexpectedly, "sends", _beats_slowly),
    Planted(shares_no_main_log, None, _shares),
    Planted(sends_what_it_rebuilds, None, _shares),
    Planted(interrupts_before_it_has_caught_up, None, _is_struck),
    Planted(answers_before_it_has_heard_all_again, None, _is_struck),
    Planted(keeps_half_a_record, None, lambda plan: plan.protocol.name == "clonos" and not _shares(plan)),
)


def _struck_at(sink: str) -> Callable[[Plan], bool]:
    return lambda plan: _shares(plan) and plan.protocol.sink == sink


def _runs(*jobs: str) -> Callable[[Plan], bool]:
    return lambda plan: _shares(plan) and plan.job in jobs


def _runs_without_determinants(*jobs: str) -> Callable[[Plan], bool]:
    return lambda plan: plan.protocol.name == "clonos" and not _shares(plan) and plan.job in jobs


def _calls(plan: Plan) -> bool:
    return plan.job == "enrich" or (_churns(plan) and any(one.options.get("write_every") for one in plan.vertices))


def _goes_on(plan: Plan) -> bool:
    return plan.protocol.on_lost == "continue" and plan.protocol.sharing_depth in (1, 2) and plan.schedule.size > 1


def _a_sink_fails(plan: Plan) -> Plan:
    """Twice, after some checkpoints."""
    interval_ms = max(10, int(1000 * plan.events / plan.rate_per_s / 4))
    protocol = replace(plan.protocol, checkpoint_interval_ms=interval_ms)
    aims = (Aim("checkpoint-completed", 1, "any", 0, pick=-1), Aim("checkpoint-acknowledged", 9, "any", 300, pick=-1))
    return replace(plan, protocol=protocol, schedule=Schedule(aims=aims))


def _an_operator_fails(plan: Plan) -> Plan:
    """Its state is that of a checkpoint in which something was held."""
    state = [one.id for one in plan.vertices if one.kind == "operator"][-1]
    tasks = [task.id for task in plan.manifest().tasks]
    aim = Aim("checkpoint-completed", 1, "any", 100, pick=tasks.index(f"{state}.0"))
    return replace(_a_sink_fails(plan), schedule=Schedule(aims=(aim,)))


OUTSIDE_PLANTS: tuple[Planted, ...] = (
    Planted(planted_outside.commits_at_the_barrier, None, _struck_at("transactional"), _a_sink_fails),
    Planted(
        planted_outside.commits_what_the_checkpoint_does_not_list, None, _struck_at("transactional"), _a_sink_fails
    ),
    Planted(planted_outside.aborts_what_the_checkpoint_lists, None, _struck_at("transactional"), _a_sink_fails),
    Planted(planted_outside.leaves_transactions_open, None, _struck_at("transactional"), _a_sink_fails),
    Planted(planted_outside.gives_other_ids_in_every_attempt, None, _struck_at("idempotent"), _a_sink_fails),
    Planted(planted_outside.flushes_at_once, None, _struck_at("idempotent"), _a_sink_fails),
    Planted(planted_outside.forgets_the_write_ahead_log, None, _struck_at("idempotent"), _a_sink_fails),
    Planted(planted_outside.writes_again_what_the_world_has, None, _struck_at("determinant"), _a_sink_fails),
    Planted(planted_outside.leaves_no_determinants, None, _struck_at("determinant"), _a_sink_fails),
    Planted(planted_outside.takes_its_first_write_for_made, None, _struck_at("plain"), _a_sink_fails),
    *(
        Planted(planted_outside.takes_its_first_write_for_made, None, _runs_without_determinants(*jobs), _a_sink_fails)
        for jobs in (("nexmark-q1", "nexmark-q2", "nexmark-q3"), ("concat",))
    ),
    Planted(planted_outside.writes_at_the_barrier_again, None, _struck_at("plain")),
    Planted(planted_outside.asks_again_what_is_logged, None, _calls, _an_operator_fails),
    Planted(planted_outside.makes_calls_with_an_effect_only_in_the_log, None, _calls),
    Planted(planted_outside.takes_no_answer_for_a_loss, None, _is_struck),
    Planted(planted_outside.keeps_to_logs_that_bind_nobody, None, _goes_on),
    Planted(planted_outside.loses_what_a_window_names, None, _runs("windowed", "nexmark-q12"), _an_operator_fails),
    Planted(
        planted_outside.begins_keyed_state_anew, None, _runs("word-count", "concat", "nexmark-q8"), _an_operator_fails
    ),
)
"""They show at the edge to the world outside, past the sharing depth, and in the results of jobs."""


FAILING_PLANTS: tuple[Planted, ...] = (
    Planted(planted_failing.takes_acknowledgements_of_the_fenced, None, _suspects, _checkpoints_often),
    Planted(planted_failing.keeps_the_old_connection_beside_the_new_one, None, _suspects),
    Planted(planted_failing.writes_down_what_zombies_log, None, _suspects_who_stores),
    Planted(planted_failing.runs_on_after_its_end, None, _shares),
    Planted(planted_failing.detects_a_failure_again, None, _shares),
    Planted(planted_failing.forgets_a_failure_of_a_task_that_failed_before, None, _beats_slowly),
    Planted(planted_failing.gives_up_too_early, None, _shares),
    Planted(planted_failing.crowds_hosts, None, lambda plan: plan.site.slots is not None),
    Planted(planted_failing.puts_standbys_anywhere, None, lambda plan: plan.protocol.standby > 0),
    Planted(planted_failing.goes_back_to_where_it_failed, None, lambda plan: plan.protocol.standby == 0),
    Planted(planted_failing.spares_a_task_of_a_failed_host, None, lambda plan: plan.schedule.strikes_hosts),
    Planted(planted_failing.restores_what_was_uploaded_last, None, lambda plan: plan.checkpoints.incremental),
)
"""What goes wrong with failures, suspicions and hosts, and not with the protocol."""

WIDE_PLANTS: tuple[Planted, ...] = (
    Planted(planted_clonos.reads_a_channel_as_a_signed_byte, "signed"),
    Planted(planted_clonos.counts_logs_in_a_signed_byte, "signed"),
)
"""They show where a task has more than 127 inputs or outputs."""
