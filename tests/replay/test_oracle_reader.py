"""The independent reader finds nothing in what the engine records, and every kind of damage in what was changed."""

import json
import random
import struct
import tarfile
from pathlib import Path

import pytest

from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle_reader import complaints

RECORDING = Path(__file__).parents[1] / "recordings" / "1" / "pass-through.tar.gz"
FAILED = "tasks/map-1.1/1"


@pytest.fixture
def bundle(tmp_path):
    with tarfile.open(RECORDING) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def change(path, at, form, value):
    data = bytearray(path.read_bytes())
    struct.pack_into(form, data, at, value)
    path.write_bytes(data)


def event(bundle, kind):
    """The first event of that kind, and how to put it back changed."""
    path = bundle / "events.ndjson"
    lines = path.read_text("utf-8").splitlines()
    n = next(n for n, line in enumerate(lines) if json.loads(line)["type"] == kind)

    def put(**changes):
        lines[n] = json.dumps({**json.loads(lines[n]), **changes})
        path.write_text("\n".join(lines) + "\n", "utf-8")

    return put


def manifest(bundle, path, value):
    made = json.loads((bundle / "job.json").read_text())
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    (bundle / "job.json").write_text(json.dumps(made))


SENT = "tasks/map-1.1/0/sent-0/0"
DAMAGES = {
    "a buffer's number": (lambda b: change(b / f"{SENT}.buf", 0, ">q", 9), "buffer 9 stands where 0 must"),
    "a buffer's time": (lambda b: change(b / f"{SENT}.buf", 8, ">q", 1 << 40), "not in the order cut"),
    "a buffer's flags": (lambda b: change(b / f"{SENT}.buf", 16, ">B", 2), "sent not from the in-flight log"),
    "a buffer's cut": (lambda b: change(b / f"{SENT}.buf", 25, ">i", 1 << 20), "cut past the end of main"),
    "a rebuilt buffer's bytes": (lambda b: change(b / f"{FAILED}/sent-0/0.buf", 40, ">B", 0x20), "rebuilt otherwise"),
    "a sending's number": (lambda b: change(b / f"{SENT}.dlt", 20, ">I", 3), "received and never sent"),
    "a sending's receiver": (lambda b: change(b / f"{SENT}.dlt", 16, ">I", 7), "which never was"),
    "a delta's offset": (lambda b: change(b / f"{SENT}.dlt", 29 + 15, ">i", 1), "is not that log's bytes"),
    "a delta's task": (lambda b: change(b / f"{SENT}.dlt", 29 + 12, ">H", 999), "names task number 999"),
    "a log's bytes": (lambda b: change(b / "tasks/map-1.1/0/main/0.det", 1, ">B", 1), "is not that log's bytes"),
    "a built buffer's size": (lambda b: change(b / "tasks/map-1.1/0/out-0/0.det", 1, ">i", 5), "says were built"),
    "a log that is not repeated": (lambda b: change(b / f"{FAILED}/main/0.det", 1, ">B", 1), "did not repeat"),
    "a receipt's sending": (lambda b: change(b / "tasks/sink.0/0/received-0/0.rcv", 12, ">I", 5), "never sent"),
    "a receipt's number": (lambda b: change(b / "tasks/sink.0/0/received-0/0.rcv", 0, ">q", 77), "had to begin at 0"),
    "a receipt's place": (lambda b: change(b / "tasks/sink.0/0/received-0/0.rcv", 40, ">i", 3), "receipts disagree"),
    "a receipt's time": (lambda b: change(b / "tasks/sink.0/0/received-0/0.rcv", 16, ">q", 0), "before it was sent"),
    "a missing log": (lambda b: (b / "tasks/map-1.1/0/main/0.det").unlink(), "past the end of main"),
    "an event's number": (lambda b: event(b, "task-failed")(n=0), "its n is 0"),
    "an event's cause": (lambda b: event(b, "failure-detected")(re=500), "is caused by 500"),
    "an event's state": (lambda b: event(b, "recovery-state")(to="Running"), "and was Running"),
    "an event's failure": (lambda b: event(b, "failure-detected")(failure=4), "there is no failure 4 yet"),
    "an attempt too many": (lambda b: event(b, "attempt-started")(attempt=5), "started as [5]"),
    "a checkpoint too early": (lambda b: event(b, "checkpoint-acknowledged")(checkpoint=9), "was never triggered"),
    "a snapshot's numbers": (
        lambda b: (b / "tasks/sink.0/0/state/1.json").write_text('{"inputs": {}, "outputs": {}}'),
        "the next buffer from",
    ),
    "a strange member": (lambda b: (b / "tasks/strange").write_bytes(b""), "unknown to the format"),
    "a task less": (lambda b: (b / FAILED).rename(b / "tasks/map-1.1/2"), "has members of attempts"),
    "the sharing depth": (lambda b: manifest(b, ["protocol", "sharing_depth"], 1), "beyond the sharing depth 1"),
}


def test_the_recording_as_it_is_has_no_fault(bundle):
    assert complaints(bundle) == []


@pytest.mark.parametrize(("damage", "complaint"), DAMAGES.values(), ids=DAMAGES.keys())
def test_each_kind_of_damage_is_found(bundle, damage, complaint):
    damage(bundle)
    found = complaints(bundle)
    assert any(complaint in one for one in found), found


GROUPED = {
    "a delta's task": (29 + 12, ">H", 999, "names task number 999"),
    "a delta's offset": (29 + 12 + 3, ">i", 1, "is not that log's bytes"),
    "a delta's bytes": (-1, ">B", 0xFF, "is not that log's bytes"),
}


@pytest.mark.parametrize(("at", "form", "value", "complaint"), GROUPED.values(), ids=GROUPED.keys())
def test_damage_in_the_grouping_layout_is_found_too(tmp_path, at, form, value, complaint):
    out = tmp_path / "b"
    record(RecordOptions(events=100, delta_layout="grouping"), out, protocols=PROTOCOLS)
    assert complaints(out) == []
    path = out / "tasks/map-1.0/0/sent-0/0.dlt"
    change(path, at % path.stat().st_size, form, value)
    found = complaints(out)
    assert any(complaint in one for one in found), found


@pytest.mark.parametrize("seed", range(1, 9))
def test_what_the_engine_records_contradicts_neither_the_format_nor_itself(tmp_path, seed):
    chance = random.Random(seed)
    depth, parallelism = chance.choice([3, 4, 5]), chance.choice([1, 2, 3])
    names = ["source", *(f"map-{i}" for i in range(1, depth - 1)), "sink"]
    kills = tuple(
        f"{chance.choice(names)}.{chance.randrange(parallelism)}@{chance.randrange(50, 500)}"
        for _ in range(chance.choice([1, 1, 2, 3]))
    )
    options = RecordOptions(
        seed=seed,
        events=chance.choice([200, 1000]),
        depth=depth,
        parallelism=parallelism,
        checkpoint_interval_ms=chance.choice([100, 300, 1000]),
        sharing_depth=chance.choice([None, None, 0, 1, 2]),
        standby=chance.choice([0, 1]),
        delta_layout=chance.choice(["flat", "grouping"]),
        kills=kills,
    )
    record(options, tmp_path / "b", protocols=PROTOCOLS)
    assert complaints(tmp_path / "b") == [], f"{options.command()}, of seed {seed}"
