"""What moves an operator in other surroundings is found, with its line; what follows from the log moves nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ingest.jobs.hunting.perturbation import Attempt, perturb
from ingest.lake.step_reader import StepReader
from ingest.launch import ReplayRequest, run_replay
from replay.bundle.reader import open_bundle
from replay.jobs.catalogue import JOBS
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from replay.simulation.commands import random_options
from tests.packages.installing import install, write_package
from tests.replay.debugger.hunting.planting import HIDDEN, PLANTED, marked, names_of, recorded, shop

pytestmark = pytest.mark.slow

# By operator: the surroundings in which its outputs move. What is missing here must not move at all.
MOVES = {
    **dict.fromkeys(("Clock", "ClockByName", "ClockInArguments", "Today", "Now", "UtcNow", "Local"), ("clock",)),
    **dict.fromkeys(("ModuleRandom", "Choice", "UnseededInModule", "UnseededOfItsOwn"), ("random",)),
    **dict.fromkeys(("Uuid4", "Urandom", "Secrets"), ("random",)),
    **dict.fromkeys(("Environment", "Getenv"), ("environment",)),
    **dict.fromkeys(("SetOrder", "ListOfASet", "SetInState", "HashOfText"), ("hash seed",)),
    **dict.fromkeys(("Identity", "Process"), ("again",)),
    "InAnotherModule": ("clock",),
    "Uuid1": ("clock", "random"),
    "Listing": ("listing",),
}
# Of those that are easily missed: what is not heard, some that are, and what must not move.
HIDDEN_MOVES = {
    **dict.fromkeys(("ByArguments", "Partial", "ByC", "OnTimer"), ("clock",)),
    **dict.fromkeys(("NumpyShared", "NumpyOfTheModule", "SystemDice"), ("random",)),
    **dict.fromkeys(("IdentityInASet", "DatabaseInMemory"), ("again",)),
    **dict.fromkeys(("CountsInModule", "CountsInClass", "NumpySeededInModule"), ("kept",)),
    "Seeded": (),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with shop(tmp_path_factory.mktemp("packages")) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        yield folder


def written(folder: Path, operator: str, **options: Any) -> Path:
    for name, data in recorded(operator, **options).members.items():
        file = folder / "bundle" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder / "bundle"


def perturbed(folder: Path, operator: str) -> dict[str, Any]:
    attempt = Attempt(str(written(folder, operator)), "map-1.0", 0, ["SHOP_CURRENCY"])
    return perturb(attempt, folder / "hunt.log")


@pytest.mark.parametrize("name", [one for one in names_of() if one != "Planted"])
def test_what_moves_an_output_is_found_with_its_line(path: Path, tmp_path: Path, name: str) -> None:
    report = perturbed(tmp_path, f"{PLANTED}:{name}")
    assert tuple(one["surroundings"] for one in report["moved"]) == MOVES.get(name, ())
    lines = {(file, line) for file, line, _ in marked(path, name)}
    for one in report["moved"]:
        assert (one["file"], one["line"]) in lines
        assert one["where"] == "map-1.0>sink.0" and one["one"] != one["other"]
        assert one["source"] in (path / one["file"]).read_text("utf-8")
    assert not report["enough"] and report["ended"] == ""


@pytest.mark.parametrize("name", sorted(HIDDEN_MOVES))
def test_what_is_not_heard_moves(path: Path, tmp_path: Path, name: str) -> None:
    report = perturbed(tmp_path, f"{HIDDEN}:{name}")
    assert tuple(one["surroundings"] for one in report["moved"]) == HIDDEN_MOVES[name]
    lines = {(file, line) for file, line, _ in marked(path, name, HIDDEN)}
    assert {(one["file"], one["line"]) for one in report["moved"]} <= lines
    assert report["calls"] > 20 and report["ended"] == ""


_LATER = """
from pathlib import Path

from replay.jobs.pass_through import PassThrough
from replay.model import Record

EXECUTIONS = Path(__file__).with_name("executions")


class Later(PassThrough):
    def open(self, context):
        super().open(context)
        with EXECUTIONS.open("a") as file:
            file.write("x")
        self.later = EXECUTIONS.stat().st_size > 2

    def on_record(self, record, context):
        value = {**record.value, "extra": "one way" if self.later else "another"}
        super().on_record(Record(record.key, record.timestamp, value, record.lineage), context)
"""


def test_what_is_otherwise_by_now_is_put_down_to_no_surroundings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what follows the second of the day: the same in the first two executions, and another one ever after."""
    write_package(tmp_path, "late", _LATER)
    install(tmp_path, "late", ["late.operators:Later = late.operators:Later"])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    bundle = written(tmp_path, "late.operators:Later")
    (tmp_path / "late" / "executions").write_text("")
    report = perturb(Attempt(str(bundle), "map-1.0", 0), tmp_path / "hunt.log")
    assert [one["surroundings"] for one in report["moved"]] == ["again"]


