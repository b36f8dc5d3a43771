"""A body that fails at any point of its execution is repeated from its log: same choices, same state, same bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from replay.log.thread_log import ThreadLog
from replay.model import MAIN, Graph, Manifest, Record, json_bytes
from replay.runtime.body.gate import arrival
from replay.runtime.body.records import record_bytes
from replay.runtime.body.task import TaskBody
from replay.runtime.body.watermarks import IDLE, watermark_event
from replay.services import Divergence, ExternalFault
from tests.replay.runtime import eventful

SERVICES = ({"time": "periodic:3", "random": "seed"}, {"time": "call", "random": "call"})
START_MS = 1_600_000_000_000


@dataclass(frozen=True)
class Point:
    """Where a body stood after one of its actions."""

    logs: dict[int, bytes]
    epoch: int
    record_count: int
    streams: tuple[bytes, ...]
    state: str


class World:
    """The world of one body: live it answers by chance, dead it must not be asked at all."""

    def __init__(self, seed: str, *, live: bool) -> None:
        self.random = Random(seed)
        self.live = live
        self.ms = START_MS
        self.log = ThreadLog()
        self.appended: list[Any] = []
        self.streams: list[bytes] = []
        self.snapshots: dict[int, dict[str, Any]] = {}

    def append(self, thread: str, determinant: Any, epoch: int) -> None:
        if thread == MAIN:
            self.log.append(determinant, epoch)
            self.appended.append(determinant)

    def _asked(self, what: str) -> None:
        assert self.live, f"a replay asks the world for {what}"

    def now_ms(self) -> int:
        self._asked("the time")
        return self.ms

    def random_int32(self) -> int:
        self._asked("chance")
        return self.random.randrange(-(1 << 31), 1 << 31)

    def external(self, call: str, request: Any, effect: str) -> Any:
        self._asked(f"{call} of {request}")
        if self.random.random() < 0.3:
            raise ExternalFault("Gone", f"no {self.random.randrange(9)}")
        return {"is": self.random.randrange(1000)}

    def wrote(self, record: Record) -> None:
        raise AssertionError("only sinks write")

    def timer_set(self, callback: str, at_ms: int) -> None:
        """Looked at between the elements."""

    def sealed(self, checkpoint: int) -> list[dict[str, Any]]:
        return []

    def epoch_started(self, epoch: int) -> None:
        self.log.open(epoch)

    def snapshot_taken(self, checkpoint: int, state: dict[str, Any]) -> None:
        self.snapshots[checkpoint] = json.loads(json_bytes(state))


class Life:
    """One execution of a task: the same inputs for whoever lives it."""

    def __init__(self, manifest: Manifest, task: str, world: World, **restored: Any) -> None:
        graph = Graph(manifest)
        self.world = world
        operator = eventful.operator_of(graph.vertex_of(task))
        self.body = TaskBody(graph, task, operator, driver=world, wall=world, append=world.append, **restored)
        self.seqs = list(self.body.input_seqs)
        world.streams = [b"" for _ in self.body.writers]
        world.log.open(self.body.epoch)

    def cut_all(self) -> None:
        for k, writer in enumerate(self.body.writers):
            while writer.available_bytes:
                self.world.streams[k] += self.body.cut(k, writer.available_bytes).payload

    def point(self) -> Point:
        body = self.body
        logs = {epoch: bytes(data) for epoch, data in self.world.log.since(0)}
        state = json.dumps([body.operator.snapshot(), body.timers.snapshot(), body.watermark_ms, body.source_offset])
        return Point(logs, body.epoch, body.record_count, tuple(self.world.streams), state)


def buffers_of(seed: int) -> list[list[tuple[bytes, bool]]]:
    """What each of two inputs brings: records across buffers, watermarks, idleness, and barriers of two checkpoints."""
    draw = Random(f"buffers {seed}")
    inputs: list[list[tuple[bytes, bool]]] = []
    for i in range(2):
        sent: list[tuple[bytes, bool]] = []
        now_ms, n = START_MS, 0
        for checkpoint in (1, 2):
            for _ in range(6):
                data = b""
                for _ in range(draw.choice((1, 2, 3))):
                    record = Record(
                        f"k{draw.randrange(3)}", now_ms - draw.randrange(4), {"n": n}, ((f"source.{i}", n),)
                    )
                    data += record_bytes(record)
                    n += 1
                at = draw.randrange(len(data))
                sent += [(data[:at], False)] * bool(at) + [(data[at:], False)]
                now_ms += 4
                mark = IDLE if draw.random() < 0.2 else now_ms - 5
                sent.append((json_bytes(watermark_event(mark)), True))
            sent.append((json_bytes({"barrier": checkpoint}), True))
        inputs.append(sent)
    return inputs


class Fed(Life):
    """With inputs."""

    def __init__(self, seed: int, manifest: Manifest, world: World, **restored: Any) -> None:
        super().__init__(manifest, "one.0", world, **restored)
        for i, sent in enumerate(buffers_of(seed)):
            for seq, (payload, event) in enumerate(sent):
                if seq >= self.body.input_seqs[i]:
                    self.body.gate.offer(i, arrival(seq, payload, event))

    def step(self) -> bool:
        body = self.body
        if body.pending_elements:
            body.process(1)
            return True
        i = body.next_input(self.world.random.choice)
        if i is not None:
            body.take(i)
        return i is not None


class Reading(Life):
    """A source."""

    def __init__(self, seed: int, manifest: Manifest, world: World, **restored: Any) -> None:
        super().__init__(manifest, "source.0", world, **restored)
        records = [eventful.record_at(n, n * 900) for n in range(60)]
        self.body.feed_source(records[self.body.source_offset :])

    def step(self) -> bool:
        return bool(self.body.process(1))


def lived(seed: int, kind: type[Fed] | type[Reading], manifest: Manifest) -> tuple[World, list[Point]]:
    """A whole life, and where it stood after each of its actions."""
    world = World(f"life {seed}", live=True)
    life = kind(seed, manifest, world)
    life.body.start()
    points = [life.point()]
    going = True
    while going:
        world.ms += world.random.choice((0, 0, 1, 3))
        due = [callback for callback, at_ms in life.body.timers.awaiting() if at_ms <= world.ms]
        if kind is Reading and len(points) in (30, 60):
            life.body.trigger_checkpoint(len(points) // 30, world.ms)
        elif due and world.random.random() < 0.7:
            life.body.fire_timer(world.random.choice(due))
        elif kind is Fed and life.body.epoch == 0 and world.random.random() < 0.01:
            life.body.ignore_checkpoint(1)
        else:
            going = life.step()
        life.cut_all()
        points.append(life.point())
    return world, points


def repeated(
    seed: int,
    kind: type[Fed] | type[Reading],
    manifest: Manifest,
    point: Point,
    checkpoint: int = 0,
    state: Mapping[str, Any] | None = None,
) -> Point:
    """The life up to that point, from its log alone."""
    logs = {epoch: data for epoch, data in point.logs.items() if epoch >= checkpoint}
    world = World("dead", live=False)
    life = kind(seed, manifest, world, checkpoint=checkpoint, state=state, main_logs=logs)
    life.body.start()
    while life.body.replaying or (life.body.epoch, life.body.record_count) != (point.epoch, point.record_count):
        life.cut_all()
        assert life.step(), "the inputs end before the log does"
    life.cut_all()
    return life.point()


@pytest.mark.parametrize("services", SERVICES, ids=str)
@pytest.mark.parametrize("kind", [Fed, Reading])
@pytest.mark.parametrize("seed", range(4))
def test_a_failure_at_any_point_is_repeated(
    seed: int, kind: type[Fed] | type[Reading], services: dict[str, str]
) -> None:
    ship = ("rebalance", "random", "hash")[seed % 3]
    source = {"time": "ingestion"} if seed == 3 else {}
    manifest = eventful.manifest(services=services, ships=(ship, ship, "hash"), source_options=source)
    _, points = lived(seed, kind, manifest)
    assert len(points) > 60 and max(point.epoch for point in points) == 2
    for point in points:
        again = repeated(seed, kind, manifest, point)
        assert again == point, f"seed {seed}, at record {point.record_count} of epoch {point.epoch}"


@pytest.mark.parametrize("services", SERVICES, ids=str)
@pytest.mark.parametrize("kind", [Fed, Reading])
def test_a_failure_after_a_checkpoint_is_repeated_from_it(
    kind: type[Fed] | type[Reading], services: dict[str, str]
) -> None:
    """The snapshot holds all that counts: timers, watermarks, idleness, offsets."""
    timers = 0
    for seed in range(4, 8):
        manifest = eventful.manifest(services=services)
        world, points = lived(seed, kind, manifest)
        for checkpoint, state in world.snapshots.items():
            timers += len(state["timers"])
            before = [point for point in points if point.epoch < checkpoint][-1]
            for point in (one for one in points if one.epoch >= checkpoint):
                again = repeated(seed, kind, manifest, point, checkpoint, state)
                assert again.logs == {e: data for e, data in point.logs.items() if e >= checkpoint}, f"seed {seed}"
                assert (again.epoch, again.record_count, again.state) == (point.epoch, point.record_count, point.state)
                for k, stream in enumerate(again.streams):
                    after_the_barrier = point.streams[k][len(before.streams[k]) :]
                    assert after_the_barrier.endswith(stream), f"seed {seed}, output {k}"
    assert timers > 5, "the checkpoints have timers in them"


@pytest.mark.parametrize("seed", range(3))
def test_a_log_that_says_otherwise_is_a_divergence(seed: int) -> None:
    """Other inputs than the ones that the log was written for can't follow it to its end."""
    manifest = eventful.manifest(services=SERVICES[1])
    _, points = lived(seed, Fed, manifest)
    with pytest.raises((Divergence, AssertionError), match=r"asked for|the inputs end"):
        repeated(seed + 100, Fed, manifest, points[-1])
