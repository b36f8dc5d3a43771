"""Message contents: determinants say in which order, but what came must be sent again, by a log or from a source."""

from __future__ import annotations

from typing import Any

from replay.guarantees.recoverability.port import Causality
from replay.protocols import PROTOCOLS


def contents(causality: Causality) -> dict[str, Any]:
    """Whether what a failed task had taken can be sent to it once more, whoever fails with it.

    A sender that lives sends it from its in-flight log. One that failed as well rebuilds it, from what is sent to it,
    and so on up to the sources, which must be able to read their records again. So where sent buffers are kept and
    sources can be read again, no set of failures loses contents; else that of any task that took something does.
    """
    name = causality.manifest.protocol.name
    keeps: bool | None = PROTOCOLS[name]().in_flight if name in PROTOCOLS else None
    sources = {task.id: causality.read(task.id) for task in causality.graph.tasks if not task.inputs}
    lost = sorted(task for task, read in sources.items() if read == "missing")
    return {
        "in_flight": keeps,
        "sources": sources,
        "not_replayable": lost,
        "smallest": 1 if keeps is False else None,
        "decided": keeps is not None and not lost,
    }