def recorded_as(options: RecordOptions, folder: Path) -> Path:
    record(options, folder / "bundle", protocols=PROTOCOLS)
    return folder / "bundle"


@pytest.mark.parametrize("job", sorted(JOBS))
def test_nothing_moves_in_a_sample_job(tmp_path: Path, job: str) -> None:
    """Its vertices with most to choose: those between source and sink; of a random command line."""
    seed = 900 + list(JOBS).index(job)
    options = random_options(seed - seed % len(JOBS) + list(JOBS).index(job))
    assert options.job == job
    with open_bundle(recorded_as(options, tmp_path)) as bundle:
        middle = [task.id for task in bundle.graph.tasks if task.inputs and task.outputs]
        attempts = [(task, attempt) for task in middle for attempt in bundle.attempts(task)]
    task, attempt = Random(f"{seed}").choice(attempts)
    report = perturb(Attempt(str(tmp_path / "bundle"), task, attempt), tmp_path / "hunt.log")
    assert report["moved"] == [], f"{options.command()}: attempt {attempt} of {task}"


def hunted(folder: Path, operator: str) -> tuple[dict[str, Any], StepReader]:
    bundle = written(folder, operator)
    request = ReplayRequest(bundle, folder / "steps", failure=0, hunt=True)
    outcome = run_replay(request, folder / "replay.log")
    return outcome, StepReader(folder / "steps")


def test_a_hunted_replay_says_what_it_heard_and_what_moved_with_the_steps_of_both(path: Path, tmp_path: Path) -> None:
    outcome, steps = hunted(tmp_path, f"{PLANTED}:Clock")
    assert outcome["verdict"] == "diverged"
    found = outcome["detail"]["hunt"]
    ((file, line, _),) = marked(path, "Clock")
    (heard,) = found["readings"]
    assert (heard["file"], heard["line"], heard["kind"], heard["call"]) == (file, line, "clock", "time.time")
    # Past the first divergence too: once a record of the log.
    assert heard["count"] == steps.rows("SELECT count(*) FROM steps WHERE kind = 'deliver-record'")[0][0] > 10
    (moved,) = found["perturbed"]["moved"]
    assert (moved["surroundings"], moved["file"], moved["line"]) == ("clock", file, line)
    for one in (heard["step"], moved["step"]):
        row = steps.step(one)
        assert (row["kind"], row["epoch"], row["record_count"]) == ("deliver-record", heard["epoch"], heard["record"])
    assert found["sentence"] == (
        f"The operator reads past its log at line {line} of {file}: time.time. What it gives moves with the clock, "
        f"by line {line} of {file}."
    )


def test_a_hunt_of_what_is_as_it_should_be_finds_nothing_and_says_so(path: Path, tmp_path: Path) -> None:
    outcome, _ = hunted(tmp_path, f"{PLANTED}:Innocent")
    assert outcome["verdict"] == "identical"
    found = outcome["detail"]["hunt"]
    assert (found["readings"], found["perturbed"]["moved"]) == ([], [])
    assert found["sentence"] == "The operator reads nothing past its log, and nothing moves what it gives."


def test_a_hunt_without_the_operator_knows_nothing(tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = written(tmp_path, f"{PLANTED}:Clock")
    monkeypatch.setenv("PYTHONPATH", "")
    outcome = run_replay(ReplayRequest(bundle, tmp_path / "steps", failure=0, hunt=True), tmp_path / "replay.log")
    assert outcome["verdict"] == "unknown"
    assert "The operator was not executed" in outcome["detail"]["hunt"]["sentence"]


def test_tasks_that_failed_in_one_blow_are_hunted_each(path: Path, tmp_path: Path) -> None:
    bundle = written(tmp_path, f"{PLANTED}:Clock", parallelism=2, kills=("map-1.0@35+map-1.1@35",))
    request = ReplayRequest(bundle, tmp_path / "steps", failure=0, hunt=True)
    found = run_replay(request, tmp_path / "replay.log")["detail"]["hunt"]
    assert {one["task"] for one in found["perturbed"]["attempts"]} == {"map-1.0", "map-1.1"}
    ((file, line, _),) = marked(path, "Clock")
    assert [(one["file"], one["line"], one["call"]) for one in found["readings"]] == [(file, line, "time.time")]
    steps = StepReader(tmp_path / "steps")
    assert {(one["task"], one["line"]) for one in found["perturbed"]["moved"]} == {("map-1.0", line), ("map-1.1", line)}
    for one in found["perturbed"]["moved"]:
        row = steps.step(one["step"])
        assert (row["task"], row["kind"], row["record_count"]) == (one["task"], "deliver-record", one["record_count"])
