"""The oracles of the jobs complain: an output that is gone, given twice or changed is seen in every job."""

import json
import random
import shutil
from pathlib import Path

import pytest

from replay.jobs.catalogue import JOBS
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle.jobs import sink_complaints
from tests.oracle.test_every_job import WINDOWS
from tests.oracle_reader import Recording

SEED = 20


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Each recorded once, when it is asked for."""
    folder, found = tmp_path_factory.mktemp("sinks"), {}

    def of(name: str, time: str) -> Path:
        if (name, time) not in found:
            found[name, time] = recorded(name, folder / f"{name}-{time}", time)
        return found[name, time]

    return of


def recorded(name: str, out: Path, time: str) -> Path:
    events = 4000 if name == "nexmark-q2" else 1200  # few bids are on an auction that it selects
    options = {"seed": 4, "events": events, "checkpoint_interval_ms": 200, "time": time, **WINDOWS.get(name, {})}
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


def tampered(out: Path, change, *, before_us=1 << 62) -> None:
    """One line of a sink, drawn by the seed among those that came out before that."""
    chance, lines, i = random.Random(SEED), [], -1
    while not lines or lines[i]["t_us"] >= before_us:
        file, i = chance.choice(sink_lines(out))
        lines = [json.loads(line) for line in file.read_text().splitlines()]
    change(lines, i)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def gone(lines, i):
    del lines[i]


def twice(lines, i):
    lines.append(lines[i])


def another_value(lines, i):
    key, timestamp, value = lines[i]["record"]
    kept = {name: one for name, one in value.items() if name not in ("profile", "receipt")}
    lines[i]["record"] = [key, timestamp, {**value, **changed(kept, random.Random(SEED))}]


def another_key(lines, i):
    lines[i]["record"][0] = changed(lines[i]["record"][0], random.Random(SEED))


def one_name_less(lines, i):
    lines[i]["source"].pop()


def names_exchanged(lines, i):
    """The lineage of another line of the same sink; of a record that it hasn't, where there is no other."""
    there = sorted(lines[i]["source"])
    other = next((one for one in lines if sorted(one["source"]) != there), {"source": [["source.0", 0]]})
    lines[i]["source"], other["source"] = other["source"], lines[i]["source"]


def moved(by_ms):
    """Into another window: its bounds, and the time of the result."""

    def move(lines, i):
        key, timestamp, value = lines[i]["record"]
        bounds = {name: value[name] + by_ms for name in ("starttime", "endtime") if name in value}
        lines[i]["record"] = [key, timestamp + by_ms, {**value, **bounds}]

    return move


@pytest.mark.parametrize(
    "how", [gone, twice, another_value, another_key, one_name_less, names_exchanged], ids=lambda how: how.__name__
)
@pytest.mark.parametrize("time", ["first", "last"])
@pytest.mark.parametrize("name", JOBS)
def test_an_output_that_is_wrong_is_seen(originals, tmp_path: Path, name: str, time: str, how) -> None:
    out = shutil.copytree(originals(name, JOBS[name].times[0 if time == "first" else -1]), tmp_path / "out")
    tampered(out, how)
    assert list(sink_complaints(Recording(out))), f"seed {SEED}"


@pytest.mark.parametrize("by", [-3, -1, 1, 3])
@pytest.mark.parametrize(("name", "time"), [(name, time) for name in WINDOWS for time in JOBS[name].times])
def test_a_result_in_another_window_is_seen(originals, tmp_path: Path, name: str, time: str, by: int) -> None:
    out = shutil.copytree(originals(name, time), tmp_path / "out")
    if time == "processing" and by == -1:
        by = -2  # records may be on their way over the end of a window
    # What is still open when the sources are at their ends comes out then: nobody can say how long it was to last.
    before_us = Recording(out).last_read_us
    tampered(out, moved(by * WINDOWS[name].get("slide_ms", WINDOWS[name]["window_ms"])), before_us=before_us)
    assert list(sink_complaints(Recording(out))), f"seed {SEED}"
