"""A recorded job in the model: its source records as A, what its sinks gave as B, its operators as D."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from replay.bundle.frames import ReceiptFrame
from replay.bundle.lines import read_lines
from replay.bundle.members import member_name
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.inputs import Payloads
from replay.errors import ReplayError, printable
from replay.guarantees.cuts.cut import Cut, Stand
from replay.guarantees.cuts.cuts import Cuts
from replay.guarantees.formal.modelled_task import ModelledTask, NotModelled, seen
from replay.guarantees.formal.outputs import Output, outputs
from replay.jobs.registry import UnknownOperator
from replay.model import Channel, Record, TaskId
from replay.runtime.body.records import RecordReader

MOST_RECORDS = 20_000


@dataclass(frozen=True, slots=True)
class Input:
    """A source record, and when it entered."""

    offset: int
    t_us: int
    record: bytes


class Taken(NamedTuple):
    """From which input (of a source: 0) and in which epoch a record was taken."""

    i: int
    epoch: int
    record: bytes


@dataclass(slots=True)
class RecordedJob:
    """`given` is what each sink's consumers saw, in the order in which they did; `taken` the records that each task
    took, or read, in the run that the last attempts form."""

    source: RecordingSource
    tasks: dict[TaskId, ModelledTask]
    inputs: dict[TaskId, list[Input]]
    given: dict[TaskId, list[Output]]
    taken: dict[TaskId, list[Taken]]

    @property
    def records(self) -> int:
        """How many entered."""
        return sum(map(len, self.inputs.values()))


def model_of(source: RecordingSource) -> RecordedJob:
    """Raises `NotModelled` where something is missing or does not follow from records."""
    graph = source.graph
    if not graph.channels:
        raise NotModelled("the recording names no channels", "tasks[].inputs and tasks[].outputs in job.json")
    try:
        tasks = {task: ModelledTask(graph, task) for task in graph.order}
        inputs = {task: _inputs(source, task) for task in graph.order if not graph.task(task).inputs}
        if sum(map(len, inputs.values())) > MOST_RECORDS:
            raise NotModelled(f"more than {MOST_RECORDS:,} records entered", "a shorter recording")
        cuts = Cuts.of(source)
        end = cuts.at(cuts.end_us)
        taken = {
            task: list(_read(source, cuts, stand) if task in inputs else _order(source, cuts, stand))
            for task, stand in end.stands.items()
        }
        job = RecordedJob(source, tasks, inputs, _given(source), taken)
        check_model(job, cuts, end)
        return job
    except UnknownOperator as fault:
        raise NotModelled(f"an operator is not installed here: {fault.why}", "the operator that is named") from None
    except DivergenceFound as found:
        raise NotModelled(found.sentence, "the member that is named") from None
    except ReplayError as fault:
        raise NotModelled(f"a member can't be read: {fault}", printable(fault.path or "a member")) from None


def _given(source: RecordingSource) -> dict[TaskId, list[Output]]:
    """Writes of one id count once."""
    found: dict[TaskId, list[Output]] = defaultdict(list)
    ids: set[tuple[str, str]] = set()
    for one in sorted((one for one in outputs(source) if one.seen_us is not None), key=_when_seen):
        name = one.line.get("id")
        if not isinstance(name, str) or (one.task, name) not in ids:
            found[one.task].append(one)
        if isinstance(name, str):
            ids.add((one.task, name))
    return dict(found)


def _when_seen(one: Output) -> tuple[int, int, int, int]:
    return one.seen_us or 0, one.t_us, one.attempt, one.number if isinstance(one.number, int) else 0


def as_given(one: Output) -> bytes:
    """The record of a sink's line, as `seen` has it."""
    try:
        return seen(Record.from_json(one.line.get("record")))
    except ReplayError:
        raise NotModelled(f"{one.evidence} holds no record", "its record") from None


def _inputs(source: RecordingSource, task: TaskId) -> list[Input]:
    """By offset, as of when the first attempt that did read it."""
    if source.graph.task(task).partitions:
        raise NotModelled(f"{task} reads several partitions", "sources of one partition each")
    found: dict[int, Input] = {}
    for attempt in sorted(source.attempts(task)):
        for _, one in _lines(source, task, attempt):
            if found.setdefault(one.offset, one).record != one.record:
                raise NotModelled(f"{task} read another record {one.offset} again", "a source that can be read again")
    if sorted(found) != list(range(len(found))):
        raise NotModelled(f"{task}'s records have gaps", f"tasks/{task}/*/source/*.ndjson")
    return [found[offset] for offset in sorted(found)]


def _read(source: RecordingSource, cuts: Cuts, stand: Stand) -> Iterator[Taken]:
    """What a source read, along all attempts that the last one continues."""
    chain: list[tuple[int, int | None]] = [(stand.attempt, None)]
    while (snapshot := cuts.histories.begin(stand.task, chain[-1][0]).snapshot) is not None:
        state = source.state(stand.task, snapshot.attempt, snapshot.checkpoint) or {}
        read = state.get("source")
        offset = read.get("offset") if isinstance(read, dict) else None
        if type(offset) is not int:
            raise NotModelled(f"a snapshot of {stand.task} has no offset", "source.offset in its state/*.json")
        chain.append((snapshot.attempt, offset))
    for attempt, upto in reversed(chain):
        for epoch, one in _lines(source, stand.task, attempt):
            if upto is None or one.offset < upto:
                yield Taken(0, epoch, one.record)


