"""The graph that pages draw: read from the bundle's manifest, and kept at hand within bounds."""

from pathlib import Path
from typing import Any

import pytest

from dashboard import store
from dashboard.queries import graph
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
