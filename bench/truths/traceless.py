"""Which planted faults leave no trace: the recording with the fault in it is one that an undamaged job could have left.

Nothing here asks an audit. Each argument is looked up in the undamaged recording's own bytes: what was taken out, or
changed, was the last that an attempt did before it ended, and neither it nor anybody else did anything with it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

from bench.truths.left import Left
from bench.truths.plants import Plant
from replay.bundle.frames import BufferFrame, ReceiptFrame, read_receipts, read_sendings
from replay.debugger.executing.comparison import Comparison
from replay.debugger.executing.execution import Execution
from replay.debugger.executing.verify import Silent, verify_attempt
from replay.debugger.recorded.story import Story
from replay.log.codec import decode_all
from replay.log.determinants import Determinant, Order, Rng, SourceCheckpoint, TimerTrigger, Timestamp
from replay.model import MAIN, Record, TaskId
from replay.runtime.body.records import RecordReader

_US_PER_MS = 1000


def why_no_trace(undamaged: dict[str, bytes], plant: Plant) -> str | None:
    """The argument; None where there is none, so that an audit that says nothing has missed something."""
    argue = _ARGUMENTS.get(plant.kind)
    if argue is None or not (plant.members[plant.member] or plant.member.endswith(".det")):
        return None  # none but a log's is there, and empty
    _, task, attempt, *_ = plant.member.split("/")
    left = Left.of(undamaged, task, int(attempt))
    if left.to_the_end and argue not in (_chosen_otherwise, _not_chosen):
        return None  # what it had done by then it did
    why = argue(left, plant)
    ended = f"ended at {left.ended_us} us"
    if left.to_the_end or left.lingers:
        ended = "ran to the end" if left.to_the_end else "ran on, fenced, for as long as nobody tells"
    return None if why is None else f"attempt {attempt} of {task} {ended}: {why}"


# --- what arrived ---


def _never_came(left: Left, plant: Plant) -> str | None:
    """A receipt that is gone: its buffer was still on its way, or the task had not looked yet."""
    gone = next(one for at, one in read_receipts(left.members[plant.member]) if at == plant.offset)
    folder = plant.member.rpartition("/")[0] + "/"
    arrived = [
        one.received_us
        for name, data in left.members.items()
        if name.startswith(folder)
        for _, one in read_receipts(data)
    ]
    channel = left.bundle.graph.task(left.task).inputs[int(folder.split("/")[3].removeprefix("received-"))]
    own = [one for one in left.events if (one.get("at"), one.get("attempt")) == (left.task, left.attempt)]
    counted = [one for one in own if one.get("channel") == channel and one.get("received")]
    shared = [one for one in left.sent if one.delta and one.t_us >= gone.received_us]
    returned = [one for one in own if one["type"] == "determinants-returned"]
    if max(arrived) > gone.received_us or arrived.count(gone.received_us) > 1 or shared:
        return None
    if any(one["t_us"] >= gone.received_us for one in (*counted, *returned)):
        return None
    if not gone.taken:
        return f"buffer {gone.seq} of {channel} may have come later than that, as nothing came after it"
    if left.log_bytes(gone.epoch) > gone.offset:
        return None
    may_have = f"buffer {gone.seq} of {channel} may have come later than that"
    if sum(t_us >= gone.taken_us for t_us in left.did()) <= 1:
        return f"{may_have}, as it did nothing more when it had taken it"
    return f"{may_have}, as it ends no record and nothing came after it" if _ends_none(left, channel, gone) else None


def _ends_none(left: Left, name: str, gone: ReceiptFrame) -> bool:
    """Whether a buffer brought but a part of a record. That its sender could send another when it was taken shows
    nothing, as no recording tells how many a receiver has room for."""
    channel, reader, ended = left.bundle.graph.channel(name), RecordReader(name), True
    for frame in left.bundle.buffers(channel.source, gone.sender_attempt, channel.k):
        if frame.seq > gone.seq:
            break
        ended = not _is_held_up(left, frame, name) if frame.is_event else bool([*reader.feed(frame.payload)])
    return not ended


def _is_held_up(left: Left, event: BufferFrame, name: str) -> bool:
    """Whether it is a watermark that led to nothing: another input's never came further, to its end, than the task had
    given on before that."""
    given = [found for one in left.cut if (found := _watermark(one)) is not None]
    if _watermark(event) is None or not given:
        return False
    for i, other in enumerate(left.bundle.graph.task(left.task).inputs):
        came = _watermarks_taken(left, other, i)
        if other != name and came and max(came) <= max(given):
            return True
    return False


def _watermarks_taken(left: Left, name: str, i: int) -> list[int]:
    """On an input by the attempt. One that was idle holds nobody up, and comes further than all others."""
    channel = left.bundle.graph.channel(name)
    taken = {(one.sender_attempt, one.seq) for one in left.bundle.receipts(left.task, left.attempt, i) if one.taken}
    frames = (
        (sender, frame)
        for sender in left.bundle.attempts(channel.source)
        for frame in left.bundle.buffers(channel.source, sender, channel.k)
    )
    return [found for sender, one in frames if (sender, one.seq) in taken and (found := _watermark(one)) is not None]


def _watermark(frame: BufferFrame) -> int | None:
    found = json.loads(frame.payload).get("watermark") if frame.is_event else None
    return found if isinstance(found, int) else None


# --- what it read, wrote and sent ---


def _not_done(left: Left, plant: Plant) -> str | None:
    """The last line that it read or wrote: it may have failed before that."""
    lines = left.members[plant.member].splitlines(keepends=True)
    at = next(n for n in range(len(lines)) if sum(map(len, lines[:n])) == plant.offset)
    line = json.loads(lines[at])
    if at < len(lines) - 1 or sum(one["t_us"] >= line["t_us"] for one in left.lines) > 1:
        return None
    reads = "/source/" in plant.member
    beside = left.cut_at() + left.sent_at() if reads and not _went_out(left, line["offset"]) else []
    later = Counter(left.did()) - Counter(beside)
    if sum(n for t_us, n in later.items() if t_us >= line["t_us"]) > 1 or not _chose_nothing_more(
        left, at, line["t_us"]
    ):
        return None
    ended = [one for one in left.events if one.get("task") == left.task and one.get("txn") is not None]
    if any(one["type"] == "epoch-committed" and one["txn"] == line.get("txn") for one in ended):
        return None
    return "what it read or wrote last it may as well not have, as it did nothing more"


def _went_out(left: Left, offset: int) -> bool:
    """Whether any of it may be in a buffer that the source cut: else those say nothing of it, whenever that was."""
    whole, parts = set(), 0
    for k, output in enumerate(left.bundle.graph.task(left.task).outputs):
        reader = RecordReader(output.channel)
        for frame in left.bundle.buffers(left.task, left.attempt, k):
            for record in [] if frame.is_event else reader.feed(frame.payload):
                whole |= {of for task, of in record.lineage or () if task == left.task}
        read = (one["record"] for one in left.lines if one["offset"] not in {offset, *whole})
        begun = (Record(one[0], one[1], one[2], ((left.task, 0),)).to_bytes() for one in read)
        parts += reader.partial_bytes > 0 and not any(_begins_alike(one, reader.partial) for one in begun)
    others = {one["offset"] for one in left.lines} - whole - {offset}
    return offset in whole or parts > len(others)


def _begins_alike(record: bytes, partial: bytes) -> bool:
    """But for its length and its lineage, which come after all else."""
    end = min(len(partial), record.rfind(b",["))
    return end > 4 and record[4:end] == partial[4:end]


def _chose_nothing_more(left: Left, records: int, t_us: int) -> bool:
    """Whether all that it logged came before its last record: no choice of the last take but which buffer it is, or in
    a source, behind its first record, no more than the clock and the generator that are asked for once an epoch."""
    epoch, offset = left.known_upto(by_us=t_us)
    behind = [
        one
        for name, data in left.members.items()
        if name.startswith(f"tasks/{left.task}/{left.attempt}/{MAIN}/")
        for at, _, one in decode_all(data)
        if (int(name.rpartition("/")[2].removesuffix(".det")), at) >= (epoch, offset)
    ]
    if left.bundle.graph.task(left.task).inputs:
        return not behind or (len(behind) == 1 and isinstance(behind[0], Order))
    once = [type(one) for one in behind]
    return records > 0 and set(once) <= {Timestamp, Rng} and len(once) == len(set(once))


def _not_sent(left: Left, plant: Plant) -> str | None:
    """The last sending: it may have failed when the buffer was cut, and not yet sent."""
    gone = next(one for at, one in read_sendings(left.members[plant.member]) if at == plant.offset)
    _, _, _, folder, _ = plant.member.split("/")
    channel = left.bundle.graph.task(left.task).outputs[int(folder.removeprefix("sent-"))].channel
    to = left.bundle.graph.channel(channel)
    received = {
        (one.seq, one.sender_attempt, one.sending)
        for name, data in left.members.items()
        if name.startswith(f"tasks/{to.target}/") and f"/received-{to.i}/" in name
        for _, one in read_receipts(data)
    }
    if (gone.seq, left.attempt, gone.sending) in received:
        return None
    begin = plant.member.rpartition("/")[0] + "/"
    over = [
        one
        for name, data in left.members.items()
        if name.startswith(begin) and name.endswith(".dlt")
        for _, one in read_sendings(data)
    ]
    if sum(one.t_us >= gone.t_us for one in over) > 1:
        return None
    again = gone.from_in_flight and not gone.delta  # which happens beside all else that the task does
    if not again and (any(t_us > gone.t_us for t_us in left.did()) or sum(t == gone.t_us for t in left.sent_at()) > 1):
        return None
    return f"buffer {gone.seq} of {channel} may have waited still, as it never arrived, and nothing came after it"


# --- what it chose ---


def _chosen_otherwise(left: Left, plant: Plant) -> str | None:
    """A time or a number of its last choices, which nothing shows."""
    data, changed = left.members[plant.member], plant.members[plant.member]
    pairs = zip(decode_all(data), decode_all(changed), strict=False)
    (at, _, was), (_, _, now) = next((one, other) for one, other in pairs if one != other)
    _, _, _, thread, member = plant.member.split("/")
    place = int(member.removesuffix(".det")), at
    if thread == MAIN and isinstance(was, TimerTrigger) and isinstance(now, TimerTrigger):
        return _fired_later(left, place) if now.record_count == was.record_count + 1 else None
    if thread != MAIN or not isinstance(was, Timestamp | Rng):
        return None
    if place < left.known_upto(takes=isinstance(was, Timestamp)):
        return None  # a take tells by when the clock was read, and nothing of a number
    behind = [one for begin, _, one in decode_all(changed) if begin > at]
    if isinstance(now, Timestamp):
        latest_ms = left.bundle.manifest.clock.origin_ms + left.ended_us // _US_PER_MS
        stamped = any(one.get("record", [None, None])[1] == was.value for one in left.lines)
        if now.value > latest_ms or stamped or not all(isinstance(one, Rng) for one in behind):
            return None
    if not left.bundle.graph.task(left.task).outputs and left.lines:
        return None  # what it wrote may tell
    return "it cut and sent nothing after that choice, and nobody else has it"


def _fired_later(left: Left, place: tuple[int, int]) -> str | None:
    """A timer of a source that fired one element later: the record between may have been read before it as well, as
    the clock that its callback read says the same millisecond."""
    epoch, offset = place
    log = left.members[f"tasks/{left.task}/{left.attempt}/{MAIN}/{epoch}.det"]
    reading = next((one for at, _, one in decode_all(log) if at > offset), None)
    if left.bundle.graph.task(left.task).inputs or place < left.known_upto() or not isinstance(reading, Timestamp):
        return None
    following = _Using(left, place).records
    read_us = next((one["t_us"] for one in left.lines if one["offset"] == following), None)
    if read_us is None or reading.value != left.bundle.manifest.clock.origin_ms + read_us // _US_PER_MS:
        return None
    return f"the timer may have fired behind record {following}, in the same millisecond, and nobody was told of either"


class _Using(Silent):
    """Executes what an attempt of a source did, to know how many records it had read when it used a determinant."""

    def __init__(self, left: Left, place: tuple[int, int]):
        self._place = place
        self.records = -1
        verify_attempt(left.bundle, Story.read(left.events), TaskId(left.task), left.attempt, watching=self._watching)

    def _watching(self, comparison: Comparison) -> Silent:
        super().__init__(comparison)
        return self

    def begins(self, execution: Execution) -> None:
        """It is told what the log answers."""
        self._body = execution.body
        execution.body.choices.observer = self

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        """Of its log."""
        if (epoch, offset) == self._place:
            self.records = self._body.source_offset


def _not_chosen(left: Left, plant: Plant) -> str | None:
    """The last choice of its main log: it may have ended before it came to that."""
    data = left.members[plant.member]
    at, _, gone = list(decode_all(data))[-1]
    _, _, _, thread, member = plant.member.split("/")
    epoch = int(member.removesuffix(".det"))
    if thread != MAIN or at != plant.offset or isinstance(gone, Order | SourceCheckpoint):
        return None  # a take tells of the one, a snapshot of the other
    if left.to_the_end and not isinstance(gone, TimerTrigger):
        return None  # of a timer nothing tells how late it may fire, and the recording may end before
    begin = f"tasks/{left.task}/{left.attempt}/{MAIN}/"
    later = [name for name in left.members if name.startswith(begin) and int(name[len(begin) : -4]) > epoch]
    if later or left.known_upto() > (epoch, at):
        return None
    if not left.bundle.graph.task(left.task).outputs and left.lines:
        return None  # what it wrote may tell
    came_us = [one.taken_us for one in left.receipts if one.taken] + [one["t_us"] for one in left.lines]
    if any(t_us >= max(came_us, default=0) for t_us in left.told(past=epoch)):
        return None
    return "it cut and sent nothing after that choice, nobody else has it, and it may have ended before"


_ARGUMENTS: dict[str, Callable[[Left, Plant], str | None]] = {
    "receipt dropped": _never_came,
    "source record removed": _not_done,
    "sink record removed": _not_done,
    "sending dropped": _not_sent,
    "determinant changed": _chosen_otherwise,
    "determinant dropped": _not_chosen,
}
