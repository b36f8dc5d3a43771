"""What a replay does, held against what the recording says was done, byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replay.bundle.frames import ReceiptFrame
from replay.bundle.members import member_name
from replay.debugger.executing.barrier_counts import BarrierCounts
from replay.debugger.executing.plan import Plan
from replay.debugger.executing.sink_writes import SinkWrites
from replay.debugger.outcome import DivergenceFound
from replay.debugger.ports import RecordingSource
from replay.debugger.recorded.answers import first_difference
from replay.debugger.recorded.inputs import Taken
from replay.debugger.recorded.members import Placed, placed_buffers, placed_receipts
from replay.debugger.recorded.story import Story
from replay.log.codec import decode_all
from replay.log.determinants import Order, Take, is_async
from replay.model import MAIN, Channel, Record, Thread, json_bytes, thread_of_output
from replay.runtime.body.output import Cut


class _Ahead:
    """The buffers of one attempt's output, read forwards only."""

    def __init__(self, frames: Iterator[Placed]):
        self._frames = frames
        self._head: Placed | None = None

    def peek(self, seq: int) -> Placed | None:
        """The buffer of that number, left where it is."""
        while self._head is None or self._head.frame.seq < seq:
            self._head = next(self._frames, None)
            if self._head is None:
                return None
        return self._head if self._head.frame.seq == seq else None

    def find(self, seq: int) -> Placed | None:
        while True:
            if self._head is None:
                self._head = next(self._frames, None)
            if self._head is None or self._head.frame.seq > seq:
                return None
            found, self._head = self._head, None
            if found.frame.seq == seq:
                return found


@dataclass(slots=True)
class Beyond:
    """What was compared past the end of what was recovered: only the attempt that is replayed was there."""

    begun: bool = False
    buffers: int = 0
    uncompared: int = 0
    snapshots: int = 0
    snapshots_gone: int = 0


