"""Recordings that hold logs and little else, as another engine's would: walked, with words for what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from replay.bundle.containers import open_container
from replay.bundle.pack import write_pack
from replay.bundle.reader import open_bundle
from replay.bundle.writer import BundleWriter
from replay.debugger.replay import replay
from replay.errors import ReplayError
from replay.model import Manifest
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, bundle_of

STREAMS = json.loads((Path(__file__).parents[2] / "vectors" / "streams.json").read_text())


def manifest() -> Manifest:
    """A Flink job of one operator between many sources and a sink: the streams name all channels there can be."""
    sources = [f"src.{n}" for n in range(256)]
    return Manifest.from_json(
        {
            "format": "causal-log-bundle",
            "version": 1,
            "job": {"name": "vectors", "recorder": "clonos eb4ef7d65b"},
            "clock": {"origin_ms": 0, "kind": "wall"},
            "determinants": "clonos",
            "protocol": {"name": "clonos", "sharing_depth": "full"},
            "vertices": [
                {"id": "src", "kind": "source", "operator": "org.example.Source", "parallelism": 256},
                {"id": "op", "kind": "operator", "operator": "org.example.Operator", "parallelism": 1},
                {"id": "out", "kind": "sink", "operator": "org.example.Sink", "parallelism": 1},
            ],
            "edges": [{"from": "src", "to": "op", "ship": "hash"}, {"from": "op", "to": "out", "ship": "forward"}],
            "tasks": [
                *(_task(one, n, [], [f"{one}>op.0"]) for n, one in enumerate(sources)),
                _task("op.0", 256, [f"{one}>op.0" for one in sources], ["op.0>out.0"]),
                _task("out.0", 257, ["op.0>out.0"], []),
            ],
        }
    )


def _task(task: str, number: int, inputs: list[str], outputs: list[str]) -> dict[str, Any]:
    vertex, _, subtask = task.partition(".")
    return {
        "id": task,
        "vertex": vertex,
        "subtask": int(subtask),
        "number": number,
        "inputs": inputs,
        "outputs": [{"channel": channel, "partition": [7, -9], "sub": 0} for channel in outputs],
    }


def written(out: Path, members: dict[str, bytes]) -> Path:
    with BundleWriter(out) as writer:
        for name, data in members.items():
            writer.append(name, data)
        writer.close(manifest())
    return out


@pytest.mark.parametrize("stream", STREAMS, ids=[stream["name"] for stream in STREAMS])
def test_every_stream_of_clonos_is_walked(stream: dict[str, Any], tmp_path: Path) -> None:
    thread = "main" if stream["log"] == "main" else "out-0"
    data = bytes.fromhex(stream["hex"])
    path = written(tmp_path / "job.zip", {f"tasks/op.0/0/{thread}/3.det": data})
    kept = Kept()
    with open_bundle(path) as bundle:
        outcome = replay(bundle, task="op.0", attempt=0, sink=kept)
    walked = [row for row in kept.rows if row.kind in ("take-determinant", "fire-async")]
    assert outcome.verdict == "unknown", outcome.sentence
    assert "org.example.Operator" in outcome.sentence
    assert [(row.log_offset, row.bytes) for row in walked] == [(d["offset"], d["size"]) for d in stream["decoded"]]


def test_a_recording_without_failures_or_logs_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "job", {"tasks/op.0/0/sites.ndjson": b""})
    with open_bundle(path) as bundle:
        with pytest.raises(ReplayError, match="nothing failed in this recording"):
            replay(bundle)
        outcome = replay(bundle, task="op.0", attempt=0)
        assert (outcome.verdict, outcome.exit_status) == ("unknown", 3)
        assert "no .det members under tasks/op.0/0/" in outcome.sentence


def test_a_failure_without_a_recovery_says_so(tmp_path: Path) -> None:
    event = {"n": 0, "t_us": 5, "type": "task-failed", "failure": 0, "task": "op.0", "attempt": 0}
    path = written(tmp_path / "job", {"events.ndjson": json.dumps(event).encode() + b"\n"})
    with open_bundle(path) as bundle:
        outcome = replay(bundle)
    assert outcome.verdict == "unknown" and "tells nothing of a recovery of op.0" in outcome.sentence


@pytest.mark.parametrize("container", ["job", "job.zip", "job.tar", "job.tar.gz", "job.tar.zst", "job.pack"])
def test_every_container_and_the_store_give_the_same_replay(container: str, tmp_path: Path) -> None:
    members = one_failure().members
    path = tmp_path / container.replace(".pack", ".zip")
    with BundleWriter(path) as writer:
        for name, data in members.items():
            if name != "job.json":
                writer.append(name, data)
        writer.close(Manifest.from_json(members["job.json"]))
    if container == "job.pack":
        opened = open_container(path)
        write_pack(opened, tmp_path / container)
        opened.close()
        path = tmp_path / container
    kept = Kept()
    with open_bundle(path) as bundle:
        outcome = replay(bundle, sink=kept)
    assert outcome.verdict == "identical"
    direct = Kept()
    replay(bundle_of(one_failure()), sink=direct)
    assert (kept.rows, kept.causes) == (direct.rows, direct.causes)
