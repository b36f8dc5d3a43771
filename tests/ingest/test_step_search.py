"""Searches by SQL find what brute force finds: whatever is asked, forwards, backwards and all at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.lake import step_arrays, step_near, step_reader, step_search
from ingest.lake.errors import NotWritten, QueryTooLong
from ingest.lake.step_reader import StepReader
from ingest.lake.step_search import StepSearch, windows
from ingest.lake.steps import ParquetStepSink
from replay.debugger.ports import step_of
from replay.debugger.searching.language import parsed
from tests.ingest.searches import KINDS, Steps, compared, related, searches, where, written
from tests.ingest.test_steps import Written, a_step

pytestmark = pytest.mark.slow

WORLDS = 12


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Steps, StepReader]]:
    folder = tmp_path_factory.mktemp("worlds")
    return [written(seed, folder / str(seed)) for seed in range(WORLDS)]


@pytest.fixture(scope="module", autouse=True)
def small_windows() -> object:
    """So small that every search crosses some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_search, "FIRST_WINDOW_STEPS", 7)
        patch.setattr(step_search, "LARGEST_WINDOW_STEPS", 30)
        patch.setattr(step_arrays, "MOST_STEPS", 11)
        # Both ways of reading, and of looking beyond a stretch, are taken.
        patch.setattr(step_near, "MANY", 1_000)
        patch.setattr(step_near, "FEW", 2)
        patch.setattr(step_near, "LOOKED_UP", 3)
        patch.setattr(step_near, "SPARSE", 2)
        yield


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(search=searches(), number=st.integers(0, WORLDS - 1), places=st.lists(st.integers(-1, 90), max_size=3))
def test_every_search_finds_what_brute_force_finds(
    worlds: list[tuple[Steps, StepReader]],
    search: tuple[str, Callable[[Steps], list[int]]],
    number: int,
    places: list[int],
) -> None:
    steps, reader = worlds[number]
    text, brute_force = search
    hits = brute_force(steps)
    with StepSearch(reader, [parsed(text)]) as found:
        bins = 5
        by_bin: dict[int, list[int]] = {}
        for one in (one for window in found.binned(bins) for one in window):
            kept = by_bin.setdefault(one.bin, [0, one.first, one.last])
            kept[0] += one.hits
            kept[2] = one.last
        placed = {bin_: [hit for hit in hits if hit * bins // reader.steps == bin_] for bin_ in range(bins)}
        assert by_bin == {bin_: [len(some), some[0], some[-1]] for bin_, some in placed.items() if some}, text
        for place in (0, *places, len(hits)):
            first = max(0, place)
            assert found.numbered(first) == (len(hits), sum(hit < first for hit in hits)), text
            assert found.listed(first, 4) == hits[first : first + 4], text
        for place in (-1, 0, *places, *hits[:2], *hits[-2:], len(steps.rows)):
            assert found.after(place) == next((hit for hit in hits if hit > place), None), text
            assert found.before(max(0, place)) == next((h for h in reversed(hits) if h < max(0, place)), None), text
            assert found.at(place) == ([0] if place in hits else []), text


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(several=st.lists(searches(), min_size=2, max_size=4), number=st.integers(0, WORLDS - 1))
def test_of_several_searches_the_nearest_hit_of_any(
    worlds: list[tuple[Steps, StepReader]],
    several: list[tuple[str, Callable[[Steps], list[int]]]],
    number: int,
) -> None:
    steps, reader = worlds[number]
    each = [set(brute_force(steps)) for _, brute_force in several]
    hits = sorted(set.union(*each))
    with StepSearch(reader, [parsed(text) for text, _ in several]) as found:
        for place in (-1, 3, 20, len(steps.rows)):
            after = found.after(place)
            assert after == next((hit for hit in hits if hit > place), None), several
            assert found.before(max(0, place)) == next((h for h in reversed(hits) if h < max(0, place)), None), several
            if after is not None:
                assert found.at(after) == [i for i, one in enumerate(each) if after in one], several


def test_a_search_goes_on_when_files_are_compacted_away(tmp_path: Path) -> None:
    sink = ParquetStepSink(tmp_path / "replay")
    written = Written(sink, seed=4)
    for first in range(0, 90, 30):
        written.write(first, first + 30)
        sink._write_chunk()
    search = parsed("kind = deliver-record preceded by record = 5 in the same epoch every 2")
    with StepSearch(StepReader(tmp_path / "replay"), [search]) as found:
        pieces = found.binned(90)
        first = next(pieces)
        sink.finish()
        assert not list((tmp_path / "replay" / "steps").glob("chunk-*"))
        hits = [one.first for one in [*first, *(one for piece in pieces for one in piece)]]
    wanted = [n for n in range(90) if n % 50 > 5][::2]
    assert hits == wanted
    assert a_step(wanted[0]).record_count == 6


def test_what_is_kept_of_searches_is_bounded_and_made_again_where_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_reader, "TABLES_KEPT", 2)
    sink = ParquetStepSink(tmp_path / "replay")
    Written(sink, seed=4).write(0, 90)
    sink.finish()
    reader = StepReader(tmp_path / "replay")

    def kept() -> int:
        return len(reader.rows("SELECT 1 FROM duckdb_tables() WHERE table_name LIKE 'kept_%'"))

    text = "kind = deliver-record preceded by record = {} in the same epoch"
    with StepSearch(reader, [parsed(text.format(5))]) as one:
        assert one.after(-1) == 6
        for record in range(10, 15):
            with StepSearch(reader, [parsed(text.format(record))]) as another:
                assert another.after(-1) == record + 1
        assert kept() == 2
        assert one.after(6) == 7 and one.before(56) == 49
    with StepSearch(reader, [parsed(text.format(14))]) as again:
        assert again.after(-1) == 15
    assert kept() == 2


def test_what_determinants_say_cannot_be_asked_of_older_steps(tmp_path: Path) -> None:
    sink = ParquetStepSink(tmp_path / "replay")
    Written(sink, seed=4).write(0, 30)
    sink.finish()
    manifest = tmp_path / "replay" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"steps_version": 1}))
    reader = StepReader(tmp_path / "replay")
    with pytest.raises(NotWritten, match="replay again"):
        StepSearch(reader, [parsed("value = 3")])
    with StepSearch(reader, [parsed("epoch = 0")]) as found:
        assert found.after(-1) == 0


