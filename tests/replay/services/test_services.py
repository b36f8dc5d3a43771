"""Every service live, replayed, and live again from where its log ends: the answers and the log are the same."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from replay.errors import InvariantError
from replay.log.codec import encode
from replay.log.determinants import Determinant, Rng, Serializable, Timestamp
from replay.services import (
    CausalClock,
    Choices,
    Cursor,
    Divergence,
    ExternalCalls,
    ExternalFault,
    PeriodicClock,
    RandomPerCall,
    RandomPerEpoch,
)
from replay.services.random_numbers import SplitMix


class World:
    """Seeded, and of another mind whenever it is asked."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.ms = 0

    def now_ms(self) -> int:
        self.ms += self.random.randrange(5)
        return self.ms

    def random_int32(self) -> int:
        return self.random.randrange(-(1 << 31), 1 << 31)

    def external(self, call: str, request: Any, effect: str) -> Any:
        if self.random.random() < 0.4:
            raise ExternalFault("Gone", f"no {self.random.randrange(9)}")
        return [self.random.randrange(99), {"asked": request}]


class Task:
    """All services of one task, as a program uses them."""

    def __init__(self, world: World, log: bytes = b"") -> None:
        self.log = b""
        self.choices = Choices(self._append, cursor=Cursor({0: log}))
        self.clock = CausalClock(self.choices, world)
        self.periodic = PeriodicClock(self.choices, world, 5)
        self.random = RandomPerCall(self.choices, world)
        self.seeded = RandomPerEpoch(self.choices, world)
        self.calls = ExternalCalls(self.choices, world)

    def _append(self, determinant: Determinant, epoch: int) -> None:
        self.log += encode(determinant)

    def run(self, program: Random, steps: int) -> list[Any]:
        self.periodic.read()
        self.seeded.begin_epoch()
        return [self._ask(program.randrange(5), program) for _ in range(steps)]

    def _ask(self, what: int, program: Random) -> Any:
        match what:
            case 0:
                return self.clock.now_ms()
            case 1:
                return self.periodic.read() if program.random() < 0.3 else self.periodic.now_ms()
            case 2:
                return self.random.next_int(program.choice((1, 2, 1000, 1 << 31)))
            case 3:
                return self.seeded.next_int(program.choice((1, 7, 1 << 31)))
            case _:
                try:
                    return self.calls.ask("lookup", {"of": program.randrange(3)}, program.choice(("read", "write")))
                except ExternalFault as fault:
                    return fault.type, fault.message


@pytest.mark.parametrize("seed", range(50))
def test_a_replay_gets_the_same_answers_and_goes_on_by_itself(seed: int) -> None:
    lost = Task(World(f"lost {seed}"))
    answers = lost.run(Random(seed), 40)
    again = Task(World(f"again {seed}"), lost.log)
    assert again.run(Random(seed), 40) == answers
    assert again.log == lost.log and not again.choices.replaying
    after = again.clock.now_ms()
    assert again.log == lost.log + encode(Timestamp(after))


@pytest.mark.parametrize("seed", range(20))
def test_the_seed_of_an_epoch_determines_every_number_of_it(seed: int) -> None:
    """Not so in Clonos' code, whose `setSeed` changes nothing."""
    first, second = Task(World(f"one {seed}")), Task(World(f"two {seed}"))
    numbers = []
    for task in (first, second):
        task.seeded.begin_epoch()
        numbers.append([task.seeded.next_int(1 << 31) for _ in range(20)])
    assert numbers[0] != numbers[1], f"seed {seed}"
    replayed = Task(World("third"), first.log)
    replayed.seeded.begin_epoch()
    assert [replayed.seeded.next_int(1 << 31) for _ in range(20)] == numbers[0]
    assert len(first.log) == len(encode(Rng(0))), "one determinant an epoch"


def test_the_generator_is_splitmix64() -> None:
    """The upper halves of the published sequence for seed 1234567."""
    generator = SplitMix(1234567)
    published = (6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431)
    assert [generator.next_int32() for _ in published] == [one >> 32 for one in published]


@pytest.mark.parametrize("per_call", [True, False])
def test_random_numbers_lie_below_their_bound_and_are_spread(per_call: bool) -> None:
    task = Task(World("spread"))
    task.seeded.begin_epoch()
    numbers = Counter((task.random if per_call else task.seeded).next_int(6) for _ in range(6000))
    assert set(numbers) == set(range(6)) and min(numbers.values()) > 850
    for bound in (0, -1, (1 << 31) + 1):
        with pytest.raises(InvariantError, match="bound"):
            (task.random if per_call else task.seeded).next_int(bound)


def test_a_logged_number_above_the_bound_is_a_divergence() -> None:
    task = Task(World("never"), encode(Rng(10)))
    with pytest.raises(Divergence) as parted:
        task.random.next_int(10)
    assert parted.value.asked == "a random number below 10" and "Rng(value=10)" in parted.value.logged


def logged_call(text: str) -> bytes:
    return encode(Serializable.of(3, text.encode()))


@pytest.mark.parametrize(
    "log",
    [
        logged_call('{"call":"external","name":"other","effect":"read","value":1}'),
        logged_call('{"call":"external","name":"lookup","effect":"write","value":1}'),
        logged_call('{"call":"time_ns","value":1}'),
        logged_call('{"call":"external","name":"lookup","effect":"read"}'),
        logged_call('{"call":"external","name":"lookup","effect":"read","raised":"no"}'),
        logged_call("[]"),
        logged_call("{"),
        encode(Serializable.of(1, b'{"call":"external","name":"lookup","effect":"read","value":1}')),
    ],
)
def test_an_answer_to_something_else_is_a_divergence(log: bytes) -> None:
    task = Task(World("never"), log)
    with pytest.raises(Divergence) as parted:
        task.calls.ask("lookup", {}, "read")
    assert "the external call 'lookup' with effect read" in parted.value.asked
    assert task.log == b"", "what does not fit is not appended"


def test_another_determinant_in_place_of_an_answer_is_a_divergence() -> None:
    with pytest.raises(Divergence, match="serializable"):
        Task(World("never"), encode(Timestamp(4))).calls.ask("lookup", {}, "read")


def test_an_effect_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvariantError, match="read, write"):
        Task(World("never")).calls.ask("lookup", {}, "delete")


def test_services_of_an_epoch_are_not_asked_before_it_begins() -> None:
    task = Task(World("early"))
    with pytest.raises(InvariantError):
        task.periodic.now_ms()
    with pytest.raises(InvariantError):
        task.seeded.next_int(5)
