"""What a recording keeps, what it lets go, what it does when the disk does not: never at the job's cost."""

import json
import logging
import os
import resource
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import clonoscope
from clonoscope import Recording
from clonoscope.command import main
from clonoscope.reading import attempts_of, processes_of, size_of
from clonoscope.words import EPOCH, HEADER_WORDS, WORD_BYTES
from replay.bundle.reader import open_bundle
from tests.clonoscope.recorded import calls_in, dumped, recording, takes_in, values_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Segments of 4 KiB."""
    monkeypatch.setattr(Recording, "segment_bytes", 4096)
    return 4096


def gaps_of(folder: Path, task: str = "p.0", attempt: int = 0) -> list[tuple[int | None, str]]:
    log = next(one for one in attempts_of(folder) if (one.task, one.attempt) == (task, attempt))
    return [(entry.epoch, entry.fields["why"]) for entry in log.entries() if entry.kind == "gap"]


# --- what is kept ---


def test_a_ring_keeps_the_last_epochs_whole(small: int, tmp_path: Path) -> None:
    given: dict[int, list[int]] = {}
    with recording(tmp_path, keep=3) as made:
        for epoch in range(12):
            with made.task("p").epoch(epoch):
                given[epoch] = [clonoscope.time_ns() for _ in range(1000)]
        assert size_of(made.folder) < 5 * 9000
        with dumped(made, tmp_path / "out.zip") as bundle:
            epochs = bundle.epochs("p.0", 0, "main")
            kept = {epoch: [call["value"] for call in calls_in(bundle, "p.0", 0, epoch)] for epoch in epochs}
            (gap,) = [event for event in bundle.events() if event["type"] == "gap"]
    assert set(kept) >= {9, 10, 11} and len(kept) <= 4
    assert kept == {epoch: given[epoch] for epoch in kept}
    assert "were let go or are missing" in gap["why"] and gap["epoch"] < 9


def test_the_bound_holds_and_the_oldest_epochs_go_first(small: int, tmp_path: Path) -> None:
    most = 100_000
    with recording(tmp_path) as made:
        made.retention.max_bytes = most
        for epoch in range(40):
            with made.task("p").epoch(epoch):
                last = [clonoscope.time_ns() for _ in range(1000)]
            assert size_of(made.folder) <= most
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert [call["value"] for call in calls_in(bundle, "p.0", 0, 39)] == last
        assert made.faults == []


def test_an_epoch_larger_than_the_bound_keeps_its_beginning_and_a_gap(small: int, tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        made.retention.max_bytes = 50_000
        with made.task("p").epoch(0):
            given = [clonoscope.time_ns() for _ in range(20_000)]
        found = values_of(made.folder, "p.0")
        assert 2_000 < len(found) < 20_000 and found == given[: len(found)]
        (why,) = made.faults
        assert "max_mb" in why
        ((epoch, said),) = gaps_of(made.folder)
        assert epoch == 0 and "entries were dropped at the end" in said
        with made.task("p").epoch(1):
            again = [clonoscope.time_ns() for _ in range(10)]
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert [call["value"] for call in calls_in(bundle, "p.0", 0, 1)] == again


def test_a_segment_that_is_found_while_it_is_made_is_not_taken_for_an_old_one(small: int, tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        made.retention.max_bytes = 50_000
        take, paths = made._supply.take, []

        def found_at_once(*arguments: Any) -> Any:
            segment = take(*arguments)
            made.retention.look()  # as a thread does that works beside the job
            paths.append(segment.path)
            return segment

        made._supply.take = found_at_once  # type: ignore[method-assign]
        with made.task("p").epoch(0):
            for _ in range(20_000):
                clonoscope.time_ns()
    assert len(paths) > 10 and all(path.exists() for path in paths)


def test_what_fails_to_be_recorded_is_a_gap_where_it_was(tmp_path: Path) -> None:
    """Whatever it is: there is room for what comes before it and behind."""

    def failing() -> None:
        raise IndexError("s3cret")

    with recording(tmp_path) as made:
        log = made.task("p").log
        with made.task("p").epoch(0):
            given = []
            for _ in range(3):
                given.append(clonoscope.time_ns())
                log._guarded(failing)
    (read,) = attempts_of(made.folder)
    told = [entry for entry in read.entries() if entry.kind in ("call", "gap")]
    assert [entry.kind for entry in told] == ["call", "gap"] * 3 and log.dropped == 3
    assert [entry.fields["value"] for entry in told if entry.kind == "call"] == given
    assert "IndexError" in told[1].fields["why"] and "s3cret" not in told[1].fields["why"]


class Unspeakable(dict[str, Any]):
    """Of the job's own making."""

    def __repr__(self) -> str:
        raise RuntimeError("no word")


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
ODD: dict[str, Any] = {
    "an object": object(),
    "one that can't be said": Unspeakable(a=object()),
    "a circle": CIRCLE,
    "half of a pair": "\ud800",
    "a number of 5,000 digits": 10**5000,
    "no number": float("nan"),
    "names that are none": {1: 2, None: {(1, 2): 3}},
}