class Comparison:
    """`against` are the attempts whose buffers the replay's must equal, `own` the attempt that is replayed."""

    def __init__(self, source: RecordingSource, story: Story, plan: Plan):
        task, own, against = plan.task, plan.take_from[0], plan.take_from[1:]
        self.source = source
        self.task = task
        self.own = own
        self.shape = source.graph.task(task)
        self.channels: list[Channel] = [source.graph.channel(one.channel) for one in self.shape.outputs]
        attempts = dict.fromkeys((*against, own))
        self._before = [
            {attempt: _Ahead(placed_buffers(source, task, attempt, k)) for attempt in attempts}
            for k in range(len(self.channels))
        ]
        self._received: dict[int, set[int]] = {}
        self._first_takes: dict[tuple[int, int], int] | None = None
        self.against = against
        self.plan = plan
        self._story = story
        self.writes = SinkWrites(source, story, task, own, plan.state)
        self.compared = 0
        self.uncompared = 0
        self.snapshots = self.snapshots_gone = 0
        self._acknowledged: Collection[object] | None = None
        self.beyond = Beyond()
        self._barriers = BarrierCounts()

    @property
    def sink(self) -> str:
        """How the job's sinks write."""
        return self.source.manifest.protocol.sink

    # --- inputs ---

    def taken(self, taken: Taken, epoch: int, offset: int, record_count: int) -> None:
        """The receipt says where the main thread stood when it took the buffer."""
        self._barriers.taken(taken, epoch, record_count, own=taken.attempt == self.own)
        if taken.attempt == self.own:
            self.check_accepted(epoch)
        receipt = taken.receipt
        if taken.attempt != self.own or (receipt.epoch, receipt.offset, receipt.record_count) == (
            epoch,
            offset,
            record_count,
        ):
            if taken.attempt == self.own and not taken.is_barrier:
                self.writes.taken(taken)
            return
        if taken.is_barrier and len(self.shape.inputs) > 1:
            return  # a barrier waits for no determinant: it may be taken sooner than in the first execution
        if (receipt.epoch, receipt.record_count) == (epoch, record_count) and self._only_interruptions(receipt, offset):
            return
        raise DivergenceFound(
            f"{taken.path} at offset {taken.offset}: buffer {receipt.seq} of {self.shape.inputs[taken.i]} was taken at "
            f"record {receipt.record_count} of epoch {receipt.epoch} and offset {receipt.offset} of {MAIN}, but the "
            f"replay takes it at record {record_count} of epoch {epoch} and offset {offset}. Either the receipt or the "
            f"log ({member_name(self.task, self.own, MAIN, epoch)}, up to there) says what was not.",
            log_member=member_name(self.task, self.own, MAIN, epoch),
            log_offset=offset,
            member=taken.path,
            offset=taken.offset,
            channel=self.shape.inputs[taken.i],
            buffer=receipt.seq,
        )

    def _only_interruptions(self, receipt: ReceiptFrame, offset: int) -> bool:
        """An asynchronous determinant, with all that followed from it (a timer may have looked at the clock), is pinned
        to a record count, and not to before or after a buffer is taken."""
        log = self.source.log_bytes(self.task, self.own, MAIN, receipt.epoch)
        bytes_between = log[min(receipt.offset, offset) : max(receipt.offset, offset)]
        between = [determinant for _, _, determinant in decode_all(bytes_between)]
        counts = [getattr(one, "record_count", receipt.record_count) for one in between]
        return (
            (not between or is_async(between[0]))
            and not any(isinstance(one, (Order, Take)) for one in between)
            and all(count == receipt.record_count for count in counts)
        )

    def first_execution_took(self, taken: Taken) -> str:
        """Whether the attempt before had taken the same buffer, as the end of a sentence."""
        if self.beyond.begun:
            return ""
        if not self.against:
            return ", as in the first execution"
        if self._first_takes is None:
            before = self.against[0]
            self._first_takes = {
                (i, receipt.seq): 1
                for i in range(len(self.shape.inputs))
                for _, _, receipt in placed_receipts(self.source, self.task, before, i)
                if receipt.taken
            }
        if (taken.i, taken.receipt.seq) in self._first_takes:
            return ", as the first execution took it"
        return ", to which the first execution had not come"

    # --- outputs ---

    def cut(self, k: int, cut: Cut, *, beyond: bool = False) -> tuple[bool | None, bool | None]:
        """(whether it equals what was cut before, whether its receiver had received it); a difference raises.

        The latest attempt that cut it counts: what an earlier one cut beyond its successor's recovery was lost, and
        what the replayed one cuts `beyond` its own is compared with nothing else than itself.
        """
        if beyond:
            return self._cut_beyond(k, cut)
        frames = self._before[k]
        found = {attempt: placed for attempt in frames if (placed := frames[attempt].find(cut.seq)) is not None}
        before = next((attempt for attempt in self.against if attempt in found), None)
        for attempt in (before, self.own):
            if attempt in found:
                self._check_equal(k, cut, found[attempt], attempt)
        if not found or (before is None and self.against):
            self.uncompared += 1
            return None, None
        self.compared += 1
        return True, self.was_received(k, cut.seq)

    def _cut_beyond(self, k: int, cut: Cut) -> tuple[bool | None, bool | None]:
        self.beyond.begun = True
        placed = self._before[k][self.own].find(cut.seq)
        if placed is None:
            self.beyond.uncompared += 1
            return None, None
        self._check_equal(k, cut, placed, self.own)
        self.beyond.buffers += 1
        return True, None

    def own_cut_us(self, k: int, seq: int) -> int | None:
        """When the attempt that is replayed cut a buffer; None where it did not."""
        placed = self._before[k][self.own].peek(seq)
        return None if placed is None else placed.frame.t_us

    def _check_equal(self, k: int, cut: Cut, placed: Placed, attempt: int) -> None:
        frame = placed.frame
        channel = self.channels[k].id
        if (frame.payload, frame.is_event, frame.epoch) == (cut.payload, cut.is_event, cut.epoch):
            return
        at = first_difference(frame.payload, cut.payload)
        raise DivergenceFound(
            f"{placed.path} at offset {placed.offset}: buffer {frame.seq} of {channel}, as attempt {attempt} cut it, "
            f"differs at byte {at} from what the replay of {self.task} makes of the same inputs and choices.",
            member=placed.path,
            offset=placed.offset,
            byte=at,
            channel=channel,
            buffer=frame.seq,
            epoch=frame.epoch,
            asked=cut.payload[at : at + 32].hex(),
            logged=frame.payload[at : at + 32].hex(),
        )

    def was_received(self, k: int, seq: int) -> bool:
        """Whether any attempt of the receiver had that buffer from an attempt before."""
        channel = self.channels[k]
        if k not in self._received:
            self._received[k] = {
                receipt.seq
                for receiver in self.source.attempts(channel.target)
                for _, _, receipt in placed_receipts(self.source, channel.target, receiver, channel.i)
                if receipt.sender_attempt in (self.against or (self.own,))
            }
        return seq in self._received[k]

    # --- snapshots and sinks ---

    def snapshot_taken(self, checkpoint: int, state: Mapping[str, Any]) -> None:
        """The snapshot that the attempt itself took for this checkpoint must be the same."""
        self._barriers.ended_before(checkpoint)
        for attempt in dict.fromkeys((self.own, *(() if self.beyond.begun else self.against))):
            recorded = self.source.state(self.task, attempt, checkpoint)
            if recorded is None:
                self._note_gone(attempt, checkpoint)
                continue
            different = self._different(state, recorded)
            if different and attempt != self.own:
                if self._went_further(attempt, MAIN, checkpoint):
                    continue
                different = self._different(state, self._as_bound(attempt, checkpoint, state, recorded))
            if self.beyond.begun:
                self.beyond.snapshots += 1
            else:
                self.snapshots += 1
            if different:
                path = member_name(self.task, attempt, "state", checkpoint)
                raise DivergenceFound(
                    f"{path} differs in {', '.join(different)} from the snapshot that the replay takes for checkpoint "
                    f"{checkpoint}.",
                    member=path,
                    asked=json_bytes({key: state[key] for key in different}).decode()[:400],
                    logged=json_bytes({key: recorded.get(key) for key in different}).decode()[:400],
                )

    def _note_gone(self, attempt: int, checkpoint: int) -> None:
        """A snapshot that the attempt acknowledged was there."""
        if attempt != self.own or checkpoint not in self._acknowledged_checkpoints():
            return
        if self.beyond.begun:
            self.beyond.snapshots_gone += 1
        else:
            self.snapshots_gone += 1

    def _acknowledged_checkpoints(self) -> Collection[object]:
        if self._acknowledged is None:
            kind = "checkpoint-acknowledged", self.task, self.own
            self._acknowledged = [
                event.get("checkpoint")
                for event in self.source.events()
                if (event.get("type"), event.get("task"), event.get("attempt")) == kind
            ]
        return self._acknowledged

    def _different(self, state: Mapping[str, Any], recorded: Mapping[str, Any]) -> list[str]:
        return [key for key in state if not self._agree(key, state[key], recorded.get(key))]

    def _as_bound(
        self, attempt: int, checkpoint: int, state: Mapping[str, Any], recorded: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        """A snapshot without counts of buffers of which nobody knew when the attempt failed: they bind no later one."""
        counts = recorded.get("outputs")
        if not isinstance(counts, dict):
            return recorded
        unknown = {
            one.channel: state["outputs"].get(one.channel)
            for k, one in enumerate(self.shape.outputs)
            if self._went_further(attempt, thread_of_output(k), checkpoint)
        }
        return {**recorded, "outputs": {**counts, **unknown}}

    def _went_further(self, attempt: int, thread: Thread, checkpoint: int) -> bool:
        """Whether an attempt before had more in its log, up to a checkpoint, than came back to the one after it."""
        later = (self._story.returned_to(self.task, one) for one in range(attempt + 1, self.own + 1))
        returned = next(filter(None, later), {})
        followed = self.plan.logs.get(thread, {})
        for epoch in range(self.plan.checkpoint, checkpoint):
            log = self.source.log_bytes(self.task, attempt, thread, epoch)
            same = first_difference(log, followed.get(epoch, b""))
            if returned.get((thread, epoch), 0) <= same < len(log):
                return True
        return False

    def _agree(self, key: str, made: Any, recorded: Any) -> bool:
        if key == "transactions" and made:
            return self.writes.agree(made, recorded)
        return json_bytes(made) == json_bytes(recorded)

    def wrote(self, record: Record) -> bool:
        """A sink's write must be the one that the outside world accepted; whether it is held back."""
        return self.writes.wrote(record)

    def check_accepted(self, epoch: int) -> None:
        """What a sink gave before a take of the attempt itself, the outside world has."""
        self.writes.check_accepted(epoch)

    def sealed(self, epoch: int) -> list[dict[str, Any]]:
        """What a sink's part of a snapshot must be."""
        return self.writes.sealed(epoch)
