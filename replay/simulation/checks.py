"""What must hold of every recording, whatever failed: each check returns the sentences of what does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from replay.bundle.frames import BufferFrame
from replay.log.codec import decode_all
from replay.log.determinants import BufferBuilt
from replay.simulation.recording import Recording

Check = Callable[[Recording], Iterator[str]]


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
        chain = next(one for one in recording.lineages(task) if attempt in one)
        for copy in logs:
            before = [recording.log(task, one, copy.log.thread, copy.epoch) for one in chain if one < attempt]
            if copy.data and not any(one.startswith(copy.data) for one in before):
                yield f"{task} attempt {attempt}: was returned bytes of {copy.log.thread} that nobody logged"


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
            for i, channel in enumerate(task.inputs):
                taken = [one for one in recording.receipts(task.id, attempt, i) if one.taken]
                seqs = [one.seq for one in taken]
                if seqs and seqs != list(range(seqs[0], seqs[0] + len(seqs))):
                    yield f"{task.id} attempt {attempt}: took buffers {seqs} of {channel}"


def senders_and_receivers_agree(recording: Recording) -> Iterator[str]:
    """What a receiver took is, in the last attempt of its sender's lineage, still what the sender says it sent."""
    for channel in recording.graph.channels:
        for chain in recording.lineages(channel.source):
            last = recording.buffers(channel.source, chain[-1], channel.k)
            # Only those that outlived the sender's failures: whoever failed too depends on nothing any more.
            for attempt in (one[-1] for one in recording.lineages(channel.target)):
                for one in recording.receipts(channel.target, attempt, channel.i):
                    if not one.taken or one.sender_attempt not in chain:
                        continue
                    sent = recording.buffers(channel.source, one.sender_attempt, channel.k).get(one.seq)
                    now = last.get(one.seq)
                    if sent is None:
                        yield f"{channel.target} took buffer {one.seq} of {channel.id} that nobody sent"
                    elif now is not None and _content(now) != _content(sent):
                        yield f"{channel.id}: buffer {one.seq} isn't what {channel.target} took of it"


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


def states_count_each_record_once(recording: Recording) -> Iterator[str]:
    """In the last checkpoint every vertex has counted every source record exactly once, by key too."""
    keys = _source_keys(recording)
    for vertex in recording.manifest.vertices:
        states = [recording.last_state(task)["operator"] for task in recording.tasks_of(vertex.id)]
        counted = sum(state["records"] for state in states)
        if counted != sum(keys.values()):
            yield f"{vertex.id} counted {counted} records of {sum(keys.values())}"
        if vertex.kind == "operator":
            by_key: Counter[str] = Counter()
            for state in states:
                by_key.update(dict(state["by_key"]))
            if by_key != keys:
                yield f"{vertex.id} counted {dict(by_key - keys)} too often, {dict(keys - by_key)} too seldom"


def _source_keys(recording: Recording) -> Counter[str]:
    keys: dict[tuple[str, int], str] = {}
    for task in recording.manifest.tasks:
        if not task.inputs:
            for attempt in range(recording.attempts(task.id)):
                for line in recording.lines(task.id, attempt, "source"):
                    keys[task.id, line["offset"]] = line["record"][0]
    return Counter(keys.values())


def sinks_write_each_record(recording: Recording) -> Iterator[str]:
    """At least once always; within one attempt, and where no sink failed, exactly once; repeats are the same bytes."""
    exactly = recording.manifest.protocol.sharing_depth != 0
    sinks = recording.tasks_of("sink")
    written: Counter[str] = Counter()
    values: dict[str, set[str]] = {}
    for task in sinks:
        for attempt in range(recording.attempts(task)):
            here: Counter[str] = Counter()
            for line in recording.lines(task, attempt, "sink"):
                source = str(line["source"])
                here[source] += 1
                values.setdefault(source, set()).add(str(line["record"]))
            if exactly and (twice := [one for one, count in here.items() if count > 1]):
                yield f"{task} attempt {attempt} wrote the records of {twice} twice"
            written.update(here)
    expected = sum(_source_keys(recording).values())
    if len(written) != expected:
        yield f"{len(written)} of {expected} source records were written"
    if exactly and not recording.failed(sinks) and not recording.rolled_back and sum(written.values()) != expected:
        yield f"{sum(written.values()) - expected} duplicates were written, though no sink failed"
    others = [task.id for task in recording.manifest.tasks if task.id not in sinks]
    calm = not recording.rolled_back and not recording.failed(others)
    if exactly and calm and any(len(one) > 1 for one in values.values()):
        yield "a record was written again with another value, though all was replayed"


def states_count_each_record(recording: Recording) -> Iterator[str]:
    """Without determinants, each record at least once."""
    total = sum(_source_keys(recording).values())
    for vertex in recording.manifest.vertices:
        counted = sum(recording.last_state(task)["operator"]["records"] for task in recording.tasks_of(vertex.id))
        if counted < total:
            yield f"{vertex.id} counted {counted} records of {total}"


EXACT: tuple[Check, ...] = (
    recovered_logs_equal_what_was_returned,
    returned_logs_were_lost,
    rebuilt_buffers_equal_the_lost,
    survivors_see_each_buffer_once,
    senders_and_receivers_agree,
    buffer_logs_name_the_buffers,
    states_count_each_record_once,
    sinks_write_each_record,
)
"""At any sharing depth but 0: what lies past it is rolled back."""

DIVERGENT: tuple[Check, ...] = (states_count_each_record, sinks_write_each_record)
"""At sharing depth 0: nothing is lost, and nothing else is promised."""


def violations(recording: Recording) -> list[str]:
    """Everything that doesn't hold."""
    checks = DIVERGENT if recording.manifest.protocol.sharing_depth == 0 else EXACT
    return [f"{check.__name__}: {sentence}" for check in checks for sentence in check(recording)]
