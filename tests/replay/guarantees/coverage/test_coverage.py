"""Coverage by task, attempt and epoch: what agrees, what diverges, what is asked past the log, what is not known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.guarantees.claims import Section
from replay.guarantees.coverage import coverage
from replay.log.codec import decode_all
from replay.model import json_bytes
from replay.simulation.commands import random_options
from replay.simulation.replays import recorded as recorded_as
from tests.replay.debugger.hunting.planting import PLANTED, marked, recorded, shop
from tests.replay.debugger.recordings import failing
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

CHOSEN = {"order", "timestamp", "rng", "serializable", "timer-trigger"}
"""Of a recording made by the engine: of a task with one input no order is written down."""
Key = tuple[str, int, int]


def of(members: MemoryMembers, **asked: Any) -> Section:
    return coverage(bundle_of(members), **asked)


def statuses(section: Section) -> dict[Key, str]:
    return {(row["task"], row["attempt"], row["epoch"]): row["status"] for row in section.numbers["epochs"]}


def chosen(members: MemoryMembers) -> set[Key]:
    """The epochs whose main log holds a choice, read by hand."""
    found = set()
    for name, data in members.members.items():
        if name.endswith(".det") and "/main/" in name and any(one.kind in CHOSEN for *_, one in decode_all(data, name)):
            _, task, attempt, _, epoch = name.removesuffix(".det").split("/")
            found.add((task, int(attempt), int(epoch)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_what_the_engine_recorded_is_covered_and_deterministic_where_nothing_was_chosen(seed: int) -> None:
    bundle = recorded_as(random_options(seed))
    members = MemoryMembers({name: bundle.members.read(name) for name in bundle.members.names()})
    section = of(members, listen=False)
    logged = {name.split("/")[1:3][0] for name in members.members if name.endswith(".det")}
    for key, status in statuses(section).items():
        if key[0] in logged and any(name.startswith(f"tasks/{key[0]}/{key[1]}/main/") for name in members.members):
            assert status == ("covered" if key in chosen(members) else "deterministic"), f"seed {seed}: {key}"
        else:
            assert status in ("unknown", "deterministic"), f"seed {seed}: {key}"


@pytest.fixture(scope="module")
def once() -> MemoryMembers:
    return failing("map-1.0@115")


def test_listening_changes_nothing_about_what_reads_nothing_past_its_log(once: MemoryMembers) -> None:
    assert statuses(of(once)) == statuses(of(once, listen=False))
    assert of(once).good is True


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_buffer_that_is_otherwise_is_named_and_what_comes_before_it_stays_covered(once: MemoryMembers) -> None:
    name = "tasks/map-1.0/0/sent-0/1.buf"
    section = of(once.with_(name, flipped(once.members[name], -40)), listen=False)
    found = statuses(section)
    assert (found["map-1.0", 0, 0], found["map-1.0", 0, 1]) == ("covered", "diverged")
    assert all(status in ("unknown",) for key, status in found.items() if key[:2] == ("map-1.0", 0) and key[2] > 1)
    assert section.verdict == "diverged" and section.good is False
    (claim,) = [one for one in section.claims if one.verdict == "diverged"]
    assert claim.about == "task:map-1.0" and claim.evidence[0].startswith("buffer:map-1.0>")


def test_a_lost_log_leaves_it_open_and_is_named(once: MemoryMembers) -> None:
    section = of(once.without("tasks/map-1.0/0/main/1.det"), listen=False)
    assert {status for key, status in statuses(section).items() if key[:2] == ("map-1.0", 0)} == {"unknown"}
    assert (section.verdict, section.good) == ("undecided", None)
    assert "tasks/map-1.0/0/main/1.det" in {lack.wants for lack in section.lacks}


def test_without_an_operators_code_it_is_the_code_that_is_wanted(once: MemoryMembers) -> None:
    raw = dict(bundle_of(once).manifest.to_json())
    raw["vertices"] = [
        {**one, "operator": "elsewhere:Secret"} if one["id"] == "map-1" else one for one in raw["vertices"]
    ]
    section = of(once.with_("job.json", json_bytes(raw)), listen=False)
    assert {status for key, status in statuses(section).items() if key[0].startswith("map-1")} == {"unknown"}
    assert any("elsewhere:Secret" in lack.wants for lack in section.lacks)


def test_without_logs_nothing_is_claimed() -> None:
    section = of(failing("map-1.0@115", sharing_depth=0), listen=False)
    assert set(statuses(section).values()) == {"unknown"} and section.good is None


def test_past_the_budget_it_is_said_that_nobody_looked(once: MemoryMembers) -> None:
    section = of(once, listen=False, most_bytes=100_000)
    found = set(statuses(section).values())
    assert "not looked at" in found and found & {"covered", "deterministic"}
    assert section.good is None and section.numbers["looked_at_bytes"] <= 100_000
    assert any("budget" in lack.sentence for lack in section.lacks)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shop(tmp_path_factory.mktemp("packages")) as folder:
        yield folder


@pytest.mark.parametrize("name", ["Clock", "ModuleRandom", "Getenv", "Identity", "Process"])
def test_a_call_past_the_log_is_named_with_its_line(installed: Path, name: str) -> None:
    section = of(recorded(f"{PLANTED}:{name}"))
    found = statuses(section)
    assert found["map-1.0", 0, 0] in ("uncovered", "diverged")
    assert "covered" not in {status for key, status in found.items() if key[0] == "map-1.0"}
    file, line, _ = marked(installed, name)[0]
    told = [one.sentence for one in section.claims if one.about == "task:map-1.0"]
    assert any(f"{file}:{line}" in one for one in told), told
    assert section.good is False


def test_an_innocent_neighbour_is_not_accused(installed: Path) -> None:
    assert of(recorded(f"{PLANTED}:Innocent")).good is True
