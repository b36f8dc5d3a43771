"""The graph that pages draw: read from the bundle's manifest, and kept at hand within bounds."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory

from dashboard import store
from dashboard.queries import graph
from dashboard.queries.tasks import TaskSummary
from dashboard.views.job import _tasks_page
from replay.model import Graph, Manifest
from tests.ingest.made import manifest_of, packed


@pytest.fixture
def stored(settings: Any, tmp_path: Path):
    settings.STORE = tmp_path / "store"
    store.bundles().mkdir(parents=True)

    def put(number: int, filling_bytes: int = 0) -> str:
        job = f"j_{number:012d}"
        manifest = manifest_of(2) | {"code": {"filling": "x" * filling_bytes}}
        packed(manifest, {}, tmp_path / "bundles", job).rename(store.pack_path(job))
        return job

    return put


def test_a_graph_is_read_once_and_is_gone_with_its_bundle(stored) -> None:
    job = stored(1)
    found = graph.job_graph(job)
    assert found is not None and len(found.manifest.tasks) == 6
    assert graph.job_graph(job) is found
    store.pack_path(job).unlink()
    assert graph.job_graph(job) is None


def test_of_large_manifests_few_stay_in_memory(stored) -> None:
    """Else a page each of some dozen jobs would fill the server's memory."""
    small = graph.job_graph(stored(2))
    large = [stored(10 + n, graph.LARGE_BYTES) for n in range(5)]
    first = graph.job_graph(large[0])
    assert graph.job_graph(large[0]) is first
    for job in large:
        graph.job_graph(job)
    assert graph.job_graph(large[0]) is not first, "the first was let go for the later ones"
    assert graph.job_graph("j_000000000002") is small


def test_of_a_graph_of_50000_tasks_a_page_gets_what_it_draws() -> None:
    tasks = [
        {"id": f"{vertex}.{n}", "vertex": vertex, "subtask": n, "number": n + base, "inputs": [], "outputs": []}
        for base, vertex in ((0, "a"), (25_000, "b"))
        for n in range(25_000)
    ]
    for source, sink in zip(tasks[:25_000], tasks[25_000:], strict=True):
        channel = f"{source['id']}>{sink['id']}"
        source["outputs"] = [{"channel": channel, "partition": [0, 0], "sub": 0}]
        sink["inputs"] = [channel]
    vertices = [{"id": one, "kind": "operator", "operator": "x:Y", "parallelism": 25_000} for one in ("a", "b")]
    edges = [{"from": "a", "to": "b", "ship": "forward"}]
    made = manifest_of(2) | {"vertices": vertices, "edges": edges, "tasks": tasks}
    manifest = Manifest.from_json(json.dumps(made).encode())
    picture = graph.JobGraph(manifest, Graph(manifest)).for_script({"b.24999"})
    assert len(json.dumps(picture)) < 20_000
    assert [(len(one["tasks"]), one["count"]) for one in picture["vertices"]] == [(80, 25_000)] * 2
    assert picture["vertices"][1]["tasks"][-1] == "b.24999", "who is worth seeing is among those that are drawn"
    assert picture["edges"][0]["channels"] == 25_000 and picture["channels"] == []


@pytest.mark.parametrize("begin", [0, 500, 49_900])
def test_the_table_of_tasks_comes_in_stretches(begin: int) -> None:
    tasks = [TaskSummary(f"a.{n}", "a") for n in range(50_000)]
    request = RequestFactory().get("/", {"tasks": begin})
    page = _tasks_page(request, tasks, tasks[700])
    assert page["tasks"][0].task == f"a.{begin}" and len(page["tasks"]) <= 500
    assert (page["task_before"], page["task_after"]) == ("a.699", "a.701")
    assert page["tasks_next"] == (begin + 500 if begin + 500 < 50_000 else None)
