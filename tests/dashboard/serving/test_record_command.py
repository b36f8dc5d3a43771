"""`record` as a command: wrong options, and being ended half way."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.server_process import run_command, wait_until

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["nexmark-q99"], "no job 'nexmark-q99'"),
        (["pass-through", "--kill", "map-9.0@5"], "no task 'map-9.0'"),
        (["pass-through", "--kill", "map-1.0@99999999999999999999"], "between 0 and 86400000 ms"),
        (["pass-through", "--sharing-depth", "\u00b2"], "--sharing-depth"),
        (["pass-through", "--events", "-1"], "--events is -1"),
        (["pass-through", "--events", "1.5"], "--events is '1.5'. It must be a whole number between 1 and"),
        (["pass-through", "--rate-per-s", "fast"], "--rate-per-s is 'fast'. It must be a number between"),
        (["pass-through", "--kill", "host-99@5"], "there is no host-99 to fail"),
        (["pass-through", "--hosts", "1"], "there is only one host"),
        (["pass-through", "--hosts", "2", "--slots", "1"], "do not fit on 2 hosts of 1 slots"),
        (["pass-through", "--heartbeat-ms", "500"], "are missed after 500 ms"),
        (["windowed", "--window-ms", "86400000", "--slide-ms", "1"], "hold each record too often"),
        (
            ["pass-through", "--events", "50", "--state-mib", "1000", "--checkpoint-timeout-ms", "1"],
            "checkpoints after the last record were not complete after 1 ms",
        ),
    ],
)
def test_an_option_that_cannot_be_meant_so_is_wrong_usage(tmp_path: Path, options: list[str], says: str) -> None:
    out = tmp_path / "made" / "out.zip"
    out.parent.mkdir()
    ran = run_command(tmp_path / "data", "record", *options, "--out", str(out), "--json")
    assert ran.status == 2 and says in ran.err, ran.err
    assert says in json.loads(ran.out.splitlines()[-1])["error"]
    assert "Traceback" not in ran.err
    assert list(out.parent.iterdir()) == []


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """What is started in the background may have Ctrl-C ignored, and so would all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("name", ["out", "out.tar.gz"])
def test_a_recording_that_is_ended_half_way_leaves_nothing(tmp_path: Path, which: signal.Signals, name: str) -> None:
    folder = tmp_path / "made"
    folder.mkdir()
    command = [sys.executable, "manage.py", "record", "pass-through", "--events", "2000000"]
    environment = dict(os.environ, CLONOSCOPE_DATA=str(tmp_path / "data"))
    with subprocess.Popen([*command, "--out", str(folder / name)], cwd=ROOT, env=environment) as process:
        try:
            wait_until(lambda: any(folder.glob(".*/tree/*")), "the first members", 60)
            process.send_signal(which)
            assert process.wait(20) == 1
        finally:
            process.kill()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_recording_that_spills_and_is_ended_leaves_no_spilled_file(tmp_path: Path, which: signal.Signals) -> None:
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    command = [sys.executable, "manage.py", "record", "pass-through", "--events", "2000000", "--spill", "eager"]
    environment = dict(os.environ, CLONOSCOPE_DATA=str(tmp_path / "data"), TMPDIR=str(spilled))
    with subprocess.Popen([*command, "--out", str(tmp_path / "out")], cwd=ROOT, env=environment) as process:
        try:
            wait_until(lambda: any(spilled.glob("clonoscope-spill-*/*.spill")), "the first spilled buffers", 60)
            process.send_signal(which)
            assert process.wait(20) == 1
        finally:
            process.kill()
    assert list(spilled.iterdir()) == []


def test_a_recording_whose_parent_dies_leaves_nothing(tmp_path: Path) -> None:
    spilled, made = tmp_path / "spilled", tmp_path / "made"
    spilled.mkdir()
    made.mkdir()
    command = [sys.executable, "manage.py", "record", "pass-through", "--events", "2000000", "--spill", "eager"]
    environment = dict(os.environ, CLONOSCOPE_DATA=str(tmp_path / "data"), TMPDIR=str(spilled))
    options = ["--out", str(made / "out"), "--end-with-parent"]
    with subprocess.Popen([*command, *options], stdin=subprocess.PIPE, cwd=ROOT, env=environment) as process:
        try:
            wait_until(lambda: any(spilled.glob("clonoscope-spill-*/*.spill")), "the first spilled buffers", 60)
            assert process.stdin is not None
            process.stdin.close()  # as the kernel does for a parent that is no more
            assert process.wait(20) == 1
        finally:
            process.kill()
    assert [*spilled.iterdir(), *made.iterdir()] == []
