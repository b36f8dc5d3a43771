"""Which attempts are connected, who has noticed that the other end is gone, and how they find each other again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replay.model import Channel
from replay.recovery import ChannelLost, ChannelReconnected
from replay.runtime.network import Connection

if TYPE_CHECKING:
    from replay.runtime.attempts.attempt import Attempt
    from replay.runtime.engine import Engine


class Links:
    """One connection per channel at most; a new one is made when both ends are deployed."""

    def __init__(self, engine: Engine):
        self.engine = engine
        self._connections: dict[str, Connection] = {}

    def open_all(self, epoch: int) -> None:
        """All channels of an execution that begins: nothing was sent on them yet."""
        for channel in self.engine.graph.channels:
            connection = self._new(channel)
            connection.sender.output(channel.k).connected(connection)
            connection.sender.output(channel.k).serve_live(epoch)
            connection.receiver.inputs[channel.i] = connection

    def close_all(self) -> None:
        """Everything is rolled back."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _new(self, channel: Channel) -> Connection:
        engine = self.engine
        sender, receiver = engine.current[channel.source], engine.current[channel.target]
        connection = Connection(engine.scheduler, engine.costs, channel, sender, receiver)
        self._connections[channel.id] = connection
        return connection

    # --- losing ---

    def broken(self, attempt: Attempt, failure: int, re: int) -> None:
        """An attempt is gone: who is connected to it notices, each in its time."""
        for connection in list(self._connections.values()):
            if attempt in (connection.sender, connection.receiver):
                self._notice_soon(connection, failure, re)

    def _notice_soon(self, connection: Connection, failure: int, re: int) -> None:
        self.engine.scheduler.after(self.engine.costs.loss_notice_us, lambda: self.notice(connection, failure, re))

    def notice(self, connection: Connection, failure: int, re: int) -> None:
        """The surviving end, if there is one, sees that the other is gone, and tells the coordinator."""
        if not connection.open:
            return
        connection.close()
        channel = connection.channel
        for end, side in ((connection.sender, "output"), (connection.receiver, "input")):
            if not end.alive:
                continue
            received = end.received_since(channel.i, end.manager.epoch) if side == "input" else 0
            fields = {"channel": channel.id, "side": side, "received": received}
            n = end.event("channel-lost", re=re, failure=failure, **fields)
            if side == "output":
                end.output(channel.k).disconnected()
            else:
                end.inputs[channel.i] = None
            end.handle(ChannelLost(channel.id, side), re=n)  # type: ignore[arg-type]
            if not end.fenced:
                self.engine.call(lambda n=n: self.engine.failures.detection.connection_lost(failure, n))  # type: ignore[misc]

    def notice_at_once(self, connection: Connection) -> None:
        """The surviving end hears of the other's next attempt before the connection breaks."""
        sender = connection.sender
        gone = connection.receiver if sender.counts and self.engine.current[sender.task] is sender else sender
        failure, re = self.engine.failures.failure_of(gone)
        self.notice(connection, failure, re)

    def fence(self, attempt: Attempt, of: str) -> None:
        """Having answered for a newer attempt, nothing of an older one is taken any more."""
        for connection in attempt.inputs:
            if connection is None or connection.sender.task != of:
                continue
            if not connection.sender.counts or self.engine.current[connection.sender.task] is not connection.sender:
                self.notice_at_once(connection)

    # --- finding again ---

    def reconnect(self, attempt: Attempt, re: int) -> None:
        """A new attempt is deployed: its neighbours, as far as they are there, are told its address."""
        shape = self.engine.graph.task(attempt.task)
        for name in (*shape.inputs, *(one.channel for one in shape.outputs)):
            channel = self.engine.graph.channel(name)
            self.engine.scheduler.after(
                self.engine.costs.connect_us,
                lambda channel=channel: self._connect(channel, attempt, re),  # type: ignore[misc]
            )

    def _connect(self, channel: Channel, because_of: Attempt, re: int) -> None:
        current = self.engine.current
        sender, receiver = current[channel.source], current[channel.target]
        if not because_of.counts or not sender.counts or not receiver.counts:
            return  # whoever comes in its place connects
        known = self._connections.get(channel.id)
        if known is not None and known.open:
            if known.sender is sender and known.receiver is receiver:
                return
            self.notice_at_once(known)
        connection = self._new(channel)
        sender.output(channel.k).connected(connection)
        receiver.inputs[channel.i] = connection
        self._tell_sender(connection, re)
        self.engine.call(lambda: self._tell_receiver(connection, re))

    def _tell_sender(self, connection: Connection, re: int) -> None:
        sender, channel = connection.sender, connection.channel
        n = sender.event("channel-reconnected", re=re, channel=channel.id, side="output", received=0)
        sender.handle(ChannelReconnected(channel.id, "output"), re=n)

    def _tell_receiver(self, connection: Connection, re: int) -> None:
        receiver, channel = connection.receiver, connection.channel
        if not connection.open or not receiver.alive:
            return
        received = receiver.received_since(channel.i, receiver.manager.epoch)
        diverged = connection.sender.diverged
        fields = {"channel": channel.id, "side": "input", "received": received, "diverged": diverged or None}
        n = receiver.event("channel-reconnected", re=re, **fields)
        receiver.handle(ChannelReconnected(channel.id, "input", received, diverged), re=n)
