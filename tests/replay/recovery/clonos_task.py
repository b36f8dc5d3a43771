"""A task of ours that is given what Clonos' real recovery classes were given, and tells of itself in their words.

The recovery manager is the product's, and so is the body that follows the returned log: services, record counts, epochs
and the log itself. Only the network is not there: what is asked of it is what the traces show.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from replay.jobs.graphs import manifest_of
from replay.log.causal_log import Copy
from replay.log.codec import decode_all, encode
from replay.log.determinants import (
    BufferBuilt,
    Determinant,
    IgnoreCheckpoint,
    Rng,
    SourceCheckpoint,
    TimerTrigger,
    Timestamp,
)
from replay.model import MAIN, ChannelId, Edge, Graph, Job, LogId, Protocol, Record, TaskId, Thread, Vertex
from replay.recovery import (
    ChannelReconnected,
    DeterminantsReturned,
    Effect,
    EnteredRunning,
    EpochStarted,
    Event,
    Logs,
    MainLogUsedUp,
    OutputRebuilt,
    RecoveryManager,
    RecoveryStarted,
    ReplayInFlight,
    RequestDeterminants,
    RequestReplay,
    RestoreStarted,
    Setting,
    StartReplaying,
    StateRestored,
)
from replay.runtime.body.gate import arrival
from replay.runtime.body.records import record_bytes
from replay.runtime.body.task import TaskBody
from replay.runtime.operators import Operator, Timer
from replay.services import Divergence

US = TaskId("t.0")
TIMERS = {"source": "z", "async-first": "first"}
"""The timer that a trace's task has set before: its determinant names it."""


class Asking(Operator):
    """Passes a record on; with services by call it asks for the time and for a number first."""

    def open(self, context: Any) -> None:
        self.asks = context.options["asks"]

    def on_record(self, record: Record, context: Any) -> None:
        if self.asks:
            context.clock.now_ms()
            context.random.next_int(1 << 31)
        context.emit(record)


