"""Random worlds of the simulation as bundles in memory, and a sink that keeps the steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.debugger.outcome import Outcome
from replay.debugger.ports import BufferRow, Change, Step, StepRow, Told
from replay.debugger.recorded.story import Story
from replay.debugger.replay import replay
from replay.errors import PoolExhausted, WrongSetting
from replay.simulation.refusals import roomier
from replay.simulation.world import World


class MemoryMembers(MembersInMemory):
    """A bundle's members in memory, to be tampered with."""

    def with_(self, name: str, data: bytes) -> MemoryMembers:
        return MemoryMembers({**self.members, name: data})

    def without(self, *parts: str) -> MemoryMembers:
        """Without every member whose name contains one of these."""
        return MemoryMembers({n: data for n, data in self.members.items() if not any(part in n for part in parts)})


def recorded(world: World) -> MemoryMembers:
    """Runs the world."""
    world.run()
    return MemoryMembers({name: bytes(data) for name, data in world.members.members.items()})


@lru_cache(maxsize=64)
def world_of(seed: int) -> tuple[World, MemoryMembers]:
    """The random world of a seed, with its recording."""
    world = World.random(seed)
    try:
        return world, recorded(world)
    except (PoolExhausted, WrongSetting) as fault:  # what it lacks is room: how it would have gone on is looked at
        world = World(roomier(world.plan, fault))
        return world, recorded(world)


def alone(bundle: Bundle, failure: int, **options: Any) -> Outcome:
    """The recovery of that failure's task by itself, whatever it is connected with."""
    return replay(bundle, task=Story.read(bundle.events()).failure(failure)["task"], failure=failure, **options)


def bundle_of(members: MemoryMembers) -> Bundle:
    return Bundle(members)


class Kept:
    """A step sink that keeps everything."""

    def __init__(self) -> None:
        self.rows: list[StepRow] = []
        self.causes: list[tuple[int, str]] = []
        self.changes: list[tuple[int, str, str, str | None, str | None]] = []
        self.buffers: list[BufferRow] = []
        self.determinants: list[tuple[int, str, str, int | None, str | None]] = []
        self.open_orders: list[tuple[int, int]] = []
        self.flushes = 0

    def step(self, told: Told) -> None:
        step = Step._make(told)
        assert step.step == len(self.rows)
        self.rows.append(step.row())
        self.causes += [(step.step, cause) for cause in step.causes]

    def state_changes(self, step: int, task: str, changes: Sequence[Change]) -> None:
        assert 0 <= step < len(self.rows)
        for key, before, after in changes:
            assert before != after
            self.changes.append((step, task, key, before, after))

    def buffer(self, row: BufferRow) -> None:
        self.buffers.append(row)

    def taken(self, step: int, task: str, determinant: str, value: int | None, name: str | None) -> None:
        assert self.rows[step].kind in ("take-determinant", "fire-async", "append")
        self.determinants.append((step, task, determinant, value, name))

    def open_order(self, step: int, before: int) -> None:
        assert 0 <= before < step < len(self.rows)
        self.open_orders.append((step, before))

    def flush(self) -> None:
        self.flushes += 1

    @property
    def kinds(self) -> Counter[str]:
        return Counter(row.kind for row in self.rows)

    def state_at_the_end(self) -> dict[str, str]:
        state: dict[str, str] = {}
        for _, _, key, before, after in self.changes:
            assert state.get(key) == before
            if after is None:
                del state[key]
            else:
                state[key] = after
        return state
