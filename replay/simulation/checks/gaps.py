"""Gap recovery: nothing counts twice, nothing is lost without a failure, and every loss can be told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from replay.bundle.frames import ReceiptFrame
from replay.model import Channel, Record
from replay.runtime.body.records import RecordReader
from replay.simulation.checks import buffers, sinks, states
from replay.simulation.recording import Recording

Lineages = Counter[str]


def nothing_counts_twice(recording: Recording) -> Iterator[str]:
    """In every completed checkpoint no vertex has counted a record more often than there are ways to it."""
    for checkpoint in recording.completed:
        expected = recording.expected_keys(checkpoint)
        for vertex in recording.manifest.vertices:
            found = [recording.state(task, checkpoint)["operator"] for task in recording.tasks_of(vertex.id)]
            counted, most = sum(state["records"] for state in found), sum(expected[vertex.id].values())
            if counted > most:
                yield f"{vertex.id} counted {counted} records of {most} in checkpoint {checkpoint}"


def nothing_is_written_twice(recording: Recording) -> Iterator[str]:
    """All attempts of all sinks together write no record more often than there are ways to them; an id is one write."""
    written: Lineages = Counter()
    ids: set[str] = set()
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            for _, line in recording.sink_lines(task, attempt):
                if "id" not in line or line["id"] not in ids:
                    written.update(map(str, line["source"]))
                    ids.add(line.get("id", ""))
    if more := written - sinks.expected(recording):
        yield f"too often were written {dict(more)}"


def no_buffer_is_taken_twice(recording: Recording) -> Iterator[str]:
    """Whoever takes it; and each attempt takes what one sender sent in ascending order."""
    for channel in recording.graph.channels:
        taken: Counter[tuple[int, int]] = Counter()
        for attempt in range(recording.attempts(channel.target)):
            receipts = _taken(recording, channel, attempt)
            times_us = [one.taken_us for one in receipts]
            if times_us != sorted(times_us):
                yield f"{channel.target} attempt {attempt} took buffers of {channel.id} out of order"
            taken.update((one.sender_attempt, one.seq) for one in receipts)
        if twice := [one for one, count in taken.items() if count > 1]:
            yield f"{channel.id}: buffers {twice} were taken twice"


def _taken(recording: Recording, channel: Channel, attempt: int) -> list[ReceiptFrame]:
    """By sender and number: as they are filed by their senders' epochs, a new sender's may stand before older ones."""
    receipts = [one for one in recording.receipts(channel.target, attempt, channel.i) if one.taken]
    return sorted(receipts, key=lambda one: (one.sender_attempt, one.seq))


def losses_have_a_failure(recording: Recording) -> Iterator[str]:
    """A channel neither end of which ever failed brings everything; a job without failures loses nothing."""
    failed = {one["task"] for one in recording.events if one["type"] == "task-failed"}
    if not failed:
        for check in (*buffers.EXACT, *states.SHAPED, *sinks.EXACT, *sinks.SHAPED):
            yield from check(recording)
    for channel in recording.graph.channels:
        if failed.isdisjoint((channel.source, channel.target)):
            sent = [(0, seq) for seq in sorted(recording.buffers(channel.source, 0, channel.k))]
            taken = [(one.sender_attempt, one.seq) for one in _taken(recording, channel, 0)]
            if sent != taken:
                yield f"{channel.id} lost {sorted(set(sent) - set(taken))}, and neither end ever failed"


def what_is_lost_is_accounted_for(recording: Recording) -> Iterator[str]:
    """Each attempt emits what it took, no more; and no less, unless it failed before that was cut."""
    ended = {(one["task"], one["attempt"]) for one in recording.events if one["type"] == "task-failed"}
    for task in recording.manifest.tasks:
        for attempt in range(recording.attempts(task.id)):
            processed = _processed(recording, task.id, attempt)
            for edge in recording.manifest.edges:
                if edge.source != task.vertex:
                    continue
                emitted = _emitted(recording, task.id, attempt, edge.target, apart=edge.ship == "broadcast")
                for channels, found in emitted:
                    if found - processed:
                        yield f"{task.id} attempt {attempt} emitted on {channels} what it never took"
                    if processed - found and (task.id, attempt) not in ended:
                        yield f"{task.id} attempt {attempt} lost {dict(processed - found)} before {channels}"


def _processed(recording: Recording, task: str, attempt: int) -> Lineages:
    found: Lineages = Counter()
    shape = recording.graph.task(task)
    if not shape.inputs:
        offsets = recording.source_offsets(task, attempt)
        return Counter(_name(((task, offset),)) for offset in offsets)
    for name in shape.inputs:
        channel = recording.graph.channel(name)
        reader, sender = RecordReader(name), -1
        for one in _taken(recording, channel, attempt):
            frame = recording.buffers(channel.source, one.sender_attempt, channel.k)[one.seq]
            if one.sender_attempt != sender:
                reader, sender = RecordReader(name), one.sender_attempt
            if not frame.is_event:
                found.update(_names(reader.feed(frame.payload)))
    return found


def _emitted(
    recording: Recording, task: str, attempt: int, target: str, *, apart: bool
) -> Iterator[tuple[str, Lineages]]:
    """What stands in the streams to a vertex, whole records only: of all channels together, or of each."""
    together: Lineages = Counter()
    channels = [recording.graph.channel(one.channel) for one in recording.graph.task(task).outputs]
    for channel in (one for one in channels if recording.graph.task(one.target).vertex == target):
        reader, found = RecordReader(channel.id), Counter[str]()
        for _, frame in sorted(recording.buffers(task, attempt, channel.k).items()):
            if not frame.is_event:
                found.update(_names(reader.feed(frame.payload)))
        if apart:
            yield channel.id, found
        together.update(found)
    if not apart:
        yield f"{task} to {target}", together


def _names(records: list[Record]) -> Iterator[str]:
    return (_name(record.lineage or ()) for record in records)


def _name(lineage: tuple[tuple[str, int], ...]) -> str:
    return str([list(pair) for pair in lineage])


CHECKS = (no_buffer_is_taken_twice, states.the_last_checkpoint_covers_the_sources, *sinks.ALWAYS)
"""Of any job."""

SHAPED = (nothing_counts_twice, nothing_is_written_twice, losses_have_a_failure, what_is_lost_is_accounted_for)
"""Of jobs that give one record for each, whose operators count what comes."""
