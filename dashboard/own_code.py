"""Whether a job's own code can be executed here: that of jobs whose engine was only observed mostly lies elsewhere."""

from __future__ import annotations

from replay.jobs.registry import known_operators
from replay.model import Manifest


def runs_elsewhere(manifest: Manifest) -> bool:
    """Here its logs can be walked, and nothing of it executed again."""
    known = known_operators()
    return manifest.protocol.observed and not any(vertex.operator in known for vertex in manifest.vertices)
