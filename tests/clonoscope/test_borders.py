"""Whatever a job calls its tasks, and however large its numbers: its bundle can be read, or says what is missing."""

import random
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope import fitting
from clonoscope.publishing import publish
from clonoscope.redaction import Redaction
from clonoscope.shapes import EVENT_FLAGS, EVENT_NUMBERS, EVENT_TEXTS, VERTEX, of_record, record_in, vertex_called
from ingest.lake.schema import EVENTS
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import Bundle, open_bundle
from replay.model import json_bytes
from tests.clonoscope.recorded import dumped, recording, takes_in
from tests.ingest.inprocess import ingested_here, rows_of

BORDERS = [2**power + more for power in (7, 8, 15, 16, 31, 32, 53, 62, 63, 64, 200) for more in (-1, 0, 1)]
NUMBERS: list[Any] = [-1, 0, 1, *BORDERS, *(-one for one in BORDERS), 65_533, 65_534, 70_000]
TEXTS: list[Any] = [
    "",
    " ",
    ".",
    "..",
    "a.",
    ".a",
    "a/b",
    "a\0b",
    "a\nb",
    "\ud800",
    "ä",
    "~",
    "CON",
    "x" * 300,
    "y" * 300_000,
]
OTHERS: list[Any] = [
    None,
    True,
    1.5,
    float("nan"),
    10**5000,
    b"\xff",
    [],
    [1],
    ["k", 1.5, 2],
    {"a": 1},
    {1: 2},
    object(),
]
NAMES = ["n", "t_us", "type", "at_us", "more", "logs", "x", *EVENT_NUMBERS, *EVENT_TEXTS, *EVENT_FLAGS]
KINDS = ["noticed", "metric", "recovery-state", "checkpoint-completed", "task-failed", "gap", "epoch-committed"]


def record_oddly(made: clonoscope.Recording, rng: random.Random) -> None:
    """One thing that a job may do, with whatever it has at hand."""

    def any_of(*more: list[Any]) -> Any:
        return rng.choice(rng.choice([NUMBERS, TEXTS, OTHERS, *more]))

    def record() -> Any:
        return rng.choice([any_of(), [any_of(), any_of(), any_of()], ["k", 0, any_of()], ["k", any_of(), 1]])

    named = rng.choice(["p", "p", any_of(TEXTS)])
    task = made.task(named, rng.choice([0, 0, any_of(NUMBERS, NUMBERS)]), operator=rng.choice(["", any_of(TEXTS)]))
    match rng.randrange(12):
        case 0:
            task.begin_epoch(any_of(NUMBERS), because=any_of())
        case 1:
            task.end_epoch(any_of(NUMBERS))
        case 2:
            task.take(any_of(NUMBERS), topic=any_of(TEXTS), partition=any_of(NUMBERS), record=record())
        case 3:
            first = any_of(NUMBERS)
            few = first + rng.randrange(3) if type(first) is int else any_of()
            task.take_range(first, rng.choice([few, 2**32, 2**40]), topic=any_of(TEXTS), sha256=any_of(TEXTS))
        case 4:
            task.output(record(), id=any_of(), source=any_of(), of=any_of(NUMBERS), topic=any_of(TEXTS))
        case 5:
            task.output(record(), source=[(any_of(), any_of())])
        case 6:
            task.outputs([record() for _ in range(rng.randrange(4))])
        case 7:
            task.message(any_of(TEXTS), any_of(), any_of(), timestamp=any_of(NUMBERS), id=any_of())
        case 8:
            task.state(any_of(NUMBERS), any_of())
        case 9:
            task.event(rng.choice([*KINDS, any_of(TEXTS)]), **{rng.choice(NAMES): any_of() for _ in range(3)})
        case 10:
            task.fail(any_of())
        case _:
            with task.at_work():
                clonoscope.external(lambda: any_of(), name=any_of(TEXTS))


def read_whole(bundle: Bundle) -> None:
    assert bundle.check_shape() == []
    list(bundle.events())
    for task in bundle.tasks():
        for attempt in bundle.attempts(task):
            for epoch in bundle.epochs(task, attempt, "main"):
                list(bundle.determinants(task, attempt, "main", epoch))