@pytest.mark.parametrize("scope", ["record", "epoch"])
@pytest.mark.parametrize("way", ["preceded", "not preceded", "followed", "not followed"])
def test_what_relates_most_of_all_steps_is_found_whole(
    way: str, scope: str, worlds: list[tuple[Steps, StepReader]]
) -> None:
    """Where one side is in every stretch: then all is read at once, with what it has in common."""
    for steps, reader in worlds:
        for kind in KINDS:
            text = f"(step > -1) {way} by kind = {kind} in the same {scope}"
            everything, others = where(lambda _: True), where(compared("kind", "=", kind))
            hits = related(everything, others, "preceded" in way, way.startswith("not"), [scope], None)(steps)
            with StepSearch(reader, [parsed(text)]) as found:
                assert set(found.listed(0, len(steps.rows))) == hits, text
                assert found.after(-1) == min(hits, default=None), text
                assert found.before(len(steps.rows)) == max(hits, default=None), text


def test_what_two_steps_have_in_common_may_be_any_number(tmp_path: Path) -> None:
    """As in a recording that is not what it seems: the numbers of both sides do not fit into one any more."""
    sink = ParquetStepSink(tmp_path / "replay")
    epochs, records = (-(2**63), -1, 0, 2**62, 2**63 - 1), (-(2**63), 0, 7, 2**63 - 1)
    places = [(epoch, record) for epoch in epochs for record in records] * 2
    for step, (epoch, record) in enumerate(places):
        kind = "take-buffer" if step < len(places) // 2 else "send-buffer"
        sink.step(step_of(a_step(step)._replace(kind=kind, epoch=epoch, record_count=record)))
    sink.finish()
    for text, hits in (("sent preceded by kind = take-buffer in the same record", range(20, 40)),
                       ("kind = take-buffer followed by sent in the same record within 20 steps", range(20)),
                       ("sent preceded by kind = take-buffer in the same record within 19 steps", ())):  # fmt: skip
        with StepSearch(StepReader(tmp_path / "replay"), [parsed(text)]) as search:
            found = [one.first for window in search.binned(40) for one in window]
            assert found == list(hits), text


def test_all_queries_of_one_question_share_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = ParquetStepSink(tmp_path / "replay")
    Written(sink, seed=4).write(0, 30)
    sink.finish()
    monkeypatch.setattr(step_search, "LIMITS", replace(step_search.LIMITS, timeout_s=0.0))
    text = "kind = deliver-record preceded by record = 5 in the same record"
    with StepSearch(StepReader(tmp_path / "replay"), [parsed(text)]) as search, pytest.raises(QueryTooLong):
        search.after(-1)


def test_values_go_in_as_values(tmp_path: Path) -> None:
    sink = ParquetStepSink(tmp_path / "replay")
    Written(sink, seed=4).write(0, 30)
    sink.finish()
    for value in ("' OR 1=1 --", '\\"; DROP VIEW steps', "$v0", "\0", "%"):
        text = "kind = " + json.dumps(value) if "\0" not in value else f"kind = '{value}'"
        with StepSearch(StepReader(tmp_path / "replay"), [parsed(text)]) as found:
            assert found.after(-1) is None


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (5, 3), (0, 1), (0, 500), (-500, 0), (-90, -3)])
def test_windows_cover_all_and_grow(begin: int, end: int) -> None:
    found = list(windows(begin, end))
    assert [step for first, last in found for step in range(first, last)] == list(range(begin, end))
    sizes = [last - first for first, last in found]
    assert sizes[:-1] == sorted(sizes[:-1])