def _lines(source: RecordingSource, task: TaskId, attempt: int) -> Iterator[tuple[int, Input]]:
    """(epoch, record)."""
    for epoch in source.epochs(task, attempt, "source"):
        name = member_name(task, attempt, "source", epoch)
        with source.members.open(name) as stream:
            for _, line in read_lines(stream, name):
                offset, t_us = line.get("offset"), line.get("t_us")
                if type(offset) is not int or type(t_us) is not int or "record" not in line:
                    raise NotModelled(f"{task}'s records are not recorded", f"the records of {name}")
                record = Record.from_json(line["record"])
                whole = record if record.lineage is not None else record._replace(lineage=((task, offset),))
                yield epoch, Input(offset, t_us, whole.to_body())


def _order(source: RecordingSource, cuts: Cuts, stand: Stand) -> Iterator[Taken]:
    """What a task took, along all attempts that the last one continues."""
    channels = cuts.histories.inputs(stand.task)
    payloads = [Payloads(source, channel) for channel in channels]
    readers = [RecordReader(channel.id) for channel in channels]
    parts = [cuts.taken_parts(channel, stand) for channel in channels]
    for n in range(len(parts[0]) - 1, -1, -1):
        takes: list[tuple[tuple[int, ...], ReceiptFrame]] = []
        for i, of_channel in enumerate(parts):
            attempt, count = of_channel[n]
            taken = [one for one in source.receipts(stand.task, attempt, i) if one.taken]
            taken.sort(key=lambda one: one.taken_us)
            takes += [((one.taken_us, one.epoch, one.offset, one.record_count, i), one) for one in taken[:count]]
        for place, receipt in sorted(takes, key=lambda take: take[0]):
            channel = channels[place[-1]]
            placed = payloads[channel.i].find(receipt.sender_attempt, receipt.seq)
            if placed is None:
                lost = f"tasks/{channel.source}/{receipt.sender_attempt}/sent-{channel.k}/*.buf"
                raise NotModelled(f"buffer {receipt.seq} of {channel.id} is not recorded", lost)
            if not placed.frame.is_event:
                for record in readers[channel.i].feed(placed.frame.payload):
                    yield Taken(channel.i, receipt.epoch, record.to_body())


# --- whether the model does what the job did ---


def check_model(job: RecordedJob, cuts: Cuts, end: Cut) -> None:
    """Of what each task took it must make here what it made then, or nothing that follows from it says anything."""
    graph = job.source.graph
    for task in graph.order:
        made, written = _made(job, task)
        for channel in cuts.histories.outputs(task):
            recorded = list(_cut(job.source, cuts, channel, end.stands[task]))
            if recorded != made[channel.k][: len(recorded)]:
                raise NotModelled(
                    f"{task} makes something else of its records here than then", "the code that ran then"
                )
        attempt = end.stands[task].attempt
        lines = Counter(as_given(one) for one in outputs(job.source) if (one.task, one.attempt) == (task, attempt))
        if lines - Counter(written):
            raise NotModelled(f"{task} gives something else for its records here than then", "the code that ran then")


def _made(job: RecordedJob, task: TaskId) -> tuple[list[list[bytes]], list[bytes]]:
    """(by output what is sent, what is given)."""
    graph, modelled = job.source.graph, job.tasks[task]
    shape = graph.task(task)
    made: list[list[bytes]] = [[] for _ in shape.outputs]
    given: list[bytes] = []
    state, edges, epoch = modelled.initial, modelled.edges(), 0
    for one in job.taken[task]:
        if one.epoch != epoch:
            edges.begin_epoch()
        epoch = one.epoch
        state, sent, written = modelled.step(state, origin_of(job, task, one.i), one.record)
        given += written
        for body in sent:
            for k in edges.of(body):
                made[k].append(body)
    return made, given


def origin_of(job: RecordedJob, task: TaskId, i: int) -> str:
    """The vertex that an input's records come from."""
    inputs = job.source.graph.task(task).inputs
    return job.source.graph.task(job.source.graph.channel(inputs[i]).source).vertex if inputs else ""


def _cut(source: RecordingSource, cuts: Cuts, channel: Channel, sender: Stand) -> Iterator[bytes]:
    """The records in the buffers that a task, and the attempts that it continues, cut on a channel."""
    reader = RecordReader(channel.id)
    for attempt, first, end in reversed(cuts.sent_parts(channel, sender)):
        for frame in source.buffers(channel.source, attempt, channel.k):
            if first <= frame.seq < end and not frame.is_event:
                yield from (record.to_body() for record in reader.feed(frame.payload))