@pytest.mark.parametrize("settings", [{"payload": "full"}, {"redact": ["a"]}, {"retry": "replay"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_job_gives_its_bundle_can_be_read(seed: int, settings: dict[str, Any], tmp_path: Path) -> None:
    rng = random.Random(seed)
    with recording(tmp_path, key=b"0123456789abcdef", dump_on=(), **settings) as made:
        known = made.task("known")
        with known.epoch(0):
            for number in range(60):
                try:
                    record_oddly(made, rng)
                except clonoscope.WrongUse:
                    pass  # where it is given
                known.output(["k", 0, number])
        with dumped(made, tmp_path / "out.zip") as bundle:
            read_whole(bundle)
            tasks, whys = set(bundle.tasks()), [one.get("why") for one in bundle.events() if one["type"] == "gap"]
        missing = {path.name for path in (made.folder / "tasks").iterdir()} - {str(one) for one in tasks}
        assert bool(missing) is any("not in this bundle, as " in str(why) for why in whys), f"seed {seed}: {missing}"
    with open_container(tmp_path / "out.zip") as container:
        write_pack(container, tmp_path / "out.pack")
    job, result = ingested_here(tmp_path / "out.pack", tmp_path / "data")
    assert (result["status"], rows_of(job, "rejects")) == ("ready", []), f"seed {seed}"
    values = [row["value"] for row in rows_of(job, "sinks") if row["task"] == "known.0"]
    assert values == [str(number) for number in range(60)], f"seed {seed}"


@pytest.mark.parametrize("subtask", [65_535, 70_000, 2**40])
def test_a_subtask_whose_number_no_bundle_has_is_missing_and_is_said_to_be(subtask: int, tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        for number in (65_534, subtask):
            with made.task("orders", number).epoch(0) as task:
                task.output(["k", 0, number])
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert sorted(bundle.tasks()) == ["orders.65534", "outside.0"]
            (gap,) = [one for one in bundle.events() if one["type"] == "gap"]
    assert gap["why"] == f"not in this bundle, as a bundle numbers subtasks up to 65,534: orders.{subtask}"
    assert (gap["task"], gap["attempt"]) == ("outside.0", 0)
    assert made.faults == [f"orders.{subtask} will be in no bundle: a bundle numbers subtasks up to 65,534"]


def test_tasks_and_names_that_a_manifest_has_no_room_for_are_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "TASKS_MOST", 2)
    monkeypatch.setattr(fitting, "NAMES_MOST_BYTES", 30)
    with recording(tmp_path) as made:
        for number in range(4):
            with made.task("p", number).epoch(0) as task:
                for place in range(3):
                    task.take(number, topic=f"in-{place}")
        with dumped(made, tmp_path / "out.zip") as bundle:
            read_whole(bundle)
            assert sorted(bundle.tasks()) == ["outside.0", "p.0", "p.1"]
            whys = {one["task"]: one["why"] for one in bundle.events() if one["type"] == "gap"}
            named = {one.id: one.partitions for one in bundle.manifest.tasks}
    assert whys == {
        "outside.0": "not in this bundle, as a bundle has at most 2 tasks: p.2, p.3",
        "p.1": "3 of its inputs are not named, as a manifest has no room for them",
    }
    assert (named["p.0"], named["p.1"]) == (("in-0[0]", "in-1[0]", "in-2[0]"), ("?", "?", "?"))


def test_a_run_of_more_records_than_a_determinant_counts_is_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "RECORDS_MOST", 10)
    monkeypatch.setattr(fitting, "LINES_MOST", 40)
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        task.take_range(0, 25, topic="in")
        task.take_range(100, 145, topic="in")
        with pytest.raises(clonoscope.WrongUse, match=r"at most 4,294,967,295 records, and not 4,294,967,296"):
            task.take_range(0, 1 << 32, topic="in")
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert [(one.first_offset, one.records) for one in takes_in(bundle, "p.0", 0, 0)] == [
                *((0, 10), (10, 10), (20, 5)),
                *((100, 10), (110, 10), (120, 10), (130, 10), (140, 5)),
            ]
            (gap,) = [one for one in bundle.events() if one["type"] == "gap"]
            assert gap["why"] == "45 records were taken at once, and there are lines for 40" and gap["task"] == "p.0"


@pytest.mark.parametrize(
    "odd", ["text", 7, None, [1, 2], ["k", 1.5, 2], ["k", 2**63, 2], [1, 2, 3, 4, 5], {"a": 1}], ids=str
)
def test_a_record_that_is_none_is_told_as_a_value_and_found_again(odd: Any) -> None:
    line = of_record(odd)
    assert line["bare"] is True and line["record"][1:] == [None, odd] and record_in(line) == odd
    assert of_record(["k", None, odd]) == {"record": ["k", None, odd]} and record_in({"record": odd}) == odd


def test_fields_of_events_are_those_that_are_ingested() -> None:
    kinds = {str(field.type): {one.name for one in EVENTS.schema if one.type == field.type} for field in EVENTS.schema}
    assert set(EVENT_NUMBERS) == kinds["int64"] - {"n", "t_us"} and set(EVENT_FLAGS) == kinds["bool"]
    assert set(EVENT_TEXTS) == kinds["string"] - {"type", "logs", "more"}


def test_an_engines_names_become_vertices_that_stay_apart() -> None:
    names = [".a", "a", "_a", "a/b", "a~b", "ä", "a\0", "\ud800", "", "~~2e~a", *TEXTS[1:8]]
    found = [vertex_called(name) for name in names]
    assert len(set(found)) == len(set(names)) and all(map(VERTEX.fullmatch, found)) and found[1:3] == ["a", "_a"]


@pytest.mark.parametrize(
    "settings",
    [
        {"code": {"a": float("nan")}},
        {"code": {"a": "\ud800"}},
        {"redact": ["\ud800"]},
        {"code": {"a": "x" * 2_000_000}},
    ],
)
def test_what_no_manifest_could_hold_is_refused_at_the_start(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(clonoscope.WrongUse):
        clonoscope.start("orders", dir=tmp_path, **settings)


def test_what_an_event_says_is_redacted_whatever_it_is_called_and_if_it_is_a_number() -> None:
    said = {"of": "ada", "task": "ada", "phone": 4912345, "records_in": 7, "more": None}
    left = Redaction(everything=True).event(said)
    assert (left["records_in"], left["more"]) == (7, None)
    assert all("redacted" in str(left[name]) for name in ("of", "task", "phone"))
    assert Redaction(["phone", "records_in"]).event(said).keys() == said.keys()
    named = Redaction(["phone", "records_in"]).event(said)
    assert named["of"] == "ada" and b"4912345" not in json_bytes(named) and named["records_in"] != 7


def test_code_that_an_earlier_version_took_is_left_out_of_the_bundle(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        clonoscope.time()
    (told,) = (made.folder / "processes").iterdir()
    told.write_bytes(told.read_bytes().replace(b'"code": {', b'"code": {"odd": "\\ud800", '))
    with open_bundle(publish(made.folder, tmp_path / "out.zip")) as bundle:
        assert bundle.manifest.raw["code"] == {}
