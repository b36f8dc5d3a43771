"""An operator that uses more than it may ends its replay with a sentence, and the steps up to there can be read."""

import errno
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ingest.jobs.confined import MOST_PRINTED
from ingest.jobs.limits import MAPPED_BYTES, LimitReached, limit_behind
from ingest.lake.step_reader import StepReader
from ingest.launch import ReplayChildDied, ReplayFailed, ReplayLimits, ReplayRequest, run_replay
from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.packages.installing import install
from tests.packages.shop import operators as shop

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    record(RecordOptions(seed=7, events=1000, kills=("map-1.0@300",)), folder / "bundle", protocols=PROTOCOLS)
    return folder / "bundle"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the sample package is installed, for children."""
    names = [name for name, one in vars(shop).items() if isinstance(one, type) and one.__module__ == shop.__name__]
    folder = install(tmp_path / "packages", "shop", [f"{name} = shop.operators:{name}" for name in names])
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@dataclass
class Ended:
    sentence: str
    steps: int


def replayed(recorded: Path, folder: Path, operator: str, **limits: int) -> dict:
    """With the recording's maps made by that operator of the package."""
    manifest = (recorded / "job.json").read_bytes()
    changed = manifest.replace(b"replay.jobs.pass_through:PassThrough", f"shop.operators:{operator}".encode())
    assert changed != manifest
    (recorded / "job.json").write_bytes(changed)
    try:
        container = open_container(recorded)
        write_pack(container, folder / "bundle.pack")
        container.close()
    finally:
        (recorded / "job.json").write_bytes(manifest)
    request = ReplayRequest(folder / "bundle.pack", folder / "steps", failure=0, limits=ReplayLimits(**limits))
    return run_replay(request, folder / "replay.log")


def ended(recorded: Path, folder: Path, operator: str, **limits: int) -> Ended:
    with pytest.raises(ReplayFailed) as failed:
        replayed(recorded, folder, operator, **limits)
    reader = StepReader(folder / "steps")
    assert not reader.complete
    rows = reader.between(0, reader.steps)
    assert [row["step"] for row in rows] == list(range(reader.steps))
    return Ended(str(failed.value), reader.steps)


def test_an_installed_operator_is_executed_in_the_child(path: Path, recorded: Path, tmp_path: Path):
    outcome = replayed(recorded, tmp_path, "Prices")
    assert outcome["verdict"] == "identical", outcome["sentence"]


@pytest.mark.parametrize(
    ("operator", "limits", "which", "at"),
    [
        ("Loops", {"cpu_s": 2}, "2 s of CPU time (CLONOSCOPE_REPLAY_CPU_S)", "while True"),
        ("Loops", {"wall_s": 2}, "2 s (CLONOSCOPE_REPLAY_WALL_S)", "while True"),
        ("Sleeps", {"wall_s": 2}, "2 s (CLONOSCOPE_REPLAY_WALL_S)", "time.sleep"),
        ("Hoards", {"memory_bytes": 400 << 20}, "400 MiB of memory (CLONOSCOPE_REPLAY_MEMORY_BYTES)", "hoard.append"),
        ("FillsTheDisk", {"file_bytes": 20 << 20}, "20 MiB for one file (CLONOSCOPE_REPLAY_FILE_BYTES)", "file."),
        ("OpensAll", {"open_files": 64}, "64 open files (CLONOSCOPE_REPLAY_OPEN_FILES)", "files.append"),
    ],
)
def test_a_limit_ends_the_replay_with_a_sentence_and_its_steps_stay(
    path: Path, recorded: Path, tmp_path: Path, operator: str, limits: dict[str, int], which: str, at: str
):
    found = ended(recorded, tmp_path, operator, **limits)
    assert f"ended at its limit of {which} after {found.steps:,} steps" in found.sentence
    where = found.sentence.partition(" steps, in ")[2].removesuffix(".")
    file, _, line = where.rpartition(", line ")
    assert file == "shop/operators.py"
    assert at in (path / file).read_text().splitlines()[int(line) - 1]
    # As far as the operator came, and not only what was written for other reasons.
    assert StepReader(tmp_path / "steps").rows("SELECT count(*) > 100 FROM steps WHERE kind = 'deliver-record'")[0][0]


def test_an_operator_that_swallows_its_end_is_ended(path: Path, recorded: Path, tmp_path: Path):
    found = ended(recorded, tmp_path, "LetsNothingEndIt", cpu_s=2)
    assert "2 s of CPU time" in found.sentence and "lets nothing end it" in found.sentence
    assert found.steps > 100


def test_c_code_that_holds_the_interpreter_is_ended_from_outside(path: Path, recorded: Path, tmp_path: Path):
    with pytest.raises(ReplayFailed, match="limit of 1 s of CPU time"):
        replayed(recorded, tmp_path, "LoopsInC", cpu_s=1)


def test_an_operator_that_exits_is_a_result_and_no_death(path: Path, recorded: Path, tmp_path: Path):
    outcome = replayed(recorded, tmp_path, "Exits")
    assert outcome["verdict"] == "diverged" and "SystemExit" in outcome["sentence"]


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ("KillsItsParent", "may send signals only to itself and to programs that it started"),
        ("KillsEverybody", "may send signals only to itself and to programs that it started"),
        ("Forks", "may not be forked"),
        ("Recurses", "RecursionError"),
    ],
)
def test_what_would_harm_others_is_an_operators_fault_with_its_line(
    path: Path, recorded: Path, tmp_path: Path, operator: str, said: str
):
    outcome = replayed(recorded, tmp_path, operator)
    assert outcome["verdict"] == "diverged" and said in outcome["sentence"], outcome["sentence"]
    line = outcome["detail"]["line"]
    assert line["file"] == "shop/operators.py" and line["function"].startswith(f"{operator}.")
    assert StepReader(tmp_path / "steps").complete


