"""Buffers: rebuilt as they were, taken once and in order, and the same for whoever took them of whichever attempt."""

from __future__ import annotations

from collections.abc import Iterator

from replay.bundle.frames import BufferFrame
from replay.simulation.recording import Recording


def rebuilt_buffers_equal_the_lost(recording: Recording) -> Iterator[str]:
    """A buffer that was rebuilt and held back has the bytes, kind and epoch that it had before."""
    for task in recording.manifest.tasks:
        for chain in recording.lineages(task.id):
            for k in range(len(task.outputs)):
                yield from _rebuilt_in_chain(recording, task.id, chain, k)


def _rebuilt_in_chain(recording: Recording, task: str, chain: list[int], k: int) -> Iterator[str]:
    known: dict[int, BufferFrame] = {}
    for attempt in chain:
        ours = recording.buffers(task, attempt, k)
        for seq, frame in ours.items():
            if not frame.held_back:
                continue
            before = known.get(seq)
            if before is None or _content(before) != _content(frame):
                yield f"{task} attempt {attempt}: buffer {seq} of output {k} was rebuilt otherwise than it was"
        known.update(ours)


def _content(frame: BufferFrame) -> tuple[int, bool, bytes]:
    return frame.epoch, frame.is_event, frame.payload


def survivors_see_each_buffer_once(recording: Recording) -> Iterator[str]:
    """An attempt takes each channel's buffers in sequence, without gap or repeat, whoever sent them."""
    for task in recording.manifest.tasks:
        for attempt in range(recording.attempts(task.id)):
            first = recording.restored_state(task.id, attempt).get("inputs", {})
            for i, channel in enumerate(task.inputs):
                begin = first.get(channel, 0)
                seqs = [one.seq for one in recording.receipts(task.id, attempt, i) if one.taken]
                if seqs != list(range(begin, begin + len(seqs))):
                    yield f"{task.id} attempt {attempt}: took buffers {seqs} of {channel}, and had to begin at {begin}"


def senders_and_receivers_agree(recording: Recording) -> Iterator[str]:
    """What a receiver took is, in the last attempt of its sender's lineage, still what the sender says it sent."""
    for channel in recording.graph.channels:
        for chain in recording.lineages(channel.source):
            last = recording.buffers(channel.source, chain[-1], channel.k)
            first = min(last, default=0)
            # Only those that outlived the sender's failures: whoever failed too depends on nothing any more.
            for attempt in (one[-1] for one in recording.lineages(channel.target)):
                for one in recording.receipts(channel.target, attempt, channel.i):
                    if not one.taken or one.sender_attempt not in chain:
                        continue
                    sent = recording.buffers(channel.source, one.sender_attempt, channel.k).get(one.seq)
                    now = last.get(one.seq)
                    if sent is None:
                        yield f"{channel.target} took buffer {one.seq} of {channel.id} that nobody sent"
                    elif now is None and one.seq >= first and chain is recording.lineages(channel.source)[-1]:
                        yield f"{channel.id}: buffer {one.seq} was taken, and never built again"
                    elif now is not None and _content(now) != _content(sent):
                        yield f"{channel.id}: buffer {one.seq} isn't what {channel.target} took of it"


EXACT = (rebuilt_buffers_equal_the_lost, survivors_see_each_buffer_once, senders_and_receivers_agree)
