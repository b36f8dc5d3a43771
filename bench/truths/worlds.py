"""Random worlds with what they recorded, and what is so of them."""

from __future__ import annotations

from dataclasses import dataclass

from bench.truths.watching import Truth, WatchedWorld, truth_of
from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle
from replay.errors import PoolExhausted, WrongSetting
from replay.simulation.recording import Recording
from replay.simulation.refusals import roomier
from replay.simulation.world import random_plan


@dataclass(frozen=True)
class Known:
    """A world, its recording as a bundle, and the truth."""

    seed: int
    world: WatchedWorld
    recording: Recording
    members: dict[str, bytes]
    truth: Truth

    @property
    def bundle(self) -> Bundle:
        return Bundle(MembersInMemory(self.members))

    def without(self, name: str) -> Bundle:
        """The recording without a member."""
        return Bundle(MembersInMemory({one: data for one, data in self.members.items() if one != name}))


def promises_less(seed: int) -> bool:
    """Whether records may count twice or not at all in the world of that seed: few do, and all is found in them."""
    protocol = random_plan(seed).protocol
    return protocol.name == "none" or (
        protocol.name == "clonos" and (protocol.sharing_depth == 0 or protocol.on_lost == "continue")
    )


def known_world(seed: int) -> Known:
    """Where its settings leave too little room for anything to happen, it gets more."""
    plan = random_plan(seed)
    while True:
        world = WatchedWorld(plan)
        try:
            recording = world.run()
            break
        except (PoolExhausted, WrongSetting) as fault:
            plan = roomier(plan, fault)
    members = {name: bytes(data) for name, data in recording.members.items()}
    return Known(seed, world, recording, members, truth_of(world, recording))