class ClonosTask:
    """Takes a trace's events one by one; `step` returns what Clonos' harness wrote down of each."""

    def __init__(self, name: str, config: dict[str, Any]):
        self.name = name
        # Where an interruption comes first, the services have chosen nothing at the epoch's start.
        self._by_epoch = name != "async-first"
        self.graph = Graph(_manifest(config, by_epoch=self._by_epoch))
        shape = self.graph.task(US)
        self.outputs = tuple(one.channel for one in shape.outputs)
        self.manager = RecoveryManager(Setting.of(self.graph, US))
        self.body: TaskBody | None = None
        self.log = b""
        self._rebuilding = frozenset[ChannelId]()
        self._records = 0
        self._answers = 0
        self._said: list[str] = []
        self._said_by: dict[str, list[str]] = {}

    # --- events, in Clonos' words ---

    def step(self, text: str) -> dict[str, Any]:
        """One event. An unknown one raises: none is passed over."""
        self._said, self._said_by = [], {}
        for pattern, take in _EVENTS.items():
            if match := re.fullmatch(pattern, text):
                try:
                    take(self, *match.groups())
                except Divergence as parted:
                    self._said.append(f"THROWS {parted}")
                return self._observed()
        raise ValueError(f"the trace {self.name} holds an event that is unknown: {text}")

    def construct(self) -> None:
        """What is rebuilding is looked at below."""

    def input(self, i: str, received: str) -> None:
        self.handle(ChannelReconnected(self.graph.task(US).inputs[int(i)], "input", int(received)))

    def output(self, k: str) -> None:
        self.handle(ChannelReconnected(self.outputs[int(k)], "output"))

    def restoring(self, checkpoint: str) -> None:
        self.handle(RestoreStarted(int(checkpoint)))

    def restored(self, checkpoint: str) -> None:
        self.handle(StateRestored(int(checkpoint)))

    def recover(self) -> None:
        self.handle(RecoveryStarted())

    def answer(self, who: str, main: str | None) -> None:
        """One who answers again does so on the same channel."""
        if "again" not in who:
            self._answers += 1
        channel = self.outputs[self._answers - 1]
        copies = [Copy(channel, LogId(US, MAIN), *one) for one in by_epoch(bytes.fromhex(main or ""))]
        # Theirs returns one buffer of the output thread in this trace, and shows it only where it is built again.
        if self.name == "source":
            copies.append(Copy(channel, LogId(US, "out-0"), 0, encode(BufferBuilt(10))))
        result = "held" if main else "failed-too"
        self.handle(DeterminantsReturned(channel, US, result, Logs.of(copies)))  # type: ignore[arg-type]

    def begin(self, epoch: str) -> None:
        assert self.body is not None and self.body.epoch == int(epoch)
        self.body.start()
        self._settle()

    def record(self) -> None:
        assert self.body is not None
        record = Record("k", 5, {"n": self._records}, (("up.0", self._records),))
        if self.body.shape.inputs:
            self.body.gate.offer(0, arrival(self._records, record_bytes(record), False))
            taken = self.body.next_input(lambda ready: ready[0])
            assert taken == 0
            self.body.take(0)
        else:
            self.body.feed_source([record])
        self._records += 1
        self.body.process(1)
        self._settle()

    # --- what the manager wants ---

    def handle(self, event: Event) -> None:
        for effect in self.manager.handle(event):
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:
        match effect:
            case RequestReplay(channel, epoch, skip):
                i = self.graph.task(US).inputs.index(channel)
                self._said.append(f"send in{i} InFlightLogRequest(subpartition=1, epoch={epoch}, skip={skip})")
            case RequestDeterminants(channel, _, epoch):
                asks = f"startEpoch={epoch}, upstreamCorrelation=0, correlation=<fresh>"
                self._said_of(channel, f"DeterminantRequest(vertex=5, {asks})")
            case StartReplaying(logs):
                self._start(logs)
            case EnteredRunning():
                self._said.append("conclude_replay(timers)")
            case _:
                assert not isinstance(effect, ReplayInFlight), "nobody asked for one"
                raise ValueError(f"no trace makes the manager say {effect}")

    def _start(self, logs: Logs) -> None:
        """The body follows the main log; what is returned of an output thread is built again at once, as in theirs."""
        main_logs = {copy.epoch: copy.data for copy in logs.thread(MAIN)}
        self.body = TaskBody(
            self.graph,
            US,
            Asking(),
            driver=self,
            wall=self,
            append=self._append,
            checkpoint=self.manager.epoch,
            main_logs=main_logs,
        )
        self.body.observer = self  # type: ignore[assignment]
        self.body.choices.observer = self  # type: ignore[assignment]
        if name := TIMERS.get(self.name):
            at_ms = 9 if name == "z" else 5
            self.body.timers.set(Timer(at_ms, name), callback=f"internal:{name}")
        for k, channel in enumerate(self.outputs):
            built = [one for copy in logs.thread(f"out-{k}") for _, _, one in decode_all(copy.data)]
            for one in built:
                assert isinstance(one, BufferBuilt)
                self._said_of(channel, f"buildAndLogBuffer({one.buffer_bytes})")
            if built:
                self.handle(OutputRebuilt(channel))

    def _settle(self) -> None:
        """As the main thread does after each step of the body."""
        assert self.body is not None
        if not self.body.replaying and not self.manager.is_running:
            self.handle(MainLogUsedUp())

    def _append(self, thread: Thread, determinant: Determinant, epoch: int) -> None:
        assert thread == MAIN
        self.log += encode(determinant)

    # --- what the body says ---

    def took(self, determinant: Determinant, epoch: int, offset: int) -> None:
        match determinant:
            case Timestamp(value):
                self._said.append(f"replayed timestamp {value}")
            case Rng(value):
                self._said.append(f"replayed rng {value}")

    def firing(self, determinant: Determinant) -> None:
        match determinant:
            case TimerTrigger(count, timestamp, callback):
                self._said.append(f"force timer {callback.removeprefix('internal:')}@{timestamp} at count {count}")
            case SourceCheckpoint(count, checkpoint, timestamp, kind, reference):
                what = f"{checkpoint} ts {timestamp} {kind.upper()} defaultLocation={str(not reference).lower()}"
                self._said.append(f"force checkpoint {what} at count {count}")
            case IgnoreCheckpoint(count, checkpoint):
                self._said.append(f"force ignore checkpoint {checkpoint} at count {count}")

    def epoch_started(self, epoch: int) -> None:
        self.handle(EpochStarted(epoch))

    def sealed(self, checkpoint: int) -> list[dict[str, Any]]:
        return []

    def now_ms(self) -> int:
        raise AssertionError("all that is asked for stands in the log")

    random_int32 = now_ms

    def __getattr__(self, name: str) -> Callable[..., None]:
        """What else body, services and log tell of themselves shows in no trace."""
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_: None

    # --- what the trace shows ---

    def _said_of(self, channel: ChannelId, action: str) -> None:
        self._said_by.setdefault(f"out{self.outputs.index(channel)}", []).append(action)

    def _observed(self) -> dict[str, Any]:
        rebuilding = self.manager.state.context.rebuilding
        for channel in self.outputs:
            if channel in rebuilding - self._rebuilding:
                self._said_of(channel, "recovering=true")
            if channel in self._rebuilding - rebuilding:
                self._said_of(channel, "recovering=false")
                self._said_of(channel, "notifyDataAvailable")
        self._rebuilding = rebuilding
        return {
            "actions": self._said,
            "subpartition_actions": self._said_by,
            "state_after": self.manager.state.name,
            "epoch": self.manager.epoch,
            "record_count": 0 if self.body is None else self.body.record_count,
            "ready_to_replay": self.body is not None,
            "main_log_length": len(self.log),
        }


