"""Logs: what was returned was lost, and is repeated byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

from replay.log.codec import decode_all
from replay.log.determinants import BufferBuilt
from replay.model import MAIN, Channel
from replay.simulation.recording import Recording


def recovered_logs_equal_what_was_returned(recording: Recording) -> Iterator[str]:
    """Byte for byte, as far as the attempt lived to follow them; what goes on was appended later."""
    for task, attempt, logs in recording.returned:
        for copy in logs:
            ours = recording.log(task, attempt, copy.log.thread, copy.epoch)
            died = attempt + 1 < recording.attempts(task)
            if not ours.startswith(copy.data) and not (died and copy.data.startswith(ours)):
                yield f"{task} attempt {attempt}: {copy.log.thread}, epoch {copy.epoch} isn't what was returned"


def returned_logs_were_lost(recording: Recording) -> Iterator[str]:
    """What was returned is the beginning of what an earlier attempt of this lineage had logged."""
    for task, attempt, logs in recording.returned:
        chain = recording.lineage(task, attempt)
        for copy in logs:
            before = [recording.log(task, one, copy.log.thread, copy.epoch) for one in chain if one < attempt]
            if copy.data and not any(one.startswith(copy.data) for one in before):
                yield f"{task} attempt {attempt}: was returned bytes of {copy.log.thread} that nobody logged"


def survivors_depend_on_what_was_recovered(recording: Recording) -> Iterator[str]:
    """As far as a survivor took a task's buffers, the task's later attempts repeat the log that they depend on."""
    for channel in recording.graph.channels:
        for chain in recording.lineages(channel.source):
            for attempt in chain[:-1]:
                for survivor in recording.outliving(channel.target, channel.source, chain[-1]):
                    yield from _orphans(recording, channel, attempt, chain[-1], survivor)


def _orphans(recording: Recording, channel: Channel, attempt: int, after: int, survivor: int) -> Iterator[str]:
    source, since = channel.source, recording.restored(channel.source, after)
    for epoch, upto in _dependence(recording, channel, survivor, attempt).items():
        lost = recording.log(source, attempt, MAIN, epoch)[:upto]
        ours = recording.log(source, after, MAIN, epoch)
        died = (source, after) in recording.ends
        if epoch >= since and not ours.startswith(lost) and not (died and lost.startswith(ours)):
            yield (
                f"{channel.target} attempt {survivor} depends on {upto} bytes of {source}'s main log, epoch {epoch}, "
                f"of attempt {attempt}, which attempt {after} did not repeat"
            )


def _dependence(recording: Recording, channel: Channel, survivor: int, attempt: int) -> dict[int, int]:
    """How much of each epoch of the sender's main log lies before the buffers that were taken of that attempt."""
    upto: dict[int, int] = {}
    sent = recording.buffers(channel.source, attempt, channel.k)
    for receipt in recording.receipts(channel.target, survivor, channel.i):
        frame = sent.get(receipt.seq)
        if receipt.taken and receipt.sender_attempt == attempt and frame is not None:
            upto[frame.main_epoch] = max(frame.main_offset, upto.get(frame.main_epoch, 0))
    return upto


def buffer_logs_name_the_buffers(recording: Recording) -> Iterator[str]:
    """An output thread's log holds the sizes of its buffers, in the order of their numbers."""
    for task in recording.manifest.tasks:
        for attempt in range(recording.attempts(task.id)):
            for k in range(len(task.outputs)):
                sizes: dict[int, list[int]] = {}
                for _, frame in sorted(recording.buffers(task.id, attempt, k).items()):
                    sizes.setdefault(frame.epoch, []).append(len(frame.payload))
                for epoch, expected in sizes.items():
                    data = recording.log(task.id, attempt, f"out-{k}", epoch)
                    logged = [one.buffer_bytes for _, _, one in decode_all(data) if isinstance(one, BufferBuilt)]
                    if logged != expected:
                        yield f"{task.id} attempt {attempt}: out-{k}, epoch {epoch} says {logged}, cut were {expected}"


EXACT = (
    recovered_logs_equal_what_was_returned,
    returned_logs_were_lost,
    survivors_depend_on_what_was_recovered,
    buffer_logs_name_the_buffers,
)
CONTINUED = (recovered_logs_equal_what_was_returned, returned_logs_were_lost, buffer_logs_name_the_buffers)
"""Where choices were given up: what is returned is followed all the same."""
