"""A shrunk recording diverges as the whole does, is a good bundle, and nothing more can be taken away from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.debugger.replay import replay
from replay.debugger.shrinking import shrink as shrinking
from replay.debugger.shrinking.shrink import Shrunk, shrink
from replay.errors import ReplayError
from replay.jobs import registry
from replay.jobs.graphs import operator_name
from replay.jobs.pass_through import Source
from replay.model import Record
from tests.oracle_reader import complaints
from tests.replay.debugger.diverging import planted
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import MemoryMembers, bundle_of

CASES = [
    (planted.Sound, planted.Changed),
    (planted.Sound, planted.Fails),
    (planted.TellsTime, planted.TellsTime),
    (planted.Counts, planted.CountsOtherwise),
    (planted.AsksTheClock, planted.AsksTheClockLess),
]


def recording(recorded: type[Any], monkeypatch: Any, **options: Any) -> MemoryMembers:
    return planted.recorded_with(recorded, monkeypatch, **options)


def installed(operator: type[Any], monkeypatch: Any) -> None:
    monkeypatch.setitem(registry.OPERATORS, planted.NAME, operator)


def written(made: Shrunk, folder: Path) -> Path:
    for name, data in made.members.members.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@pytest.mark.parametrize("seed", [7, 11])
@pytest.mark.parametrize(("recorded", "replayed"), CASES, ids=lambda one: one.__name__)
def test_the_excerpt_diverges_as_the_whole_and_is_a_good_bundle(
    recorded: type[Any], replayed: type[Any], seed: int, monkeypatch: Any, tmp_path: Path
) -> None:
    members = recording(recorded, monkeypatch, seed=seed)
    installed(replayed, monkeypatch)
    whole = replay(bundle_of(members), failure=0)
    assert whole.verdict == "diverged", f"seed {seed}"
    made = shrink(bundle_of(members), failure=0)
    where = f"seed {seed}: {made.outcome.sentence}"
    assert made.outcome.verdict == "diverged", where
    one, other = whole.detail, made.outcome.detail
    assert one["reason"]["code"] == other["reason"]["code"], where
    assert one.get("line") == other.get("line"), where
    assert one.get("logged_record") == other.get("logged_record") or recorded is planted.TellsTime, where
    assert made.of_what == "units" and 1 < made.left <= made.of
    assert complaints(written(made, tmp_path)) == []
    again = shrink(bundle_of(members), failure=0)
    if recorded is not planted.TellsTime:
        assert again.members.members == made.members.members, "the same recording shrinks to the same bytes"
    installed(recorded, monkeypatch)
    healed = replay(bundle_of(MemoryMembers(made.members.members)), **made.asked)
    # What only the older operator's choice followed from can't be known without it: there the log alone is kept.
    if recorded not in (planted.TellsTime, planted.AsksTheClock):
        assert healed.verdict == "identical", f"with the operator that was recorded: {healed.sentence}"


@pytest.mark.parametrize("seed", [7, 11, 13])
def test_what_the_divergence_follows_from_stays(seed: int, monkeypatch: Any) -> None:
    """The third record of one key: two before it, and it."""
    members = recording(planted.Counts, monkeypatch, seed=seed)
    installed(planted.CountsOtherwise, monkeypatch)
    made = shrink(bundle_of(members), task="map-1.0", attempt=0)
    assert made.of > 4 == made.left, f"seed {seed}: the beginning and three records"
    keys = {line.split(b'"record":["')[1][:3] for line in _source_lines(made)}
    assert len(_source_lines(made)) == 3 and len(keys) == 1, f"seed {seed}"


def _source_lines(made: Shrunk) -> list[bytes]:
    files = made.members.members.items()
    return [line for name, data in files if "/source/" in name for line in data.splitlines()]


@pytest.mark.parametrize("seed", [7, 11])
@pytest.mark.parametrize(("recorded", "replayed"), CASES[3:], ids=lambda one: one.__name__)
def test_no_single_unit_can_go(recorded: type[Any], replayed: type[Any], seed: int, monkeypatch: Any) -> None:
    """Brute force over what is left: each unit alone is taken away, and it diverges no more, or otherwise."""
    members = recording(recorded, monkeypatch, seed=seed)
    installed(replayed, monkeypatch)
    kept: list[tuple[Any, Any]] = []
    fewer = shrinking._Shrinking._fewer_vertices

    def watched(self: Any, found: Any) -> Any:
        kept.append((self, found))
        return fewer(self, found)

    monkeypatch.setattr(shrinking._Shrinking, "_fewer_vertices", watched)
    shrink(bundle_of(members), task="map-1.0", attempt=0)
    [(one, found)] = kept
    units = found.units
    for n in range(1, len(units) - 1):
        candidate = shrinking.replace(found, units=units[:n] + units[n + 1 :])
        assert not one._diverges(candidate), f"seed {seed}: unit {n} of {len(units)} can go"
    assert one._diverges(found)


def test_a_damaged_buffer_shrinks_to_the_record_in_it(monkeypatch: Any, tmp_path: Path) -> None:
    members = recording(planted.Sound, monkeypatch)
    name = "tasks/map-1.0/0/sent-0/1.buf"
    data = members.members[name]
    at = data.index(b"sound")
    damaged = members.with_(name, data[:at] + b"t" + data[at + 1 :])
    made = shrink(bundle_of(damaged), failure=0)
    assert made.left == 2 and '"tound"' in made.outcome.detail["logged_record"]
    assert complaints(written(made, tmp_path)) == []


class Numbered(Source):
    """Says of each record how many of its key it had read."""

    third = "read"

    def open(self, context: Any) -> None:
        super().open(context)
        self.counts: dict[str, int] = {}

    def on_record(self, record: Record, context: Any) -> None:
        count = self.counts[record.key] = self.counts.get(record.key, 0) + 1
        context.emit(Record(record.key, record.timestamp, [self.third if count == 3 else "read", record.value]))

    def snapshot(self) -> dict[str, Any]:
        return {"counts": [[key, count] for key, count in sorted(self.counts.items())]}

    def restore(self, state: Any) -> None:
        self.counts = dict(state["counts"])


class NumberedOtherwise(Numbered):
    third = "changed"


@pytest.mark.parametrize("seed", [7, 11, 13])
def test_a_divergence_of_a_source_shrinks_to_the_records_that_it_follows_from(
    seed: int, monkeypatch: Any, tmp_path: Path
) -> None:
    name = operator_name(Source)
    monkeypatch.setitem(registry.OPERATORS, name, Numbered)
    members = recording(planted.Sound, monkeypatch, seed=seed)
    monkeypatch.setitem(registry.OPERATORS, name, NumberedOtherwise)
    source = next(one for one in bundle_of(members).graph.order if one.startswith("source"))
    made = shrink(bundle_of(members), task=source, attempt=0)
    where = f"seed {seed}: {made.outcome.sentence}"
    assert (made.of_what, made.left) == ("units", 4), where  # the beginning and three records of one key
    assert made.outcome.verdict == "diverged" and made.of > made.left, where
    assert '"changed"' in made.outcome.detail["asked_record"], where
    assert complaints(written(made, tmp_path)) == [], where
    again = shrink(bundle_of(members), task=source, attempt=0)
    assert again.members.members == made.members.members, where
    monkeypatch.setitem(registry.OPERATORS, name, Numbered)
    healed = replay(bundle_of(MemoryMembers(made.members.members)), **made.asked)
    assert healed.verdict == "identical", f"seed {seed}: {healed.sentence}"


def test_what_can_not_be_shrunk_says_why(monkeypatch: Any) -> None:
    members = one_failure()
    with pytest.raises(ReplayError, match="is identical: there is nothing to shrink"):
        shrink(bundle_of(members), failure=0)


def writes() -> tuple[MemoryMembers, str, list[bytes]]:
    """A small recording, its sink's last member and the lines of that."""
    members = one_failure(events=30, parallelism=1, depth=3, checkpoint_interval_ms=400, at_ms=4)
    name = sorted(one for one in members.members if one.startswith("tasks/sink.0/0/sink/"))[-1]
    return members, name, members.members[name].splitlines(keepends=True)