_EVENTS: dict[str, Callable[..., None]] = {
    r"construct": ClonosTask.construct,
    r"new_input_channel\(in(\d+), buffers_removed=(\d+)\)": ClonosTask.input,
    r"new_output_channel\(out(\d+)\)": ClonosTask.output,
    r"state_restoration_start\((\d+)\)": ClonosTask.restoring,
    r"state_restoration_complete\((\d+)\)": ClonosTask.restored,
    r"start_recovery": ClonosTask.recover,
    r"determinant_response\(self, ([a-z ]+)(?:, main=([0-9a-f]+))?\)": ClonosTask.answer,
    r"start_new_epoch\((\d+)\)": ClonosTask.begin,
    r"record_processed": ClonosTask.record,
}


def by_epoch(main: bytes) -> list[tuple[int, bytes]]:
    """Theirs is one row of bytes; ours knows epochs, and a source's begins behind the checkpoint that it triggered."""
    found, epoch, begun = [], 0, 0
    for offset, length, determinant in decode_all(main):
        if isinstance(determinant, SourceCheckpoint):
            found.append((epoch, main[begun : offset + length]))
            epoch, begun = determinant.checkpoint, offset + length
    return [*found, (epoch, main[begun:])] if main[begun:] else found


def _manifest(config: dict[str, Any], *, by_epoch: bool) -> Any:
    name = f"{Asking.__module__}:{Asking.__qualname__}"
    services = {"time": "periodic:1000", "random": "seed"} if by_epoch else {"time": "call", "random": "call"}
    inputs = config["input_channels"]
    vertices = [Vertex("up", "source", name, parallelism=inputs)] if inputs else []
    kind = "operator" if inputs else "source"
    vertices.append(Vertex("t", kind, name, options={"asks": not by_epoch}, parallelism=1, services=services))
    vertices.append(Vertex("down", "sink", name, parallelism=config["subpartitions"]))
    edges = [Edge(one.id, other.id, "hash") for one, other in pairwise(vertices)]
    depth = config["determinant_sharing_depth"]
    protocol = Protocol("clonos", sharing_depth=None if depth == -1 else depth)
    return manifest_of(Job("clonos"), protocol, vertices, edges)
