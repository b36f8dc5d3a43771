"""The graph of a job as its manifest tells it: there from the moment of the upload, before anything is ingested."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dashboard import bundles
from replay.bundle.members import MANIFEST
from replay.errors import ReplayError
from replay.model import Graph, Manifest

# An opened vertex has so many rows, and more lines than this between two vertices are one black area.
TASKS_DRAWN = 80
CHANNELS_DRAWN = 2_000
_APP = re.compile(r"[\w.]{1,100}:[\w.]{1,100}")


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

    def for_script(self, keep: Collection[str] = ()) -> dict[str, Any]:
        """For the picture, never more than it draws: of a vertex so many tasks, `keep` among them, and how many there
        are; of an edge its channels, unless they are more than anybody could tell apart."""
        tasks: dict[str, list[str]] = {}
        for task in self.manifest.tasks:
            tasks.setdefault(task.vertex, []).append(task.id)
        vertex_of: dict[str, str] = {task.id: task.vertex for task in self.manifest.tasks}
        shown = {vertex: _shown(its, keep) for vertex, its in tasks.items()}
        channels, counts = self._channels(vertex_of, {one for its in shown.values() for one in its})
        return {
            "vertices": [
                {"id": v.id, "kind": v.kind, "tasks": shown.get(v.id, []), "count": len(tasks.get(v.id, ()))}
                for v in self.manifest.vertices
            ],
            "edges": [
                {"from": e.source, "to": e.target, "ship": e.ship, "channels": counts.get((e.source, e.target), 0)}
                for e in self.manifest.edges
            ],
            "channels": channels,
        }

    def _channels(
        self, vertex_of: Mapping[str, str], shown: Collection[str]
    ) -> tuple[list[dict[str, str]], dict[tuple[str, str], int]]:
        """Those between tasks that are shown, and how many there are of each edge."""
        counts: dict[tuple[str, str], int] = {}
        for one in self.graph.channels:
            edge = vertex_of[one.source], vertex_of[one.target]
            counts[edge] = counts.get(edge, 0) + 1
        return [
            {"id": c.id, "from": c.source, "to": c.target, "fromVertex": edge[0], "toVertex": edge[1]}
            for c in self.graph.channels
            if c.source in shown and c.target in shown
            for edge in [(vertex_of[c.source], vertex_of[c.target])]
            if counts[edge] <= CHANNELS_DRAWN
        ], counts


def _shown(tasks: list[str], keep: Collection[str]) -> list[str]:
    """In their order; who is to be kept takes the place of the last ones."""
    if len(tasks) <= TASKS_DRAWN:
        return tasks
    kept = [one for one in tasks if one in keep][:TASKS_DRAWN]
    chosen = {*kept, *tasks[: TASKS_DRAWN - len(kept)]}
    return [one for one in tasks if one in chosen]


# A manifest may have 16 MiB, and takes many times that in memory: of large ones few are kept at hand.
LARGE_BYTES = 256 << 10


def job_graph(job_id: str) -> JobGraph | None:
    """None where the bundle is gone from the store."""
    try:
        written_ns = bundles.written_ns(job_id)
        read = _read_small if _manifest_bytes(job_id, written_ns) <= LARGE_BYTES else _read_large
        return read(job_id, written_ns)
    except (FileNotFoundError, ReplayError):
        return None


@lru_cache(maxsize=1024)
def _manifest_bytes(job_id: str, _written_ns: int) -> int:
    with bundles.opened(job_id) as pack:
        return pack.size(MANIFEST)


def _read(job_id: str, _written_ns: int) -> JobGraph:
    with bundles.opened(job_id) as pack:
        manifest = Manifest.from_json(pack.read(MANIFEST))
    return JobGraph(manifest, Graph(manifest))


def app_of(found: JobGraph | None, task: str) -> str:
    """The function that a task runs, as `module:name`, where its recording says so; else that of any."""
    if found is None:
        return ""
    mine = found.graph.vertex_of(task) if task in found.graph else None
    named = [vertex.operator for vertex in (*([mine] if mine else []), *found.manifest.vertices)]
    return next((one for one in named if _APP.fullmatch(one)), "")


_read_small = lru_cache(maxsize=64)(_read)
_read_large = lru_cache(maxsize=2)(_read)
