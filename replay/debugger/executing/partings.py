"""Where an execution parts from its log or its buffers: what it asked for, what is there, and where that is."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from replay.bundle.members import member_name
from replay.debugger.executing.plan import Plan
from replay.debugger.outcome import DivergenceFound, Missing
from replay.debugger.recorded.logs import Built
from replay.debugger.recorded.members import damaged, placed_sendings
from replay.errors import CorruptMember
from replay.model import MAIN, thread_of_output
from replay.services import Divergence

if TYPE_CHECKING:
    from replay.debugger.executing.execution import Execution

_OF_THE_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM)


def check_machine(fault: BaseException) -> None:
    """What the machine, or a limit, has no more of says nothing about the recording."""
    if isinstance(fault, MemoryError) or (isinstance(fault, OSError) and fault.errno in _OF_THE_MACHINE):
        raise fault


def of_snapshot(plan: Plan, fault: BaseException) -> DivergenceFound:
    """The operator does not take it."""
    return DivergenceFound(
        f"The snapshot of checkpoint {plan.checkpoint} of {plan.task} can't be restored by its operator: "
        f"{type(fault).__name__}: {fault}.",
        checkpoint=plan.checkpoint,
        why=f"{type(fault).__name__}: {fault}",
    )


def of_operator(at: Execution, fault: BaseException) -> DivergenceFound:
    """It failed, where the first execution did not."""
    inside = "" if at.last_taken is None else f", in buffer {at.last_taken.buffer.frame.seq} of {_channel(at)}"
    return DivergenceFound(
        f"The operator of {at.plan.task} failed at record {at.body.record_count} of epoch {at.body.epoch} with "
        f"{type(fault).__name__}: {fault}{inside}.",
        **_last_buffer(at),
        asked="the record to be processed, as in the first execution",
        logged=f"{type(fault).__name__}: {fault}",
    )


def of_bad_buffer(at: Execution, fault: CorruptMember) -> DivergenceFound:
    """The one that was taken last does not go on where the one before it ended."""
    if at.last_taken is None:
        return damaged(fault, fault.path or "a buffer", None)
    buffer = at.last_taken.buffer
    return DivergenceFound(
        f"{buffer.path}: buffer {buffer.frame.seq} of {_channel(at)} does not continue its stream: {fault.why}.",
        **_last_buffer(at),
        why=fault.why,
    )


def of_size(at: Execution, k: int, named: Built, there_bytes: int) -> DivergenceFound:
    """The log names a buffer of another size than what was written makes."""
    channel = at.shape.outputs[k].channel
    seq = at.body.writers[k].next_seq
    return DivergenceFound(
        f"The log of {thread_of_output(k)} names a buffer of {named.buffer_bytes} bytes (epoch {named.epoch}, "
        f"offset {named.offset}), but the replay's stream on {channel} goes {there_bytes} bytes to the end of what "
        f"one buffer can hold: buffer {seq} can't be rebuilt.",
        thread=thread_of_output(k),
        epoch=named.epoch,
        offset=named.offset,
        channel=channel,
        buffer=seq,
        asked=f"a buffer of {there_bytes} bytes",
        logged=f"a buffer of {named.buffer_bytes} bytes",
    )


def of_rest(at: Execution, what: str) -> DivergenceFound:
    """The log goes on where the recording holds no more of `what`; or an epoch that is over was not followed to its
    end."""
    cursor, epoch = at.body.choices.cursor, at.body.epoch
    first = min(cursor.epochs, default=epoch) if cursor is not None else epoch
    goes_on = "goes on"
    if first < epoch:
        epoch, goes_on = first, f"still goes on, before epoch {epoch} that the replay has come to,"
    following = cursor.peek(epoch) if cursor is not None else None
    offset = cursor.offset(epoch) if cursor is not None else None
    return DivergenceFound(
        f"The recording holds no more {what} for {at.plan.task}, but {at.plan.where_at(MAIN, epoch, offset or 0)} "
        f"{goes_on} in epoch {epoch} at offset {offset} with {following or 'a later epoch'}.",
        thread=MAIN,
        epoch=epoch,
        offset=offset,
        asked="nothing more",
        logged=repr(following),
    )


def of_log(at: Execution, found: Divergence) -> DivergenceFound:
    """The log holds something else than what is asked for."""
    return DivergenceFound(
        f"At record {at.body.record_count} of epoch {at.body.epoch} the replay of {at.plan.task} asks for "
        f"{found.asked}, but {at.plan.where_at(found.thread, found.epoch, found.offset)} holds {found.logged} at "
        f"offset {found.offset} of {found.thread}, epoch {found.epoch}.",
        thread=found.thread,
        epoch=found.epoch,
        offset=found.offset,
        asked=found.asked,
        logged=found.logged,
        record_count=at.body.record_count,
    )


def check_log_is_there(at: Execution, found: Divergence) -> None:
    """A log that a recording has no member of may be gone as well as empty: it contradicts nothing."""
    plan = at.plan
    returned = plan.recovered is not None and plan.where_at(found.thread, found.epoch, found.offset) == plan.where
    if plan.is_own_log and not returned and found.epoch not in plan.logs.get(found.thread, {}):
        member = member_name(plan.task, plan.take_from[0], found.thread, found.epoch)
        raise Missing(
            f"The recording lacks {member}, though at record {at.body.record_count} of epoch {at.body.epoch} the "
            f"replay of {plan.task} asks for {found.asked}. So it can't be said whether it is identical.",
            member=member,
        )


def out_of_buffers(at: Execution, found: DivergenceFound) -> DivergenceFound:
    """Names receipts that aren't there, where buffers of the epoch were sent to it: it may have gone on from them."""
    epoch, attempts = at.body.epoch, at.plan.take_from
    for i, name in enumerate(at.shape.inputs):
        if any(epoch in at.source.epochs(at.plan.task, one, f"received-{i}") for one in attempts):
            continue
        channel = at.source.graph.channel(name)
        for sender in at.source.attempts(channel.source):
            sendings = placed_sendings(at.source, channel.source, sender, channel.k)
            if any(of == epoch and frame.receiver_attempt in attempts for _, _, of, frame in sendings):
                found.detail["lacks"] = member_name(at.plan.task, attempts[0], f"received-{i}", epoch)
                return found
    return found


def _channel(at: Execution) -> str:
    return "" if at.last_taken is None else at.shape.inputs[at.last_taken.i]


def _last_buffer(at: Execution) -> dict[str, Any]:
    if at.last_taken is None:
        return {}
    placed = at.last_taken.buffer
    return {"member": placed.path, "offset": placed.offset, "buffer": placed.frame.seq, "channel": _channel(at)}