@pytest.mark.parametrize("settings", [{"payload": "full"}, {"redact": ["a"]}, {"retry": "replay"}], ids=str)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_however_odd_a_value_is_the_job_goes_on(odd: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    with recording(tmp_path, **settings) as made, made.task("p").epoch(0) as task:
        assert clonoscope.external(lambda: odd) is odd
        task.take(0, topic="in", record=["k", 0, odd])
        for record in (odd, ["k", 0, odd], [odd, 0, 1]):
            task.output(record)
            task.outputs([record, record])
        task.output(["k", 0, 1], id=odd)
        task.message("out", odd, odd, id=odd)
        task.state(1, odd)
        task.event("noticed", what=odd)
        last = clonoscope.time_ns()
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert calls_in(bundle, "p.0", 0, 0)[-1]["value"] == last


def test_records_in_order_cost_no_byte_and_one_question_costs_eight(tmp_path: Path) -> None:
    records = 20_000
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        for offset in range(records):
            task.take(offset, topic="in")
            clonoscope.time()
        used = (task.log.pos - HEADER_WORDS) * WORD_BYTES
        assert records * 8 <= used < records * 8 + 1000
        with dumped(made, tmp_path / "out.zip") as bundle:
            assert [(one.first_offset, one.records) for one in takes_in(bundle, "p.0", 0, 0)] == [
                (offset, 1) for offset in range(records)
            ]


def test_records_of_a_batch_are_taken_as_they_are_given(small: int, tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        given = [(record, clonoscope.time_ns()) for record in task.records(range(1000), 70, topic="in")]
        task.take(1070, topic="in")
        with dumped(made, tmp_path / "out.zip") as bundle:
            takes = [(one.first_offset, one.records) for one in takes_in(bundle, "p.0", 0, 0)]
            times = [call["value"] for call in calls_in(bundle, "p.0", 0, 0)]
    assert takes == [(offset, 1) for offset in range(70, 1071)]
    assert given == list(zip(range(1000), times, strict=True))


def test_ranges_and_hashes_of_records(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(4) as task:
        task.take_range(100, 1100, topic="in", partition=2, sha256="ab" * 32)
        clonoscope.time()
        task.take(1100, topic="in", partition=2, data=b"one")
        task.take(1101, topic="in", partition=2, data=b"two")
        with dumped(made, tmp_path / "out.zip") as bundle:
            takes = [(one.first_offset, one.records) for one in takes_in(bundle, "p.0", 0, 4)]
            lines = list(bundle.source("p.0", 0))
    assert takes == [(100, 1000), (1100, 2)] and len(lines) == 1002
    assert lines[-1]["ref"] == {"topic": "in", "partition": 2, "offset": 1101}
    with dumped(made, tmp_path / "again.zip") as bundle:
        hashes = [json.loads(line) for line in bundle.members.read("tasks/p.0/0/inputs/4.ndjson").splitlines()]
    assert [(one["first"], one["records"]) for one in hashes] == [(100, 1000), (1100, 2)]


def test_records_are_kept_whole_only_if_asked_for(tmp_path: Path) -> None:
    for payload, wanted in (
        ("full", {"record": ["k", 5, "value"]}),
        ("ref", {"ref": {"topic": "in", "partition": 0, "offset": 0}}),
    ):
        with recording(tmp_path, name=payload, payload=payload) as made, made.task("p").epoch(0) as task:
            task.take(0, topic="in", record=["k", 5, "value"])
        with dumped(made, tmp_path / f"{payload}.zip") as bundle:
            (line,) = bundle.source("p.0", 0)
        assert {key: line[key] for key in wanted} == wanted


# --- what must not leave ---


def test_redacted_paths_become_tokens_and_equal_values_equal_tokens(tmp_path: Path) -> None:
    secret = "ada@example.org"
    answer = {
        "customer": {"email": secret, "city": "London"},
        "others": [{"email": secret}, {"email": "eve@example.org"}],
    }
    with recording(tmp_path, redact=["customer.email", "others.email"], payload="full") as made:
        with made.task("p").epoch(0) as task:
            task.take(0, record=["k", 0, answer])
            assert clonoscope.external(lambda: answer) == answer
            task.output(["k", 0, answer])
            task.state(1, {"seen": answer, "customer": {"email": secret}})
        with dumped(made, tmp_path / "out") as bundle:
            (call,) = calls_in(bundle, "p.0", 0, 0)
            assert bundle.manifest.raw["redactions"] == ["customer.email", "others.email"]
    token, other = call["value"]["customer"]["email"], call["value"]["others"][1]["email"]
    assert set(token) == {"redacted"} and token != other and call["value"]["customer"]["city"] == "London"
    assert call["value"]["others"][0]["email"] == token
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"@example.org" not in everything and b"London" in everything


def test_without_payload_no_value_leaves(tmp_path: Path) -> None:
    # The line of a call is recorded: what is looked for must not stand in it.
    secrets = [f"secret-{number}" for number in range(8)]

    def broken() -> None:
        raise ValueError(secrets[7])

    with recording(tmp_path, payload="none") as made:
        with pytest.raises(ValueError, match=secrets[7]), made.task("p").epoch(0) as task:
            task.take(0, record=[secrets[1], 0, secrets[2]])
            clonoscope.external(lambda: [secrets[3]])
            task.output([secrets[4], 0, {secrets[5]: 1}])
            task.state(1, {secrets[6]: 1})
            clonoscope.external(broken)
        with dumped(made, tmp_path / "out") as bundle:
            given, raised = calls_in(bundle, "p.0", 0, 0)
    assert set(given["value"]) == {"redacted"} and raised["raised"]["type"] == "ValueError"
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"secret-" not in everything


# --- when the disk does not ---


def test_a_folder_that_cannot_be_made_is_no_fault_of_the_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING), recording(tmp_path / "file") as made, made.task("p").epoch(0) as task:
        task.take(0)
        assert clonoscope.external(lambda: 5) == 5 and 0 <= clonoscope.random() < 1
        task.output(["k", 0, clonoscope.time()])
    assert made.faults and task.log.dropped > 0
    assert "The job goes on" in caplog.text


def test_a_full_disk_is_a_gap_where_it_was(small: int, tmp_path: Path) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    with recording(tmp_path) as made, made.task("p").epoch(0) as task:
        given = [clonoscope.time_ns() for _ in range(100)]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, unlimited[1]))
        try:
            for _ in range(2000):
                dropped = task.log.dropped
                now = clonoscope.time_ns()
                given += [now] if task.log.dropped == dropped else []
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        lost = task.log.dropped
        while task.log.dropped != lost or len(given) < 700:
            lost = task.log.dropped
            now = clonoscope.time_ns()
            given += [now] if task.log.dropped == lost else []
        assert values_of(made.folder, "p.0") == given
        ((epoch, why),) = gaps_of(made.folder)
    assert epoch == 0 and lost >= 1400 and f"{lost:,} entries were dropped" in why and "File too large" in why


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"name": "a/b"}, "can't be called 'a/b'"),
        ({"keep": 0}, "keep is 0"),
        ({"max_mb": float("nan")}, "max_mb is nan"),
        ({"max_mb": 0.5}, "max_mb is 0.5"),
        ({"payload": "some"}, "one of full, ref, none"),
        ({"redact": ["a..b"]}, "the path 'a..b'"),
        ({"dump_on": ["crash", "fire"]}, "dump_on names 'fire'"),
        ({"dump_on": "crash"}, "dump_on is 'crash'"),
        ({"dump_on": None}, "dump_on is None"),
        # Of a text each letter would be a path, and nothing of what is meant redacted.
        ({"redact": "customer"}, "redact is 'customer'.* It is a list"),
        ({"redact": iter(["customer"])}, "redact is <list_iterator"),
        ({"redact": None}, "redact is None"),
        ({"allow": "order"}, "allow is 'order'"),
        ({"key": 7}, "neither bytes nor a file"),
        ({"max_mb": True}, "max_mb is True"),
        ({"sync": "yes"}, "sync is 'yes'"),
        ({"dir": None}, "dir is None"),
        ({"dir": "a\0b"}, "dir is "),
        ({"code": [1]}, "can be written as JSON"),
        ({"code": {"git": object()}}, "can be written as JSON"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_the_start(settings: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(clonoscope.WrongUse, match=said):
        clonoscope.start(**{"name": "orders", "dir": tmp_path} | settings)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("vertex", ["", "a/b", "..", "ä", ".hidden"])
def test_tasks_have_names_that_files_can_have(vertex: str, tmp_path: Path) -> None:
    with recording(tmp_path) as made, pytest.raises(clonoscope.WrongUse, match="a task can't be called"):
        made.task(vertex)


# --- processes, crashes, dumps ---


def run_script(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    code = f"import os, signal, clonoscope\nfolder = {str(folder)!r}\n" + textwrap.dedent(script)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_a_process_that_was_killed_is_followed_by_another_attempt(tmp_path: Path) -> None:
    script = """
        recording = clonoscope.start("orders", dir=folder, dump_on=["recovery"])
        with recording.task("p").epoch(3):
            clonoscope.time()
            if recording.task("p").attempt == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        recording.close()
    """
    assert run_script(tmp_path, script).returncode == -9
    second = run_script(tmp_path, script)
    assert second.returncode == 0, second.stderr
    first, last = processes_of(tmp_path / "orders")
    assert (first.alive, first.closed, last.alive, last.closed) == (False, False, False, True)
    (dump,) = (tmp_path / "orders" / "dumps").iterdir()
    with open_bundle(dump) as bundle:
        assert bundle.attempts("p.0") == (0,)
    assert main(["dump", str(tmp_path / "orders"), "--out", str(tmp_path / "both.zip")]) == 0
    with open_bundle(tmp_path / "both.zip") as bundle:
        events = [(one["type"], one["attempt"], one.get("cause"), one.get("failure")) for one in bundle.events()]
        assert not bundle.manifest.complete
        assert bundle.manifest.raw["code"]["python"] and "pytest" in bundle.manifest.raw["code"]["packages"]
    assert events == [
        ("attempt-started", 0, None, None),
        ("task-failed", 0, "its process ended without a word", 0),
        ("attempt-started", 1, None, 0),
        ("checkpoint-acknowledged", 1, None, None),
    ]


def test_a_crash_leaves_a_bundle(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        """
        recording = clonoscope.start("orders", dir=folder)
        with recording.task("p").epoch(0):
            clonoscope.time()
            raise RuntimeError("broken")
        """,
    )
    assert done.returncode == 1 and "RuntimeError: broken" in done.stderr
    (dump,) = (tmp_path / "orders" / "dumps").iterdir()
    with open_bundle(dump) as bundle:
        (failed,) = [event for event in bundle.events() if event["type"] == "task-failed"]
    assert failed["cause"] == "RuntimeError: broken"


def test_what_somebody_else_put_into_the_folder_is_passed_over(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        given = clonoscope.time_ns()
    (made.folder / "processes" / "notes.json").write_text("{}")
    (made.folder / "processes" / "1-2-3.json").write_text("[]")
    (made.folder / "tasks" / "lost" / "0").mkdir(parents=True)
    (made.folder / "tasks" / "p.0" / "mine").mkdir()
    with recording(tmp_path, dump_on=("recovery",)) as again:
        again.task("p")
        with dumped(again, tmp_path / "out.zip") as bundle:
            assert [call["value"] for call in calls_in(bundle, "p.0", 0, 0)] == [given]
        assert again.faults == []


def test_a_dump_that_fails_however_it_does_fails_no_job(tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        made.task("p").log.put_json(EPOCH, {"nothing": "of an epoch"})
        made.crashed()
        assert made.faults == ["no bundle could be written: KeyError"]


def test_a_child_that_records_nothing_leaves_nothing(tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        for asks in (True, False, True):
            child = os.fork()
            if child == 0:
                os._exit(0 if not asks or clonoscope.time() > 0 else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        found = processes_of(made.folder)
    assert [(one.alive, one.closed) for one in found] == [(True, False), (False, False), (False, False)]


def test_dumps_of_a_living_recording_grow(tmp_path: Path) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        sizes = []
        for _ in range(3):
            clonoscope.time()
            with open_bundle(made.dump()) as bundle:
                assert not bundle.manifest.complete
                sizes.append(len(calls_in(bundle, "p.0", 0, 0)))
    assert sizes == [1, 2, 3]


def test_the_command_shows_and_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with recording(tmp_path) as made:
        with made.task("p").epoch(7) as task:
            clonoscope.time()
            task.log.gap("the test says so")
        assert main(["show", str(made.folder)]) == 0
    shown = capsys.readouterr().out
    assert "p.0 attempt 0: epochs 7 to 7, 1 answers" in shown and "gap in epoch 7: the test says so" in shown
    assert main(["show", str(tmp_path)]) == 1
    assert "Below it are recordings: orders" in capsys.readouterr().err
    assert main(["dump", str(tmp_path / "nothing")]) == 1
    assert "here is no recording" in capsys.readouterr().err


def test_what_was_dropped_before_an_attempt_ended_is_a_gap_too(small: int, tmp_path: Path) -> None:
    with recording(tmp_path) as made:
        made.retention.max_bytes = 10_000
        with made.task("p").epoch(0):
            for _ in range(5_000):
                clonoscope.time_ns()
    ((epoch, why),) = gaps_of(made.folder)
    assert epoch == 0 and "entries were dropped at the end" in why


@pytest.mark.parametrize("left_words", [0, 1, 2, 9])
def test_an_end_that_has_no_room_in_its_segment_is_there_all_the_same(
    small: int, left_words: int, tmp_path: Path
) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        log = made.task("p").log
        clonoscope.time_ns()
        while log.pos < len(log.view) - left_words:
            clonoscope.time_ns()
    assert made.faults == [] and gaps_of(made.folder) == []
    (log_read,) = attempts_of(made.folder)
    ends = [entry.fields["how"] for entry in log_read.entries() if entry.kind == "end"]
    assert ends == ["closed"] and values_of(made.folder, "p.0")


def test_outputs_that_left_together_are_read_one_by_one_however_long_they_are(tmp_path: Path) -> None:
    """One that is no JSON, and one that no entry could hold, take none of the others with them."""
    many = [[None, 0, {"n": n, "text": "x" * 1000}] for n in range(1000)]
    with recording(tmp_path) as made, made.task("orders").epoch(0) as task:
        task.outputs([])
        task.outputs(many[:3])
        task.outputs([*many, [None, 0, {1, 2}], [None, 0, "y" * 300_000], *many[:2]])
    (log,) = [one for one in attempts_of(made.folder) if one.task == "orders.0"]
    found = list(log.entries())
    outputs = [one.fields for one in found if one.kind == "output"]
    assert all(one["source"] == [] for one in outputs)
    records = [one["record"] for one in outputs]
    assert [one for one in records if isinstance(one, list)] == [*many[:3], *many, *many[:2]]
    (odd,) = [one for one in records if not isinstance(one, list)]
    assert odd["redacted"].startswith("not JSON")
    (gap,) = [one.fields["why"] for one in found if one.kind == "gap"]
    assert "is longer than" in gap
