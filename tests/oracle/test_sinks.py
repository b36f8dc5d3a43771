"""The oracles of the jobs complain: an output that is gone, given twice or changed is seen in every job."""

import json
import random
from pathlib import Path

import pytest

from replay.jobs.catalogue import JOBS
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle.jobs import sink_complaints
from tests.oracle.test_every_job import WINDOWS
from tests.oracle_reader import Recording


def recorded(name: str, out: Path) -> Path:
    events = 4000 if name == "nexmark-q2" else 1200  # few bids are on an auction that it selects
    options = {"seed": 4, "events": events, "checkpoint_interval_ms": 200, **WINDOWS.get(name, {})}
    record(RecordOptions(job=name, **options), out, protocols=PROTOCOLS)
    assert list(sink_complaints(Recording(out))) == []
    return out


def sink_lines(out: Path) -> list[tuple[Path, int]]:
    files = sorted(out.glob("tasks/sink.*/*/sink/*.ndjson"))
    return [(file, i) for file in files for i in range(len(file.read_text().splitlines()))]


def changed(value, random_numbers):
    """Another number in it, or another letter."""
    if isinstance(value, dict):
        name = random_numbers.choice([name for name in value if name not in ("at_ms", "seen")])
        return {**value, name: changed(value[name], random_numbers)}
    if isinstance(value, list):
        return [changed(value[0], random_numbers), *value[1:]]
    return value + 1 if isinstance(value, int) else f"{value}x"


@pytest.mark.parametrize("how", ["gone", "twice", "another"])
@pytest.mark.parametrize("name", [name for name in JOBS if name != "enrich"])
def test_an_output_that_is_wrong_is_seen(tmp_path: Path, name: str, how: str) -> None:
    out = recorded(name, tmp_path / "out")
    seed = 20
    random_numbers = random.Random(seed)
    file, i = random_numbers.choice(sink_lines(out))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    if how == "gone":
        del lines[i]
    elif how == "twice":
        lines.append(lines[i])
    else:
        key, timestamp, value = lines[i]["record"]
        lines[i]["record"] = [key, timestamp, changed(value, random_numbers)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert list(sink_complaints(Recording(out))), f"seed {seed}: {lines[i - 1]['record']}"


@pytest.mark.parametrize("name", JOBS)
def test_an_output_that_names_other_records_is_seen(tmp_path: Path, name: str) -> None:
    out = recorded(name, tmp_path / "out")
    file, i = sink_lines(out)[0]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    task, offset = lines[i]["source"][0]
    lines[i]["source"][0] = [task, offset - 1 if offset else 1]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert list(sink_complaints(Recording(out)))
