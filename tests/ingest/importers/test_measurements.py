"""Published measurements become bundles with their curves and kills; what breaks a rule is refused with its place."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ingest.importers.measurements import folder_of
from replay.bundle.reader import open_bundle
from tests.ingest.importers.checkpoints import imported

BEGAN_MS = 1_605_545_480_852


def published(folder: Path, seed: int = 1, sinks: int = 3, seconds: int = 40) -> dict[str, Any]:
    """Files as their authors publish them, and what they were made of."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    times = [BEGAN_MS]
    while len(times) < seconds:
        times.append(times[-1] + rng.randrange(950, 1_010))
    rates = [[rng.randrange(400) for _ in range(sinks)] for _ in times]
    samples = [
        [
            (out - delay, out, 0, delay)
            for _ in range(sinks)
            for out, delay in [(rng.choice(times), rng.randrange(3000))]
        ]
        for _ in range(60)
    ]
    kill = ("taskmanager-63", 2, 0, times[seconds // 2] + 17)
    head = ["TIME", "THROUGHPUT", *(f"PART-{n}" for n in range(sinks))]
    rows = [head, *([at, sum(row), *row] for at, row in zip(times, rates, strict=True))]
    write(folder / "throughput", rows)
    head = [f"{name}-{n}" for n in range(sinks) for name in ("INPUT", "OUTPUT", "VISIBLE", "LATENCY")]
    write(folder / "latency", [head, *([cell for sample in row for cell in sample] for row in samples)])
    (folder / "killtime").write_text(" ".join(map(str, kill)) + "\n")
    return {"times": times, "rates": rates, "samples": samples, "kill": kill}


def write(path: Path, rows: list[list[Any]]) -> None:
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))


def percentile(values: list[int], percent: int) -> int:
    """The least value that so many percent do not pass."""
    return next(one for one in sorted(values) if 100 * sum(other <= one for other in values) >= percent * len(values))


@pytest.mark.parametrize("seed", range(3))
def test_curves_and_kills_are_those_of_the_files(seed: int, tmp_path: Path) -> None:
    of = published(tmp_path / "q3", seed)
    assert imported(tmp_path / "q3", tmp_path / "bundle") == {"kind": "measurements"}
    with open_bundle(tmp_path / "bundle") as bundle:
        assert bundle.check_shape() == [] and not bundle.manifest.complete and bundle.manifest.protocol.observed
        assert [str(task) for task in bundle.tasks()] == ["vertex-2.0", "sink.0", "sink.1", "sink.2"]
        events = list(bundle.events())
    assert [event["n"] for event in events] == list(range(len(events)))
    assert [event["t_us"] for event in events] == sorted(event["t_us"] for event in events)
    (failed,) = [event for event in events if event["type"] == "task-failed"]
    host, vertex, subtask, at_ms = of["kill"]
    assert (failed["host"], failed["task"]) == (host, f"vertex-{vertex}.{subtask}")
    assert failed["t_us"] == (at_ms - BEGAN_MS) * 1000
    metrics = {(event["task"], event["t_us"]): event for event in events if event["type"] == "metric"}
    assert len(metrics) == 3 * (len(of["times"]) - 1)
    for n, (before, at) in enumerate(zip(of["times"], of["times"][1:], strict=False), 1):
        for sink in range(3):
            metric = metrics.pop((f"sink.{sink}", (at - BEGAN_MS) * 1000))
            assert metric["records_in"] == of["rates"][n][sink] * (at - before) // 1000
            came = [row[sink][3] for row in of["samples"] if before < row[sink][1] <= at]
            told = {name: metric.get(f"latency_p{name}_us") for name in (50, 99)}
            assert told == {name: percentile(came, name) * 1000 if came else None for name in (50, 99)}, (seed, at)


FAULTS = {
    "no head": ("throughput", lambda text: text[text.index("\n") + 1 :], "its head must name TIME", 0),
    "a value less": ("throughput", lambda text: text.rstrip("\n0123456789"), "names 5", -1),
    "a rate below nothing": ("throughput", lambda text: text[:-2] + "-1\n", "a rate must be a whole number", -1),
    "times that fall": ("throughput", lambda text: text + text.split("\n")[3] + "\n", "times must rise", None),
    "one line alone": ("throughput", lambda text: "\n".join(text.split("\n")[:2]), "at least two lines", None),
    "another number of sinks": ("latency", lambda text: text.replace("OUTPUT-2", "OUTPUT-3"), "each of 3 part", 0),
    "a time of another world": ("latency", lambda text: text + "9" * 17 + "\t0" * 11, "a time must be", None),
    "bytes": ("latency", lambda text: text + "\x00\x01\n", "the line has", None),
    "a kill without a time": ("killtime", lambda text: "host 2 0", "a host, a vertex, a subtask and a time", 0),
    "twice the same kill": ("killtime", lambda text: text * 2, "is killed twice", None),
    "a subtask without end": ("killtime", lambda text: "host 2 99999 1605545480852", "a subtask must be", 0),
}


@pytest.mark.parametrize(("name", "bent", "said", "offset"), FAULTS.values(), ids=FAULTS)
def test_what_breaks_a_rule_is_refused_with_its_place(
    name: str, bent: Any, said: str, offset: int | None, tmp_path: Path
) -> None:
    published(tmp_path / "q3")
    path = tmp_path / "q3" / name
    path.write_text(bent(path.read_text()))
    refused = imported(tmp_path / "q3", tmp_path / "bundle")["refused"]
    assert said in refused["why"] and refused["path"] == name and refused["remedy"]
    lines = path.read_bytes().rstrip(b"\n")
    expected = lines.rfind(b"\n") + 1 if offset == -1 else offset
    assert refused["offset"] == expected or offset is None
    assert not (tmp_path / "bundle").exists()


def test_only_one_whole_set_of_files_is_taken_for_measurements(tmp_path: Path) -> None:
    assert folder_of({"q3/throughput", "q3/latency", "q3/killtime"}) == "q3/"
    assert folder_of({"throughput", "latency"}) == ""
    several = {f"{folder}/{name}" for folder in "ab" for name in ("throughput", "latency")}
    for names in ({"throughput"}, {"a/throughput", "b/latency"}, several):
        assert folder_of(names) is None
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "throughput").write_text("x")
    refused = imported(tmp_path / "folder", tmp_path / "bundle")["refused"]
    assert refused["why"] == "this is nothing that an importer understands"
