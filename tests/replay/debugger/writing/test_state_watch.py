"""What is told of an operator's state, change by change, adds up to what its snapshots hold."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from replay.debugger.writing.state_keys import flat
from replay.debugger.writing.state_watch import StateWatch
from replay.model import Record
from replay.runtime.operators import Operator
from replay.runtime.operators.keyed import KeyedProcess, KeyedState

VALUES: tuple[Any, ...] = (None, 0, 1, True, 1.0, "x", [], [[1, 2]], [["a", 1]], {"a": {"b": 1}}, {}, [1, [True]])
KEYS: tuple[Any, ...] = ("a", "b", "1", 1, True, 1.0, [1, "a"], None, "", "€")


class Anything(Operator):
    """Its state is whatever it is told."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}

    def on_record(self, record: Record, context: Any) -> None:
        """Not given any."""

    def snapshot(self) -> dict[str, Any]:
        return {name: [list(pair) for pair in part] if name == "map" else part for name, part in self.parts.items()}


class Growing(KeyedProcess):
    """A list a key that grows in its place."""

    def process(self, record: Record, state: Any, context: Any) -> Any:
        if state is None:
            return [record.value]
        state.append(record.value)
        return state if len(state) < 4 else None


class WithMore(Growing):
    """Its snapshot has more than what is kept by key, and it does not say what changed."""

    def __init__(self) -> None:
        super().__init__()
        self.records = 0

    def process(self, record: Record, state: Any, context: Any) -> Any:
        self.records += 1
        return super().process(record, state, context)

    def snapshot(self) -> dict[str, Any]:
        return {**super().snapshot(), "records": self.records}


class Added:
    """The changes that a watch tells, put together."""

    def __init__(self, operator: Operator, **options: int) -> None:
        self.operator = operator
        self.watch = StateWatch(operator, **options)
        self.state: dict[str, str] = {}

    def look(self, of_task: Mapping[str, str] | None = None, *, always: bool = False) -> int:
        changes = self.watch.look(of_task or {}, always=always)
        for key, before, after in changes:
            assert self.state.get(key) == before != after, key
            if after is None:
                del self.state[key]
            else:
                self.state[key] = after
        return len(changes)


@pytest.mark.parametrize("seed", range(20))
def test_changes_add_up_to_any_state(seed: int):
    rng = random.Random(seed)
    operator = Anything()
    added = Added(operator)
    for _ in range(200):
        name = rng.choice(("one", "two", "map"))
        if name == "map":
            distinct = {repr(key): key for key in rng.choices(KEYS, k=rng.randrange(6))}
            operator.parts[name] = [[key, rng.choice(VALUES)] for key in distinct.values()]
        else:
            operator.parts[name] = rng.choice(VALUES)
        if rng.random() < 0.1:
            operator.parts.pop(rng.choice(list(operator.parts)))
        added.look()
        assert added.state == flat(operator.snapshot()), f"seed {seed}"


@pytest.mark.parametrize("kind", [Growing, WithMore])
@pytest.mark.parametrize("seed", range(10))
def test_an_operator_by_key_tells_what_it_touched(kind: type[KeyedProcess], seed: int):
    rng = random.Random(seed)
    operator = kind()
    added = Added(operator)
    for n in range(200):
        for _ in range(rng.randrange(3)):
            operator.on_record(Record(rng.choice(("a", "b", [1])), 0, n), None)
        if rng.random() < 0.05:
            operator.restore(operator.snapshot())
        if rng.random() < 0.05:
            for _, value in operator.state.items():
                value.append("in its place")
        added.look()
        assert added.state == flat(operator.snapshot()), f"seed {seed}"


def test_only_what_was_touched_is_looked_at_again():
    operator = Growing()
    for n in range(1000):
        operator.on_record(Record(f"k{n}", 0, n), None)
    added = Added(operator)
    assert added.look() == 1000
    assert operator.state.touched().put == []
    operator.on_record(Record("k7", 0, 1), None)
    assert operator.changed()["by_key"].put == [("k7", [7, 1])]


def test_a_large_state_is_looked_at_less_often_and_always_where_it_must_be():
    operator = Anything()
    added = Added(operator, ready_bytes=100_000)
    looked = 0
    for n in range(1000):
        operator.parts["map"] = [[f"k{i}", n if i == n % 1000 else 0] for i in range(1000)]
        looked += bool(added.look())
    assert 12 < looked < 100
    assert added.watch.skipped == 1000 - looked
    assert added.watch.behind
    added.look(always=True)
    assert added.state == flat(operator.snapshot())
    assert not added.watch.behind


def test_what_the_task_has_besides_is_watched_with_it():
    added = Added(Anything())
    assert added.look({"source.offset": "1"}) == 1
    assert added.look({"source.offset": "1"}) == 0
    assert added.look({"source.offset": "2", "watermark_ms": "5"}) == 2
    assert added.state == {"source.offset": "2", "watermark_ms": "5"}


def test_nobody_pays_for_being_watched_who_is_not():
    state: KeyedState[int] = KeyedState()
    state.put("a", 1)
    assert state.get("a") == 1
    assert state._touched is None
