"""Questions to a replay's steps, compared with what plain Python says of the same steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.api.failures import problem_of
from dashboard.api.schemas import Step
from dashboard.problems import Problem
from dashboard.queries import effects, find, hit_rows, hits, key_count, state, steps, why
from ingest.lake.step_reader import StepReader
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import StepRow
from replay.debugger.searching.conditions import WrongSearch
from replay.debugger.searching.language import parsed
from tests.ingest.test_steps import Written

COUNT = 400


@pytest.fixture(scope="module", params=["being written", "finished"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Written, StepReader]:
    folder = tmp_path_factory.mktemp("steps") / "replay"
    sink = ParquetStepSink(folder)
    written = Written(sink, seed=5)
    written.write(0, COUNT // 2)
    sink._write_chunk()
    written.write(COUNT // 2, COUNT)
    if request.param == "finished":
        sink.finish()
    else:
        sink._write_chunk()
    return written, StepReader(folder)


@pytest.fixture(autouse=True)
def empty_lake(tmp_path: Path, settings: Any) -> None:
    settings.LAKE_ROOT = tmp_path


@pytest.mark.parametrize("step", [0, 1, COUNT // 2, COUNT - 1])
@pytest.mark.parametrize("prefix", ["", "count/1", "count/2", "nothing"])
def test_state_pages_put_together_are_the_state(made: tuple[Written, StepReader], step: int, prefix: str) -> None:
    written, reader = made
    last: dict[str, tuple[str | None, int]] = {}
    for number, _task, key, _before, after in written.changes:
        if number <= step and key.startswith(prefix):
            last[key] = (after, number)
    wanted = [(key, value, at) for key, (value, at) in sorted(last.items()) if value is not None]
    for limit in (1, 7, 1000):
        entries, cursor = state.after(reader, step, prefix, "", limit)
        while cursor is not None:
            more, cursor = state.after(reader, step, prefix, cursor, limit)
            entries += more
        assert [(entry["key"], entry["value"], entry["step"]) for entry in entries] == wanted


@pytest.mark.parametrize("block_steps", [1 << 16, 64])
def test_the_keys_of_the_state_are_counted(
    made: tuple[Written, StepReader], block_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_count, "BLOCK_STEPS", block_steps)
    monkeypatch.setattr(key_count, "_BLOCKS_SQL", key_count._BLOCKS_SQL.replace(str(1 << 16), str(block_steps)))
    monkeypatch.setattr(key_count, "once_written", lambda written, question, ask: ask())
    written, reader = made
    for step in (0, 1, 63, 64, COUNT // 2, COUNT - 1):
        last = {key: after for number, _task, key, _before, after in written.changes if number <= step}
        assert key_count.key_count(reader, step) == sum(after is not None for after in last.values())


def test_a_list_of_hits_holds_what_became_of_the_keys_that_were_searched_for(made: tuple[Written, StepReader]) -> None:
    written, reader = made
    key = written.changes[len(written.changes) // 2][2]
    wanted = [(number, before, after) for number, _task, one, before, after in written.changes if one == key]
    search = parsed(f'change(key = "{key}")')
    shown = hit_rows.hits_around(reader, search, wanted[-1][0], 3)
    assert (shown.total, shown.first) == (len(wanted), max(0, len(wanted) - 3))
    told = [(one.row["step"], change.before, change.after) for one in shown.rows for change in one.changes]
    assert told == wanted[-3:]
    assert {change.key for one in shown.rows for change in one.changes} == {key}
    plain = hit_rows.hits_from(reader, parsed("anything"), 5, 4)
    assert [(one.row["step"], one.changes) for one in plain] == [(step, []) for step in range(5, 9)]


@pytest.mark.parametrize(
    ("search", "why"),
    [
        ("kind = deliver-recrod", "No step here has kind deliver-recrod; the nearest is deliver-record."),
        ("enters Runing", "No step here has state Runing"),
        ("kind in (nonsense, deliver-record) and step < 0", "No step here has kind nonsense"),
        ("determinant = ordre", "No step here has determinant ordre; the nearest is order."),
        ("kind = deliver-record and step > 999999", ""),
        ("step = 999999", ""),
        ("divergence or determinant = rng", ""),
    ],
)
def test_no_hit_because_of_a_name_that_no_step_bears_is_told(
    made: tuple[Written, StepReader], search: str, why: str
) -> None:
    *_, last = hits.all_hits(made[1], parsed(search), 10)
    assert last["hits"] == 0
    assert last.get("why", "").startswith(why) and ("why" in last) == bool(why)


def test_why_goes_back_by_every_cause(made: tuple[Written, StepReader]) -> None:
    written, reader = made
    causes: dict[int, set[str]] = {}
    for step, cause in written.causes:
        causes.setdefault(step, set()).add(cause)
    for step in (0, 1, 17, COUNT - 1):
        for depth in (1, 3):
            reached, edge, links = {step}, {step}, set()
            for _ in range(depth):
                found = {(at, cause) for at in edge for cause in causes.get(at, ())}
                links |= {(f"step:{at}", cause) for at, cause in found}
                edge = {int(cause[5:]) for _, cause in found if cause.startswith("step:")} - reached
                reached |= edge
            said = why.chain(reader, "j_none", step, depth)
            assert {(link["effect"], link["cause"]) for link in said["links"]} == links
            assert {int(c["ref"][5:]) for c in said["causes"] if c["ref"].startswith("step:")} == reached


def test_why_says_how_much_it_leaves_out(made: tuple[Written, StepReader], monkeypatch: pytest.MonkeyPatch) -> None:
    _, reader = made
    monkeypatch.setattr(why, "MOST_CAUSES", 5)
    said = why.chain(reader, "j_none", COUNT - 1, 50)
    assert len(said["causes"]) <= 7 and said["left_out"] > 0


def test_effects_are_causes_read_the_other_way(made: tuple[Written, StepReader]) -> None:
    written, reader = made
    for step in (0, 3, 50, COUNT - 1):
        wanted = sorted({at for at, cause in written.causes if cause == f"step:{step}"})
        assert [row["step"] for row in effects.of(reader, step)["steps"]] == wanted


CONDITIONS: list[tuple[dict[str, Any], Any]] = [
    ({}, lambda row: True),
    ({"epoch": 3}, lambda row: row["epoch"] == 3),
    ({"epoch": {"ge": 2, "lt": 5}, "kind": "deliver-record"}, lambda row: 2 <= row["epoch"] < 5),
    ({"record_count": {"in": [7, 13]}}, lambda row: row["record_count"] in (7, 13)),
    ({"text": {"contains": "Record 12"}}, lambda row: "Record 12" in row["text"]),
    ({"any": [{"step": 5}, {"step": {"gt": 395}}]}, lambda row: row["step"] == 5 or row["step"] > 395),
    ({"not": {"epoch": {"ne": 7}}}, lambda row: row["epoch"] == 7),
    ({"not": {"log": "main"}}, lambda row: row["log"] != "main"),
    ({"log": None, "all": [{"epoch": 1}]}, lambda row: row["log"] is None and row["epoch"] == 1),
    ({"kind": "diverge"}, lambda row: False),
]


@pytest.mark.parametrize(("where", "meets"), CONDITIONS, ids=[json.dumps(where) for where, _ in CONDITIONS])
def test_find_gives_the_nearest(made: tuple[Written, StepReader], where: dict[str, Any], meets: Any) -> None:
    _, reader = made
    hits = [row["step"] for row in reader.between(0, COUNT) if meets(row)]
    for at in (-1, 0, 5, 100, 395, COUNT):
        after = find.nearest(reader, after=at, before=None, where=json.dumps(where))
        assert (after and after["step"]) == next((hit for hit in hits if hit > at), None)
        if at >= 0:
            before = find.nearest(reader, after=None, before=at, where=json.dumps(where))
            assert (before and before["step"]) == next((hit for hit in reversed(hits) if hit < at), None)


@pytest.mark.parametrize(
    "where",
    [
        "",
        "[]",
        "{",
        '{"nonsense": 1}',
        '{"epoch": "1"}',
        '{"kind": 1}',
        '{"epoch": true}',
        '{"epoch": {"like": 1}}',
        '{"epoch": {"contains": 1}}',
        '{"any": []}',
        '{"any": {}}',
        '{"epoch": {"in": []}}',
        f'{{"epoch": {2**70}}}',
        '{"text": "' + "x" * 10_000 + '"}',
        '{"not": ' * 20 + "{}" + "}" * 20,
        "[" * 8_000,
        '{"all": [' + ",".join(['{"epoch": 1}'] * 200) + "]}",
    ],
)
def test_a_condition_that_cannot_be_is_refused(made: tuple[Written, StepReader], where: str) -> None:
    with pytest.raises(WrongSearch) as refused:
        find.nearest(made[1], after=0, before=None, where=where)
    problem = problem_of(refused.value)
    assert problem.status == 422 and problem.code == "bad-condition"


def test_values_in_conditions_go_in_as_values(made: tuple[Written, StepReader]) -> None:
    assert find.nearest(made[1], after=-1, before=None, where=json.dumps({"kind": "' OR 1=1 --"})) is None


@pytest.mark.parametrize("bins", [1, 7, 400, 2_000])
def test_all_hits_by_place_and_how_many(made: tuple[Written, StepReader], bins: int) -> None:
    _, reader = made
    *pieces, end = hits.all_hits(reader, parsed("record in (7, 13) and epoch >= 2"), bins)
    wanted = [row["step"] for row in reader.between(0, COUNT) if row["record_count"] in (7, 13) and row["epoch"] >= 2]
    count = min(bins, COUNT)
    assert end == {"hits": len(wanted), "steps": COUNT, "bin_count": count, "complete": reader.complete}
    found = [tuple(one) for piece in pieces for one in piece["bins"]]
    by_bin = {bin_: [hit for hit in wanted if hit * count // COUNT == bin_] for bin_ in range(count)}
    assert found == [(bin_, len(some), some[0], some[-1]) for bin_, some in by_bin.items() if some]


def test_a_step_that_is_not_there_is_said(made: tuple[Written, StepReader]) -> None:
    with pytest.raises(Problem) as missing:
        steps.check_written(made[1], COUNT)
    assert missing.value.status == 404 and str(COUNT) in missing.value.message


def test_steps_have_the_columns_that_the_api_types() -> None:
    assert list(Step.model_fields) == steps.COLUMNS == list(StepRow._fields)