@pytest.mark.parametrize("operator", ["LeavesThreads", "Floods", "StartsPrograms"])
def test_what_an_operator_leaves_behind_ends_with_its_replay(
    path: Path, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operator: str
):
    monkeypatch.setenv("SHOP_LEFT_BEHIND", str(tmp_path / "pid"))
    outcome = replayed(recorded, tmp_path, operator)
    assert outcome["verdict"] == "identical", outcome["sentence"]
    log = (tmp_path / "replay.log").read_text()
    assert len(log) < 2 * MOST_PRINTED
    assert ("what follows is left out" in log) == (operator == "Floods") and "replay ended after" in log
    if operator == "StartsPrograms":
        assert not_running(int((tmp_path / "pid").read_text()))


def not_running(pid: int) -> bool:
    """It is gone, or waits for whoever inherited it to take note."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_what_is_raised_past_everything_ends_the_replay_with_a_sentence(path: Path, recorded: Path, tmp_path: Path):
    found = ended(recorded, tmp_path, "RaisesPastAll")
    assert "ended by GeneratorExit: no more after" in found.sentence and "in shop/operators.py, line " in found.sentence
    assert found.steps > 100


@pytest.mark.parametrize("operator", ["LeavesAtOnce", "ClosesEverything"])
def test_a_child_that_an_operator_ends_is_told_of_and_its_steps_stay(
    path: Path, recorded: Path, tmp_path: Path, operator: str
):
    with pytest.raises(ReplayChildDied, match="ended in the middle of its work"):
        replayed(recorded, tmp_path, operator)
    reader = StepReader(tmp_path / "steps")
    assert not reader.complete
    assert [row["step"] for row in reader.between(0, reader.steps)] == list(range(reader.steps))


def test_an_operator_that_lets_no_signal_through_is_ended_from_outside(path: Path, recorded: Path, tmp_path: Path):
    with pytest.raises(ReplayFailed, match="limit of 1 s of CPU time"):
        replayed(recorded, tmp_path, "IgnoresSignals", cpu_s=1)


def test_an_operator_that_is_not_installed_is_named(recorded: Path, tmp_path: Path):
    outcome = replayed(recorded, tmp_path, "Prices")
    assert outcome["verdict"] == "unknown"
    assert "'shop.operators:Prices' of vertex map-1 is not installed here" in outcome["sentence"]
    assert outcome["detail"]["operator"] == "shop.operators:Prices"
    kinds = {row[0] for row in StepReader(tmp_path / "steps").rows("SELECT DISTINCT kind FROM steps")}
    assert {"transition", "take-determinant"} <= kinds and "deliver-record" not in kinds


def test_a_child_that_is_killed_before_its_limit_did_not_reach_it(path: Path, recorded: Path, tmp_path: Path):
    def kill(progress) -> None:
        from tests.ingest.test_replay_child import children

        for pid in children():
            os.kill(pid, signal.SIGKILL)

    request = ReplayRequest(recorded, tmp_path / "steps", failure=0)
    with pytest.raises(ReplayChildDied, match="SIGKILL"):
        run_replay(request, tmp_path / "replay.log", kill)


def test_a_limit_is_seen_behind_whatever_it_came_wrapped_in():
    def wrapped(fault: BaseException) -> BaseException:
        try:
            try:
                raise fault
            except BaseException as caught:
                raise RuntimeError("in the operator's words") from caught
        except RuntimeError as outer:
            return outer

    assert limit_behind(wrapped(MemoryError())) == "memory"
    assert limit_behind(wrapped(LimitReached("time"))) == "time"
    assert limit_behind(wrapped(OSError(errno.EMFILE, ""))) == "open files"
    assert limit_behind(wrapped(OSError(errno.ENOENT, ""))) is None


def test_limits_are_set_and_never_raised():
    script = (
        "import resource, json; from ingest.jobs.limits import limit_resources; "
        "from ingest.replay_limits import ReplayLimits\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 4096)); limit_resources(ReplayLimits(), print)\n"
        "print(json.dumps([resource.getrlimit(getattr(resource, 'RLIMIT_' + n))[0] for n in "
        "('AS', 'DATA', 'CORE', 'NOFILE', 'FSIZE', 'CPU')]))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    usual = ReplayLimits()
    expected = [usual.memory_bytes + MAPPED_BYTES, usual.memory_bytes, 0, 100, usual.file_bytes, usual.cpu_s]
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize("value", ["-1", "0", "x"])
def test_a_limit_that_is_none_is_refused_when_the_server_starts(value: str, tmp_path: Path):
    """-1 would be no limit at all to the system."""
    environment = {**os.environ, "CLONOSCOPE_REPLAY_CPU_S": value, "CLONOSCOPE_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "manage.py", "jobs"], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and "CLONOSCOPE_REPLAY_CPU_S is " in done.stderr
    assert "Traceback" not in done.stderr
