"""The graph of a job as its manifest tells it: there from the moment of the upload, before anything is ingested."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dashboard import store
from replay.bundle.members import MANIFEST
from replay.bundle.pack import Pack
from replay.errors import ReplayError
from replay.model import Graph, Manifest


@dataclass(frozen=True, slots=True)
class JobGraph:
    manifest: Manifest
    graph: Graph

    def layers(self) -> int:
        """How many vertices the longest way from a source passes."""
        depth = {vertex.id: 1 for vertex in self.manifest.vertices}
        for _ in depth:
            for edge in self.manifest.edges:
                depth[edge.target] = min(len(depth), max(depth[edge.target], depth[edge.source] + 1))
        return max(depth.values(), default=0)

    def for_script(self) -> dict[str, Any]:
        tasks: dict[str, list[str]] = {}
        for task in self.manifest.tasks:
            tasks.setdefault(task.vertex, []).append(task.id)
        vertex_of = {task.id: task.vertex for task in self.manifest.tasks}
        return {
            "vertices": [{"id": v.id, "kind": v.kind, "tasks": tasks.get(v.id, [])} for v in self.manifest.vertices],
            "edges": [{"from": e.source, "to": e.target, "ship": e.ship} for e in self.manifest.edges],
            "channels": [
                {
                    "id": c.id,
                    "from": c.source,
                    "to": c.target,
                    "fromVertex": vertex_of[c.source],
                    "toVertex": vertex_of[c.target],
                }
                for c in self.graph.channels
            ],
        }


# A manifest may have 16 MiB, and takes many times that in memory: of large ones few are kept at hand.
LARGE_BYTES = 256 << 10


def job_graph(job_id: str) -> JobGraph | None:
    """None where the bundle is gone from the store."""
    path = store.pack_path(job_id)
    try:
        with closing(Pack(path)) as pack:
            read = _read_small if pack.size(MANIFEST) <= LARGE_BYTES else _read_large
        return read(job_id, path.stat().st_mtime_ns)
    except (FileNotFoundError, ReplayError):
        return None


def _read(job_id: str, _written_ns: int) -> JobGraph:
    with closing(Pack(store.pack_path(job_id))) as pack:
        manifest = Manifest.from_json(pack.read(MANIFEST))
    return JobGraph(manifest, Graph(manifest))


_read_small = lru_cache(maxsize=64)(_read)
_read_large = lru_cache(maxsize=2)(_read)
