"""Every command: what it prints last with --json, its exit status, and that it works with and without a server."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import pytest
from django.core.management import call_command

from bench.server_process import ROOT, Ran, ServerProcess, processes_of, run_command, wait_until
from dashboard import replaying
from replay.bundle.containers import open_container
from replay.bundle.frames import RECEIPT_BYTES
from replay.bundle.reader import open_bundle


def last_object(ran: Ran) -> dict:
    return json.loads(ran.out.splitlines()[-1])


@pytest.mark.spark
def test_without_a_server_commands_do_the_work_themselves(data: Path, recording: Path, tmp_path: Path) -> None:
    ran = run_command(data, "ingest", str(recording), "--json")
    assert ran.status == 0, ran.err
    ingested = last_object(ran)
    assert ingested.keys() == {"job", "status", "rejects"}
    assert (ingested["status"], ingested["rejects"]) == ("ready", 0)
    wait_until(lambda: not list(processes_of(data)), "the end of what it started", 30)

    again = last_object(run_command(data, "ingest", str(recording), "--json"))
    assert again["job"] == ingested["job"]

    ran = run_command(data, "replay", ingested["job"], "--json")
    assert (ran.status, last_object(ran)["verdict"]) == (0, "identical"), ran.err
    ran = run_command(data, "replay", ingested["job"], "--failure", "9")
    assert ran.status == 1 and "no failure 9" in ran.err

    out = tmp_path / "exported.zip"
    ran = run_command(data, "export", ingested["job"], "--out", str(out), "--json")
    assert ran.status == 0, ran.err
    with open_bundle(out) as exported, open_bundle(recording) as original:
        assert exported.content_id() == original.content_id() == last_object(ran)["content_id"]
    with open_bundle(out) as exported, open_bundle(recording) as original:
        assert {name: exported.members.read(name) for name in exported.members.names()} == {
            name: original.members.read(name) for name in original.members.names()
        }

    listed = last_object(run_command(data, "jobs", "--json"))["jobs"]
    assert [(job["job"], job["status"]) for job in listed] == [(ingested["job"], "ready")]
    _backup_and_restore(data, tmp_path, ingested["job"])


def _backup_and_restore(data: Path, tmp_path: Path, job: str) -> None:
    """Into a new folder, where tables and replays are made anew by whoever asks for them."""
    backup, restored = tmp_path / "backup.tar", tmp_path / "restored"
    ran = run_command(data, "backup", "--out", str(backup), "--json")
    assert (ran.status, last_object(ran)["jobs"]) == (0, 1), ran.err
    assert run_command(data, "backup", "--out", str(backup)).status == 1
    assert run_command(data, "restore", str(backup)).status == 1, "a folder with data was overwritten"

    ran = run_command(restored, "restore", str(backup), "--json")
    assert (ran.status, last_object(ran)["jobs"]) == (0, 1), ran.err
    assert (restored / "secret-key").read_text() == (data / "secret-key").read_text()
    ran = run_command(restored, "replay", job, "--json")
    assert (ran.status, last_object(ran)["verdict"]) == (0, "identical"), ran.err
    assert last_object(run_command(restored, "jobs", "--json"))["jobs"][0]["status"] == "ready"

    cut = tmp_path / "cut.tar"
    cut.write_bytes(backup.read_bytes()[: backup.stat().st_size // 2])
    ran = run_command(tmp_path / "from-cut", "restore", str(cut))
    assert ran.status == 1 and "Traceback" not in ran.err


@pytest.mark.spark
def test_with_a_server_commands_leave_the_work_to_it(data: Path, recording: Path) -> None:
    with ServerProcess(data, "--no-demo") as server:
        ran = run_command(data, "ingest", str(recording), "--json")
        assert (ran.status, last_object(ran)["status"]) == (0, "ready"), ran.err
        [driver] = [one for one in processes_of(data) if one.kind == "driver"]
        assert server.process is not None and driver.parent == server.process.pid


def test_a_bundle_at_a_path_is_replayed_without_a_data_folder(data: Path, recording: Path, tmp_path: Path) -> None:
    junit = tmp_path / "verdicts.xml"
    ran = run_command(data, "replay", str(recording), "--json")
    assert (ran.status, last_object(ran)["verdict"]) == (0, "identical"), ran.err
    ran = run_command(data, "replay", "--fail-on-divergence", str(recording), "--junit", str(junit), "--json")
    assert ran.status == 0, ran.err
    suite = ElementTree.parse(junit).getroot()[0]
    assert suite.tag == "testsuite" and len(suite) == 1 and suite.get("failures") is None
    assert not data.exists()


def unpacked(recording: Path, folder: Path) -> Path:
    """The recording's members as files."""
    container = open_container(recording)
    for name, _, stream in container.members():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "wb") as file:
            shutil.copyfileobj(stream, file)  # type: ignore[misc]
    container.close()
    return folder


