"""Over one connection nothing overtakes: what was sent before something that arrived has arrived."""

from __future__ import annotations

from itertools import pairwise

from replay.bundle.members import member_name
from replay.debugger.outcome import Missing
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.members import placed_receipts, placed_sendings
from replay.guarantees.ledger.executions import Executions
from replay.model import Channel


def check_overtaking(source: RecordingSource, executions: Executions, channel: Channel) -> None:
    """Raises `Missing` where a buffer arrived, and the one sent right before it, to the same attempt and over the same
    connection, did not."""
    if source.manifest.clock.kind != "virtual":
        return
    received = {
        (attempt, receipt.sender_attempt, receipt.seq): receipt.received_us
        for attempt in source.attempts(channel.target)
        for *_, receipt in placed_receipts(source, channel.target, attempt, channel.i)
    }
    arrived = {(attempt, seq) for attempt, _, seq in received}
    for sender in source.attempts(channel.source):
        sendings = placed_sendings(source, channel.source, sender, channel.k)
        for (path, offset, epoch, one), (*_, following) in pairwise(sendings):
            to = one.receiver_attempt
            is_next = (following.receiver_attempt, following.seq, following.sending) == (to, one.seq + 1, one.sending)
            received_us = received.get((to, sender, following.seq))
            if not is_next or (to, one.seq) in arrived or received_us is None or one.t_us > following.t_us:
                continue
            ends = (channel.id, channel.source, sender), (channel.id, channel.target, to)
            if any(one.t_us <= t_us <= received_us for end in ends for t_us in executions.lost.get(end, ())):
                continue
            raise Missing(
                f"{path} at offset {offset} has sending {one.sending} of buffer {one.seq} of {channel.id}, of which no "
                f"receipt tells, though the one sent right behind it to attempt {to} of {channel.target} arrived.",
                lacks=member_name(channel.target, to, f"received-{channel.i}", epoch, "rcv"),
                other_member=path,
                channel=channel.id,
            )
