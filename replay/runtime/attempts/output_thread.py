"""An output thread: cuts buffers off its channel's stream, keeps them in the in-flight log, and sends them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from replay.bundle.frames import FROM_IN_FLIGHT, HELD_BACK, IS_EVENT, BufferFrame, SendingFrame
from replay.errors import check
from replay.log.codec import decode_all
from replay.log.deltas import encode_deltas
from replay.log.determinants import BufferBuilt
from replay.model import ChannelId
from replay.recovery import Copy, OutputRebuilt
from replay.runtime.attempts.in_flight import InFlightReplay
from replay.runtime.body.output import Cut
from replay.runtime.body.records import RecordEdges
from replay.runtime.network import Connection
from replay.services import Divergence

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt


class OutputThread:
    """Rebuilds first what a returned log names and holds it back; then replays, pulls and sends as it is asked to."""

    def __init__(self, attempt: Attempt, k: int, channel: ChannelId):
        self.attempt = attempt
        self.k = k
        self.channel = channel
        self.connection: Connection | None = None
        self._rebuild: deque[BufferBuilt] = deque()
        self._replay: InFlightReplay | None = None
        self._serving = False
        # How often each buffer was sent, by epoch: what a completed checkpoint covers is never sent again.
        self._sendings: dict[int, dict[int, int]] = {}
        self._due_us: int | None = None
        self._at_once = False
        self._token = 0
        # Only where a receiver may come in midway, and nothing is sent again, must anybody know where records end.
        protocol = attempt.engine.protocol
        self._edges = RecordEdges() if protocol.standbys and not protocol.in_flight else None

    # --- when it acts ---

    def wake(self) -> None:
        """Something changed: acts when it is time, if there is something to do."""
        engine = self.attempt.engine
        if self._due_us is not None and not self._may_be_sooner():
            return
        delay_us = self._delay_us()
        if delay_us is None:
            return
        self._at_once = delay_us == engine.costs.cut_us
        due_us = engine.scheduler.now_us + engine.scheduler.around(delay_us)
        if self._due_us is not None and self._due_us <= due_us:
            return
        self._due_us = due_us
        self._token += 1
        token = self._token
        engine.scheduler.at(due_us, lambda: self._act(token))

    def _may_be_sooner(self) -> bool:
        """Whether what it waits for is a flush, and more than that may be due since."""
        if self._at_once:
            return False
        return self._replay is not None or self._head_is_whole()

    def _delay_us(self) -> float | None:
        """How long until it acts, about; None where there is nothing to do."""
        costs, attempt = self.attempt.engine.costs, self.attempt
        if not attempt.executing:
            return None
        if self._rebuild:
            return costs.cut_us if self._can_rebuild() and self._has_room() else None
        writer = attempt.body.writers[self.k]
        if self._replay is not None:
            if self._can_send() and (self._replay.ended or self._replay.ready() is not None):
                return costs.cut_us
            return costs.cut_us if self._can_fill() else None
        if not writer.available_bytes or not self._has_room():
            return None
        if (self._serving and not self._can_send()) or self._awaited:
            return None
        return costs.cut_us if self._head_is_whole() else costs.flush_us

    def _head_is_whole(self) -> bool:
        """Whether waiting adds nothing to what is cut next: it is full, an event, or closed by an event behind it."""
        writer = self.attempt.body.writers[self.k]
        return writer.head_is_closed or writer.available_bytes >= self.attempt.engine.buffer_bytes

    def _can_send(self) -> bool:
        return self._serving and self.connection is not None and self.connection.has_credit

    def _has_room(self) -> bool:
        """Whether the in-flight log has room for what is cut next; only buffers of records need any."""
        return self.attempt.body.writers[self.k].head_is_event or self.attempt.in_flight.has_room()

    def _can_fill(self) -> bool:
        """Whether a full buffer can be cut while older ones are sent again."""
        full = self.attempt.body.writers[self.k].available_bytes >= self.attempt.engine.buffer_bytes
        return full and self._has_room()

    @property
    def _awaited(self) -> bool:
        """Whether the receiver is about to say from where: what nobody keeps is not cut before."""
        return not self.attempt.engine.in_flight and not self._serving and self.connection is not None

    @property
    def holds_back_main(self) -> bool:
        """Back-pressure: the stream is long enough, and what is in it waits to be sent, or no buffer is free."""
        attempt = self.attempt
        if attempt.body.writers[self.k].queued_bytes <= 4 * attempt.engine.buffer_bytes:
            return False
        # What its other outputs still rebuild may be what this receiver waits for in the end.
        waits = self._serving and self._replay is None and attempt.settled
        return waits or not self._has_room()

    def _act(self, token: int) -> None:
        if token != self._token or not self.attempt.executing:
            return
        self._due_us = None
        if self._rebuild:
            self._rebuild_next()
        elif self._replay is not None:
            self._replay_next()
        elif self._serving:
            self._pull_and_send()
        elif self.attempt.body.writers[self.k].available_bytes and self._has_room() and not self._awaited:
            self._cut()
        self.wake()
        self.attempt.main.wake()

    # --- rebuilding ---

    def rebuild(self, copies: tuple[Copy, ...]) -> None:
        """What was returned of this thread's log: each buffer named there is built again, at exactly that size."""
        for copy in copies:
            for _, _, determinant in decode_all(copy.data):
                check(isinstance(determinant, BufferBuilt), f"{copy.log} holds {determinant}")
                self._rebuild.append(determinant)  # type: ignore[arg-type]
        if self._rebuild:
            self.wake()

    @property
    def rebuilding(self) -> bool:
        """Whether something is left to rebuild."""
        return bool(self._rebuild)

    def _can_rebuild(self) -> bool:
        size, writer = self._rebuild[0].buffer_bytes, self.attempt.body.writers[self.k]
        if writer.head_is_closed and not writer.can_cut(size):
            raise Divergence(
                asked=f"a buffer of {writer.available_bytes} bytes",
                logged=f"one of {size} bytes",
                thread=f"out-{self.k}",
                epoch=writer.epoch,
                offset=0,
            )
        return writer.can_cut(size)

    def _rebuild_next(self) -> None:
        if not self._can_rebuild() or not self._has_room():
            return
        self._cut(self._rebuild.popleft().buffer_bytes, held_back=True)
        if not self._rebuild:
            self.attempt.handle(OutputRebuilt(self.channel))
            self.attempt.tell_when_settled()

    # --- cutting and sending ---

    def _cut(self, size: int | None = None, *, held_back: bool = False) -> Cut:
        attempt, engine = self.attempt, self.attempt.engine
        available = attempt.body.writers[self.k].available_bytes
        if size is None:
            head_is_event = attempt.body.writers[self.k].head_is_event
            size = available if head_is_event else min(available, engine.buffer_bytes)
        main_epoch = attempt.body.epoch
        main_offset = attempt.causal.main.length_of(main_epoch)
        cut = attempt.body.cut(self.k, size)
        if engine.in_flight:
            attempt.in_flight.keep(self.channel, cut)
        elif self._edges is not None and not cut.is_event:
            self._edges.feed(cut.payload)
        flags = (IS_EVENT if cut.is_event else 0) | (HELD_BACK if held_back else 0)
        frame = BufferFrame(cut.seq, engine.scheduler.now_us, flags, cut.epoch, main_epoch, main_offset, cut.payload)
        attempt.recorder.buffer(self.k, frame)
        if engine.tracks:
            engine.protocol.cut(attempt, self.k, cut)
        return cut

    def _pull_and_send(self) -> None:
        if self._can_send() and self.attempt.body.writers[self.k].available_bytes and self._has_room():
            self._send(self._cut(), flags=0)

    def _replay_next(self) -> None:
        if self._can_fill():
            self._cut()
        if not self._can_send() or self._replay is None:
            return
        if self._replay.ended:
            self._replay = None
            return
        following = self._replay.ready()
        if following is not None:
            self._replay.advance()
            self._send(following, flags=FROM_IN_FLIGHT)

    def _send(self, cut: Cut, *, flags: int) -> None:
        connection = self.connection
        if connection is None:
            return
        connection.in_use += 1
        if self.attempt.engine.waits:
            self.attempt.leaves(lambda: self._put_on_wire(connection, cut, flags))
        else:
            self._put_on_wire(connection, cut, flags)

    def _put_on_wire(self, connection: Connection, cut: Cut, flags: int) -> None:
        if connection is not self.connection:
            return  # the receiver went away while it waited: its next attempt asks for it
        attempt, engine = self.attempt, self.attempt.engine
        entries = engine.losses.shared(attempt.causal.delta_for(self.channel))
        delta = encode_deltas(entries, engine.log_ids, engine.delta_layout)
        sendings = self._sendings.setdefault(cut.epoch, {})
        sending = sendings.get(cut.seq, 0)
        sendings[cut.seq] = sending + 1
        receiver = connection.receiver
        frame = SendingFrame(cut.seq, engine.scheduler.now_us, receiver.number, sending, flags, delta)
        attempt.recorder.sending(self.k, cut.epoch, frame)
        engine.count_sending(len(cut.payload), len(delta))
        informed = attempt.informed
        size = len(cut.payload) + len(delta)
        if engine.tracks:
            more = engine.protocol.carried_bytes(attempt, self.k, cut)
            engine.totals.dependency_bytes += more
            size += more
        connection.send_down(
            size,
            lambda: receiver.receive(connection, cut, sending, delta, informed=informed),
        )

    def truncate(self, before_epoch: int) -> None:
        """A checkpoint completed."""
        self._sendings = {epoch: sendings for epoch, sendings in self._sendings.items() if epoch >= before_epoch}

    # --- the other end ---

    def replays(self, replay: InFlightReplay) -> bool:
        """Whether that replay is still the one that is sent from."""
        return self._replay is replay

    def connected(self, connection: Connection) -> None:
        """The receiver is there (again); nothing is sent before it says from where."""
        self.connection = connection
        self._serving = False
        self._replay = None

    def disconnected(self) -> None:
        """The receiver is gone; cutting goes on, into the in-flight log."""
        self.connection = None
        self._serving = False
        self._replay = None
        self.attempt.causal.unregister_consumer(self.channel)
        self.wake()

    def serve(self, epoch: int, skip: int) -> None:
        """The receiver wants the buffers from that epoch on, without the first `skip` of them."""
        if self.connection is None:
            return  # it went away since; its next attempt will ask itself
        attempt = self.attempt
        if not attempt.engine.in_flight:
            if self._edges is not None:
                self._skip_to_next_record(self._edges)
            self._serving = True
            self.wake()
            return
        begins_anew = attempt.diverged or not attempt.engine.logging
        if begins_anew and self.connection.receiver.serial < attempt.serial:
            # Without determinants the epochs of a survivor aren't this attempt's: it is given all, and repeats some.
            epoch = min(epoch, attempt.checkpoint)
        kept = attempt.in_flight.kept_since(self.channel, epoch)
        if skip > kept and not self.connection.receiver.alive:
            return  # an orphan, not known here to be gone: what it had is cut off the log that came back meanwhile
        check(skip <= kept, f"{self.channel}: {skip} buffers are to be skipped, {kept} are there since epoch {epoch}")
        attempt.causal.register_consumer(self.channel, epoch)
        self._serving = True
        self._replay = attempt.in_flight.replay(self, epoch, skip)
        self.wake()

    def _skip_to_next_record(self, edges: RecordEdges) -> None:
        """The receiver comes in midway: what is left of a record whose beginning it never got is cut, and not sent."""
        if left := edges.left(self.attempt.body.writers[self.k].ahead(8)):
            self._cut(left)

    @property
    def serving(self) -> bool:
        """Whether what is cut goes to a receiver that said from where."""
        return self._serving and self.connection is not None

    def serve_live(self, epoch: int) -> None:
        """A channel that begins with this execution: nothing is in the in-flight log yet."""
        self.attempt.causal.register_consumer(self.channel, epoch)
        self._serving = True