def test_one_flipped_bit_of_a_buffer_is_a_verdict_that_is_not_good(data: Path, recording: Path, tmp_path: Path) -> None:
    bundle = unpacked(recording, tmp_path / "flipped")
    victim = sorted(bundle.glob("tasks/map-1.0/0/sent-0/*.buf"))[0]
    flipped = bytearray(victim.read_bytes())
    flipped[len(flipped) // 2] ^= 0x10
    victim.write_bytes(flipped)
    junit = tmp_path / "verdicts.xml"
    ran = run_command(
        data, "replay", "--fail-on-divergence", str(bundle), str(recording), "--junit", str(junit), "--json"
    )
    assert ran.status == 3, ran.out + ran.err
    said = last_object(ran)
    assert said["verdict"] == "diverged"
    assert "sent-0" in json.dumps(said["bundles"][str(bundle)])
    suites = {suite.get("name"): suite for suite in ElementTree.parse(junit).getroot()}
    assert suites[str(bundle)].get("failures") == "1" and suites[str(recording)].get("failures") is None
    [failure] = suites[str(bundle)].iter("failure")
    told = (failure.text or "").splitlines()
    [replay] = said["bundles"][str(bundle)]
    assert failure.get("type") == "diverged" and failure.get("message") == told[0] == replay["sentence"]
    assert f"Member: {replay['detail']['member']}" in told and any(one.startswith("Agreed last: step ") for one in told)
    assert f"Likely reason: {replay['detail']['reason']['words']} (corrupt-recording)" in told


def test_a_bundle_that_cannot_be_read_is_an_error_beside_the_others(
    data: Path, recording: Path, tmp_path: Path
) -> None:
    broken, junit = tmp_path / "broken.tar", tmp_path / "verdicts.xml"
    broken.write_bytes(b"no archive")
    missing = tmp_path / "nothing"
    line = [
        "replay",
        "--fail-on-divergence",
        str(broken),
        str(recording),
        str(missing),
        "--junit",
        str(junit),
        "--json",
    ]
    ran = run_command(data, *line)
    assert ran.status == 1 and "Traceback" not in ran.err
    said = last_object(ran)
    assert (said["verdict"], set(said["errors"])) == ("identical", {str(broken), str(missing)})
    suites = {suite.get("name"): suite for suite in ElementTree.parse(junit).getroot()}
    for path in (broken, missing):
        [error] = suites[str(path)].iter("error")
        assert suites[str(path)].get("errors") == "1" and error.get("message") == said["errors"][str(path)]
    assert len(list(suites[str(recording)].iter("testcase"))) == 1 and not list(suites[str(recording)].iter("failure"))
    unwritable = run_command(data, *line[:-2], str(tmp_path / "no" / "folder.xml"), "--json")
    assert unwritable.status == 1 and "Traceback" not in unwritable.err


def test_a_name_that_is_no_text_is_told_of_in_well_formed_xml_and_json(
    data: Path, recording: Path, tmp_path: Path
) -> None:
    named, missing = os.fsdecode(b"\x1b[31m\xff\x01 <&>.tar.zst"), os.fsdecode(b"gone \xfe]]>\x08")
    shutil.copy(recording, tmp_path / named)
    junit = tmp_path / "verdicts.xml"
    line = ["--fail-on-divergence", str(tmp_path / named), str(tmp_path / missing), "--junit", str(junit), "--json"]
    ran = run_command(data, "replay", *line)
    assert ran.status == 1 and "Traceback" not in ran.err, ran.err
    assert "\x1b" not in ran.out and "\x1b" not in ran.err
    assert list(last_object(ran)["bundles"]) == [str(tmp_path / named)]
    seen: list[str] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: seen.append(f"{name} {attributes.get('name')}")
    parser.Parse(junit.read_bytes(), True)
    assert [one.partition(" ")[0] for one in seen].count("testcase") == 2
    assert any(one.endswith("<&>.tar.zst") for one in seen)


def test_one_that_fails_unexpectedly_keeps_none_of_the_others_from_being_replayed(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, junit = tmp_path / "other.tar.zst", tmp_path / "verdicts.xml"
    shutil.copy(recording, other)
    replayed = replaying.replay_path

    def fails_once(path: Path, wanted: replaying.Wanted) -> list[dict[str, Any]]:
        if path == recording:
            raise RecursionError("nested too deep")
        return replayed(path, wanted)

    monkeypatch.setattr(replaying, "replay_path", fails_once)
    with pytest.raises(SystemExit) as ended:
        call_command("replay", str(recording), str(other), fail_on_divergence=True, junit=junit)
    assert ended.value.code == 1
    suites = {suite.get("name"): suite for suite in ElementTree.parse(junit).getroot()}
    [error] = suites[str(recording)].iter("error")
    assert "failed unexpectedly: RecursionError: nested too deep" in str(error.get("message"))
    assert not list(suites[str(other)].iter("failure")) and len(list(suites[str(other)].iter("testcase"))) == 1


def test_a_diverging_replay_is_shrunk_to_a_bundle(data: Path, recording: Path, tmp_path: Path) -> None:
    bundle, small = unpacked(recording, tmp_path / "flipped"), tmp_path / "small.tar"
    victim = sorted(bundle.glob("tasks/map-1.0/0/sent-0/*.buf"))[0]
    flipped = bytearray(victim.read_bytes())
    at = flipped.index(b'"amount":') + 9
    flipped[at] ^= 1
    victim.write_bytes(flipped)
    ran = run_command(data, "replay", str(bundle), "--shrink", str(small), "--json")
    assert ran.status == 0, ran.out + ran.err
    said = last_object(ran)
    assert said["verdict"] == "diverged" and said["units"] <= said["of_units"] and small.exists()
    with_options = [word for name, value in said["replay_with"].items() for word in (f"--{name}", str(value))]
    again = run_command(data, "replay", str(small), *with_options, "--json")
    assert (again.status, last_object(again)["verdict"]) == (3, "diverged"), again.err
    assert last_object(again)["detail"]["logged_record"] == said["detail"]["logged_record"]

    nothing = run_command(data, "replay", str(recording), "--shrink", str(tmp_path / "none"), "--json")
    assert nothing.status == 1 and "there is nothing to shrink" in nothing.err and not (tmp_path / "none").exists()
    assert run_command(data, "replay", str(bundle), "--shrink", str(small)).status == 1, "it was overwritten"
    for more in (["--until", "end"], ["--hunt"], ["--fail-on-divergence"], [str(recording)]):
        assert run_command(data, "replay", str(bundle), *more, "--shrink", str(tmp_path / "no")).status == 2


def test_a_stored_job_that_contradicts_itself_is_shrunk_by_members(data: Path, tmp_path: Path) -> None:
    bundle, small = tmp_path / "bundle", tmp_path / "small.zip"
    line = "record pass-through --seed 11 --events 150 --parallelism 1 --rate-per-s 4000 --kill map-1.0@20 --out"
    ran = run_command(data, *line.split(), str(bundle))
    assert ran.status == 0, ran.err
    victim = sorted(bundle.glob("tasks/map-1.0/1/received-0/*.rcv"))[0]
    victim.write_bytes(victim.read_bytes()[RECEIPT_BYTES:])
    job = last_object(run_command(data, "ingest", str(bundle), "--json"))["job"]
    ran = run_command(data, "replay", job, "--shrink", str(small))
    assert ran.status == 0, ran.out + ran.err
    assert f"{small}: " in ran.out and " members still diverge (" in ran.out
    assert "replay it with --failure 0. " in ran.out
    again = run_command(data, "replay", str(small), "--failure", "0", "--json")
    assert (again.status, last_object(again)["verdict"]) == (3, "diverged"), again.err
    gone = run_command(data, "replay", "j_000000000000", "--shrink", str(tmp_path / "none"))
    assert gone.status == 1 and "There is no job j_000000000000" in gone.err


def test_going_on_is_an_option_of_both_ways(data: Path, recording: Path) -> None:
    ran = run_command(data, "replay", str(recording), "--on-divergence", "go-on", "--json")
    assert (ran.status, last_object(ran)["verdict"]) == (0, "identical"), ran.err
    assert run_command(data, "replay", str(recording), "--on-divergence", "never").status == 2


def test_the_same_command_line_records_equal_bundles(data: Path, tmp_path: Path) -> None:
    line = ["record", "pass-through", "--seed", "7", "--events", "800", "--kill", "map-1.0@200"]
    for name in ("one.tar", "two"):
        assert run_command(data, *line, "--out", str(tmp_path / name)).status == 0
    with open_bundle(tmp_path / "one.tar") as one, open_bundle(tmp_path / "two") as two:
        assert one.content_id() == two.content_id()
    assert not data.exists()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["record", "pass-through", "--kill", "nonsense", "--out", "x"], 2),
        (["record"], 2),
        (["record", "no-such-job", "--out", "x"], 2),
        (["record", "pass-through", "--protocol", "tree-clocks", "--out", "x"], 2),
        (["ingest", "/no/such/bundle"], 1),
        (["ingest", "/no/such/bundle", "--follow"], 1),
        (["ingest", __file__, "--follow"], 2),
        (["ingest"], 2),
        (["replay", "j_000000000000"], 1),
        (["replay", "/no/such/bundle"], 1),
        (["replay", "a", "b"], 2),
        (["export", "j_000000000000", "--out", "x"], 1),
        (["login-link", "admin"], 1),
        (["restore", "/no/such/backup"], 1),
        (["doctor", "--nonsense"], 2),
        (["up", "--port", "65536"], 2),
        (["up", "--port=-1"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_done_is_one_sentence_and_a_status(data: Path, arguments: list[str], status: int) -> None:
    ran = run_command(data, *arguments, "--json")
    assert ran.status == status, ran.err
    assert "Traceback" not in ran.err
    if status == 1:
        assert last_object(ran)["error"] in ran.err


@pytest.mark.parametrize("option", [["--data", ""], ["--data="], ["--data"]])
def test_an_empty_data_folder_is_refused_and_not_replaced_by_another(option: list[str], tmp_path: Path) -> None:
    """As of a variable that was never set: nothing of it may reach the default folder or the current one."""
    command = [sys.executable, str(ROOT / "manage.py"), "jobs", *option]
    environment = {**os.environ, "CLONOSCOPE_DATA": str(tmp_path / "default")}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode != 0 and "--data names no folder" in ran.stderr, ran.stderr
    assert not list(tmp_path.iterdir())


def test_the_doctor_finds_a_healthy_machine_and_makes_no_folder(data: Path) -> None:
    ran = run_command(data, "doctor", "--json")
    assert ran.status == 0, ran.out
    assert {check["name"] for check in last_object(ran)["checks"]} >= {"python", "java", "database", "disk"}
    assert not data.exists()
