"""What lies around a step is found near it first, and is the same as by looking everywhere; answers are kept so long as
the steps are the same."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from dashboard.problems import as_sentence
from dashboard.queries import steps
from dashboard.queries.replay_overview import kind_counts
from dashboard.queries.written_once import once_written
from ingest.lake.engine import Row
from ingest.lake.step_reader import StepReader
from tests.many_steps import write

STEPS = 3_000
SQL = "SELECT step FROM steps WHERE kind = $kind AND step >= $first AND step < $end ORDER BY step {} LIMIT $limit"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> StepReader:
    folder = tmp_path_factory.mktemp("nearest") / "replay"
    folder.mkdir()
    write(folder, STEPS)
    return StepReader(folder)


def asked_of(reader: StepReader, sql: str, asked: dict[str, object], near: dict[str, int]) -> list[Row]:
    return list(reader.rows(sql, {**asked, **near}))


@pytest.mark.parametrize("seed", range(4))
def test_near_or_far_the_nearest_are_found(reader: StepReader, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "NEAR_STEPS", 1 + seed * 7)
    rng = random.Random(seed)
    whole = {kind.kind: list[int]() for kind in kind_counts(reader)} | {"nothing": []}
    for row in reader.between(0, reader.steps):
        whole[row["kind"]].append(row["step"])
    for _ in range(25):
        kind, step, wanted = rng.choice(sorted(whole)), rng.randrange(reader.steps + 2), rng.randrange(1, 30)
        back = rng.random() < 0.5
        sql, asked = SQL.format("DESC" if back else ""), {"kind": kind, "limit": wanted}
        ask = partial(asked_of, reader, sql, asked)
        found = steps.nearest(reader, step, back, wanted, ask)
        if back:
            expected = [one for one in whole[kind] if one <= step][::-1][:wanted]
        else:
            expected = [one for one in whole[kind] if one > step][:wanted]
        assert [row[0] for row in found] == expected, f"seed {seed}: {kind}, step {step}, back {back}, {wanted} of them"


def test_what_is_kept_is_asked_again_when_other_steps_are_written(tmp_path: Path) -> None:
    folder = tmp_path / "replay"
    folder.mkdir()
    write(folder, 1_000)
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        return sum(kind.steps for kind in kind_counts(StepReader(folder)))

    assert [once_written(StepReader(folder), "all", ask) for _ in range(3)] == [StepReader(folder).steps] * 3
    assert len(asked) == 1
    write(folder, 2_000)
    assert once_written(StepReader(folder), "all", ask) == StepReader(folder).steps > 1_500
    assert len(asked) == 2


def test_a_sentence_begins_with_a_capital_unless_a_name_begins_it() -> None:
    assert as_sentence("the recording ended.") == "The recording ended."
    assert as_sentence("a replay needs more.") == "A replay needs more."
    for name in ("join.0 has no attempt 77.", "map-1.0>sink.0 is not there.", "tasks/a/0: damaged", ""):
        assert as_sentence(name) == name
