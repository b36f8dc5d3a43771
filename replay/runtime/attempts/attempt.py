"""One execution of a task: its body, its logs, its recovery manager, and what they ask of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from replay.bundle.frames import ReceiptFrame
from replay.log.causal_log import CausalLog
from replay.log.deltas import decode_message
from replay.model import ChannelId, Record, TaskId, json_bytes, thread_of_output
from replay.recovery import (
    Copy,
    EpochStarted,
    Event,
    Logs,
    RecoveryManager,
    Setting,
    State,
)
from replay.recovery.effects import Effect
from replay.runtime.attempts.effects import perform
from replay.runtime.attempts.in_flight import InFlight
from replay.runtime.attempts.main_thread import MainThread
from replay.runtime.attempts.output_thread import OutputThread
from replay.runtime.attempts.stable_log import StableLog
from replay.runtime.attempts.timer_thread import TimerThread
from replay.runtime.body.gate import Arrival, arrival
from replay.runtime.body.output import Cut
from replay.runtime.body.task import TaskBody
from replay.runtime.failing.doubts import Doubts
from replay.runtime.network import Connection
from replay.runtime.scheduler import Action
from replay.runtime.sinks import new_sink

if TYPE_CHECKING:
    from replay.runtime.engine import Engine
    from replay.runtime.failing.hosts import Seat


class _Received:
    """A buffer in the input queue, with what its receipt will say."""

    __slots__ = ("connection", "epoch", "received_us", "sender_attempt", "sending", "seq")

    def __init__(self, connection: Connection, cut: Cut, sending: int, received_us: int):
        self.connection = connection
        self.epoch = cut.epoch
        self.seq = cut.seq
        self.sender_attempt = connection.sender.number
        self.sending = sending
        self.received_us = received_us


class Attempt:
    """From the moment a host has it to its failure or rollback; `executing` from the first record that it may take."""

    def __init__(self, engine: Engine, task: TaskId, number: int, host: str, checkpoint: int, *, running: bool):
        self.engine = engine
        self.task = task
        self.number = number
        self.serial = engine.next_serial()
        self.host = host
        self.checkpoint = checkpoint
        self.seat: Seat | None = None
        self.since_us = engine.scheduler.now_us
        self.alive = True
        self.fenced = False
        self.executing = False
        self.deployed = True
        self.escalated = False
        self.bound = running  # by an answer of the world: what it was told it follows
        self._heard: set[int] = set()
        self._informed = running
        self.cause: int | None = None
        self.state_cause: int | None = None
        self.shape = engine.graph.task(task)
        self.partition = engine.partition_of(task)
        self.recorder = engine.recorder.attempt(task, number)
        memory = engine.run_of.memory
        self.diverged = not running and engine.losses.diverges(task, checkpoint)
        setting = Setting.of(
            engine.graph, task, self._holdings, lambda *_: self.informed, self._touched, diverged=self.diverged
        )
        self.causal = CausalLog(
            task,
            engine.graph,
            sharing_depth=engine.sharing_depth,
            holder=task,
            pool_bytes=memory.determinant_pool_bytes,
            segment_bytes=memory.determinant_segment_bytes,
            world=setting.world,
        )
        self.in_flight = InFlight(self)
        self.inputs: list[Connection | None] = [None for _ in self.shape.inputs]
        self.outputs = tuple(OutputThread(self, k, one.channel) for k, one in enumerate(self.shape.outputs))
        self.main = MainThread(self)
        self.timers = TimerThread(self)
        self.sink = new_sink(self, engine.graph.manifest.protocol.sink)
        self.stable = StableLog(self) if engine.in_storage else None
        self.received: list[dict[int, int]] = [{} for _ in self.shape.inputs]
        self.records_in = 0
        self.latencies_us: list[int] = []
        self._early: list[tuple[int, Arrival]] = []
        # Received, and given up before they were taken.
        self._dropped: list[tuple[int, _Received]] = []
        self.body: TaskBody
        self.manager = RecoveryManager(setting, running=running, epoch=checkpoint, observer=self)
        self.doubts = Doubts(self)

    @property
    def counts(self) -> bool:
        """Whether it lives and the coordinator listens to it: one that was falsely suspected runs on for nothing."""
        return self.alive and not self.fenced

    # --- the recovery manager ---

    def handle(self, event: Event, *, re: int | None = None) -> None:
        """Tells the manager and performs what it asks for. `re`: the recorded event that this follows from."""
        if not self.alive or self.escalated:
            return
        before, self.cause = self.cause, self.state_cause if re is None else re
        for effect in self.manager.handle(event):
            if self.alive:  # an effect may have rolled everything back
                perform(self, effect)
        self.doubts.follow(event)
        self.cause = before

    def transition(self, before: State, event: Event | None, after: State, effects: tuple[Effect, ...]) -> None:
        """The manager moved: observed here to be recorded, and to be struck in that very state."""
        if before.name != after.name:
            fields = {"task": self.task, "from": before.name, "to": after.name}
            self.state_cause = self.cause = self.event("recovery-state", re=self.cause, **fields)
            self.engine.failures.entered(self, after.name)

    def event(self, kind: str, *, re: int | None = None, **fields: Any) -> int:
        """Records something that this attempt noticed or did."""
        return self.engine.event(kind, re=re, at=self.task, attempt=self.number, **fields)

    def _holdings(self, of: TaskId, epoch: int) -> Logs:
        copies = self.causal.held(of, epoch)
        return Logs.of(one for one in copies if one.data)

    def _touched(self, channel: ChannelId) -> bool:
        return any(self.received[self.engine.graph.channel(channel).i].values())

    # --- execution ---

    def execute(self, logs: Iterable[Copy] = ()) -> None:
        """Starts main and output threads; first they follow the returned logs."""
        copies = tuple(logs)
        engine = self.engine
        state = engine.state_of(self.task, self.checkpoint)
        self.body = TaskBody(
            engine.graph,
            self.task,
            engine.new_operator(self.task),
            driver=self,
            wall=self,
            append=self.causal.append if engine.logging else None,
            checkpoint=self.checkpoint,
            state=state,
            main_logs={one.epoch: one.data for one in copies if one.log.thread == "main"},
        )
        self.executing = True
        if self.stable is not None:
            self.stable.begin()
        engine.protocol.executing(self)
        self.sink.restore((state or {}).get("transactions", ()))
        self._open_epoch(self.checkpoint)
        for i, early in self._early:
            self.body.gate.offer(i, early)
        self._early.clear()
        for output in self.outputs:
            thread = thread_of_output(output.k)
            output.rebuild(tuple(one for one in copies if one.log.thread == thread))
        self.main.start()
        self.timers.start()
        self.main.wake()

    def end(self) -> None:
        """The attempt is over: it failed, or is rolled back. What it knew is recorded and forgotten."""
        if self.executing:
            self.engine.protocol.ended(self)
        self.alive = False
        self.executing = False
        self.archive()

    def archive(self) -> None:
        """Records what is known only now: its logs to their ends, and what it received and never took."""
        if not self.in_flight.closed:
            self.in_flight.close()
            self.engine.totals.logs.attempt_over(self.causal)
        if self.engine.logging:
            self.recorder.logs(self.causal.own)
        for i, got in sorted(self._untaken(), key=lambda one: one[1].received_us):
            self.recorder.receipt(i, got.epoch, ReceiptFrame(got.seq, got.sender_attempt, got.sending, got.received_us))

    def _untaken(self) -> list[tuple[int, _Received]]:
        queued = self._early
        if hasattr(self, "body"):
            queued = [(i, one) for i in range(len(self.inputs)) for one in self.body.gate.untaken(i)]
        return [*self._dropped, *((i, one.tag) for i, one in queued if isinstance(one.tag, _Received))]

    def checkpoint_completed(self, checkpoint: int, re: int) -> None:
        """Forgets what the running system needs no more, the recording keeps it; what the sink sealed is final."""
        if self.engine.logging:
            self.recorder.logs(self.causal.own, before_epoch=checkpoint)
        # Whoever completes a checkpoint after its recovery has all of the epochs that are still kept.
        self._informed = self._informed or checkpoint > self.checkpoint
        self.received = [{e: n for e, n in counts.items() if e >= checkpoint} for counts in self.received]
        for output in self.outputs:
            output.truncate(checkpoint)
        self.causal.truncate(checkpoint)
        self.in_flight.truncate(checkpoint)
        self.sink.completed(checkpoint, re)
        if self.stable is not None:
            self.stable.completed(checkpoint)

    def _open_epoch(self, epoch: int) -> None:
        # An epoch without determinants is an epoch: its members are there, and empty.
        for log in self.causal.own.values():
            log.open(epoch)

    def leaves(self, action: Action) -> None:
        """Something leaves the task, for another one or for the outside: at once, or when it may."""
        if self.stable is not None and self.engine.waits:
            self.stable.after_write(action)
        else:
            action()

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way out that a completed checkpoint has made final."""
        return self.sink.idle and (not self.engine.waits or self.stable is None or self.stable.idle)

    # --- inputs ---

    def receive(self, connection: Connection, cut: Cut, sending: int, delta: bytes, *, informed: bool) -> None:
        """A buffer arrived: its deltas are logged now, before any of its records may touch state."""
        channel = connection.channel
        if self.engine.tracks and not self.engine.protocol.accepts(self, connection.sender, channel.k, cut.seq):
            return
        if informed:
            self._heard.add(channel.i)
        if delta:
            self.causal.apply(decode_message(delta, self.engine.log_ids, self.engine.delta_layout), channel.id)
        counts = self.received[channel.i]
        counts[cut.epoch] = counts.get(cut.epoch, 0) + 1
        tag = _Received(connection, cut, sending, self.engine.scheduler.now_us)
        arrived = arrival(cut.seq, cut.payload, cut.is_event, channel=channel.id, tag=tag)
        if self.executing:
            self.body.gate.offer(channel.i, arrived)
            self.main.wake()
        else:
            self._early.append((channel.i, arrived))

    def received_since(self, i: int, epoch: int) -> int:
        """How many buffers of that epoch and later ones arrived on input `i`."""
        return sum(count for one, count in self.received[i].items() if one >= epoch)

    def forget_arrivals(self, accepts: Callable[[Attempt, Attempt, int, int], bool]) -> None:
        """Of what was received and not taken, drops what is not accepted any more: as if it had never arrived."""

        def is_kept(i: int, one: Arrival) -> bool:
            got = one.tag
            if accepts(self, got.connection.sender, got.connection.channel.k, got.seq):
                return True
            self.received[i][got.epoch] -= 1
            self._dropped.append((i, got))
            return False

        self._early = [(i, one) for i, one in self._early if is_kept(i, one)]
        if self.executing:
            for i in range(len(self.inputs)):
                for one in self.body.gate.discard(i):
                    if is_kept(i, one):
                        self.body.gate.offer(i, one)

    def take(self, i: int) -> None:
        """The main thread takes the next buffer of input `i`."""
        body = self.body
        epoch, count = body.epoch, body.record_count
        offset = self.causal.main.length_of(epoch)
        if self.engine.tracks and (head := body.gate.head(i)) is not None:
            self.engine.protocol.taking(self, i, head.tag.connection.sender, head.seq)
        got = body.take(i)
        frame = ReceiptFrame(
            got.seq,
            got.sender_attempt,
            got.sending,
            got.received_us,
            self.engine.scheduler.now_us,
            epoch,
            offset,
            count,
        )
        self.recorder.receipt(i, got.epoch, frame)
        got.connection.release()

    def drop_partial_record(self, channel: ChannelId) -> None:
        """The sender cuts anew: what is half here, or here and not taken, comes again."""
        if not self.executing:
            return
        i = self.engine.graph.channel(channel).i
        self._dropped += [(i, dropped.tag) for dropped in self.body.gate.discard(i)]
        self.body.drop_partial_record(i)

    # --- what the body tells and asks ---

    def now_ms(self) -> int:
        """The wall clock of the attempt's host."""
        return self.engine.origin_ms + self.main.now_us() // 1000

    def random_int32(self) -> int:
        """Chance, which is the seed's."""
        return self.engine.scheduler.random.randrange(-(1 << 31), 1 << 31)

    def external(self, call: str, request: Any, effect: str) -> Any:
        """Asks the world outside of the job."""
        return self.engine.externals.ask(call, request, effect)

    def wrote(self, record: Record) -> None:
        """The operator gave a record to the outside."""
        self.sink.write(record)

    def sealed(self, checkpoint: int) -> list[dict[str, Any]]:
        """The sink's part of a snapshot."""
        return self.sink.barrier(checkpoint)

    def timer_set(self, callback: str, at_ms: int) -> None:
        """The body has a timer that comes before what was awaited."""
        self.timers.await_(callback, at_ms)

    def epoch_started(self, epoch: int) -> None:
        """The body passed a barrier."""
        self._open_epoch(epoch)
        self.handle(EpochStarted(epoch))

    def snapshot_taken(self, checkpoint: int, state: dict[str, Any]) -> None:
        """A snapshot is complete; it is safe when it is uploaded."""
        data = json_bytes(state)
        self.engine.checkpoints.upload(self, checkpoint, data)

    # --- calls from the coordinator ---

    @property
    def settled(self) -> bool:
        """Whether it may be interrupted: an interruption that is in no log must not come before what was sent already.

        The main log may be used up long before the outputs are rebuilt: until then the task repeats what it did, and
        that it was not interrupted in between is one of its choices too.
        """
        running = self.executing and self.manager.is_running and not self.body.replaying
        return running and self.sink.settled and not any(output.rebuilding for output in self.outputs)

    @property
    def informed(self) -> bool:
        """Whether it holds again all that was ever told downstream through it.

        After a recovery that takes until it is settled and every input has brought a buffer of an informed sender: the
        first buffer to a new attempt carries all that its sender holds. What a sink knows it told nobody, unless its
        world keeps determinants.
        """
        if not self._informed:
            heard_all = self.settled and len(self._heard) == len(self.inputs)
            self._informed = heard_all or not self.manager.setting.asked
        return self._informed

    def tell_when_settled(self) -> None:
        """Lets the coordinator repeat what it could not tell before, and timers fire that could not."""
        if self.settled:
            self.timers.start()
            self.engine.failures.settled(self)
            self.engine.checkpoints.settled(self, self.state_cause)

    def trigger_checkpoint(self, checkpoint: int, timestamp_ms: int) -> bool:
        """For sources; False while it recovers, or where this checkpoint comes too late."""
        if not self.settled or checkpoint <= self.body.epoch:
            return False
        self.body.trigger_checkpoint(checkpoint, timestamp_ms)
        self.main.settle()
        return True

    def ignore_checkpoint(self, checkpoint: int, re: int | None) -> None:
        """Told again when the recovery is over, so what comes before that is let go."""
        if self.settled:
            if self.body.ignore_checkpoint(checkpoint):
                self.event("checkpoint-ignored", re=re, task=self.task, checkpoint=checkpoint, bytes=0)
            self.main.settle()
            self.main.wake()

    # --- connections ---

    def output(self, k: int) -> OutputThread:
        """The output thread of output `k`."""
        return self.outputs[k]