def test_a_write_that_is_another_is_shown_as_the_very_same_difference() -> None:
    members, name, lines = writes()
    at = len(lines) // 2
    line = json.loads(lines[at])
    line["record"][1] += 1
    lines[at] = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    damaged = bundle_of(members.with_(name, b"".join(lines)))
    whole = replay(damaged, task="sink.0", attempt=0)
    made = shrink(damaged, task="sink.0", attempt=0)
    for told in ("asked", "logged"):
        assert made.outcome.detail[told] == whole.detail[told]


def test_a_write_that_is_not_there_at_all_is_shown_by_members() -> None:
    """An excerpt's records would differ in something else."""
    members = one_failure(events=30, parallelism=1, depth=3, checkpoint_interval_ms=400, task="map-1.0", at_ms=4)
    name = max(
        (one for one in members.members if one.startswith("tasks/sink.0/0/sink/")), key=lambda one: (len(one), one)
    )
    lines = members.members[name].splitlines(keepends=True)
    damaged = bundle_of(members.with_(name, b"".join(lines[:-1])))
    whole = replay(damaged, task="sink.0", attempt=0)
    assert whole.verdict == "diverged" and "ends before the write" in whole.sentence
    made = shrink(damaged, task="sink.0", attempt=0)
    assert made.of_what == "members" and made.left < made.of
    assert made.outcome.detail["member"] == name and "ends before the write" in made.outcome.sentence
