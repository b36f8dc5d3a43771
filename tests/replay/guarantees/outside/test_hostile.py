"""Recordings and rows that anybody may have written: something is said of each, and nothing ends in a crash."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.members_in_memory import MembersInMemory
from replay.bundle.reader import Bundle, open_bundle
from replay.errors import WrongSetting
from replay.guarantees.outside import Held, How, outside
from tests.replay.guarantees.outside.worlds import World

DEEP: Any = 1
for _ in range(300):
    DEEP = [DEEP]
ODD = [None, True, -1, 1 << 70, 1.5, "", "x", "\x00", [], {}, {"redacted": "t"}, [[None]], DEEP, {"k": DEEP}]
FIELDS = ["offset", "record", "ref", "t_us", "n", "source", "task", "attempt", "checkpoint", "type", "topic", "outputs"]


def members_of(world: World, folder: Path) -> dict[str, bytes]:
    with open_bundle(world.write(folder / f"{world.seed}.zip")) as bundle:
        return {name: bundle.members.read(name) for name in bundle.members.names()}


def odd(line: bytes, chance: random.Random) -> bytes:
    """A line with something else in one of its fields, or in a field of a reference."""
    found = json.loads(line)
    holder = found["ref"] if isinstance(found.get("ref"), dict) and chance.random() < 0.5 else found
    holder[chance.choice([*holder, *FIELDS])] = chance.choice(ODD)
    return json.dumps(found).encode()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_lines_hold_something_is_said(seed: int, tmp_path: Path) -> None:
    chance, world = random.Random(seed), World.random(seed)
    members = members_of(world, tmp_path)
    for name in [one for one in members if one.endswith(".ndjson")]:
        lines = members[name].splitlines()
        lines = [odd(line, chance) if line[-1:] == b"}" and chance.random() < 0.3 else line for line in lines]
        if name == "events.ndjson":
            lines = [json.dumps(json.loads(line) | {"n": n, "t_us": 0}).encode() for n, line in enumerate(lines)]
        members[name] = b"".join(line + b"\n" for line in lines)
    rows = [
        dict(one.fields) | {chance.choice(["k", "part", "in_o", "price"]): chance.choice(ODD)} for one in world.given
    ]
    told = outside(Bundle(MembersInMemory(members)), Held.of("shop", rows), world.how, world.topics())
    assert told.verdict and json.loads(json.dumps(told.to_json())), seed


def test_rows_and_records_nested_deeply_are_named(tmp_path: Path) -> None:
    world = World.random(1)
    with open_bundle(world.write(tmp_path / "bundle.zip")) as bundle:
        told = outside(bundle, Held.of("shop", [{"k": DEEP}]), How.parse("k", "k"))
    assert any("nested too deeply" in one.sentence for one in told.lacks), told


def test_a_vertex_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    path = World.random(1).write(tmp_path / "bundle.zip")
    with open_bundle(path) as bundle, pytest.raises(WrongSetting, match="no vertex q"):
        outside(bundle, Held("shop", ()), How(source=("q",)))
