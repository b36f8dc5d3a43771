"""What must hold of every recording, whatever failed: each check returns the sentences of what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from replay.simulation.checks import buffers, coordinated, gaps, logs, optimistic, pessimistic, sinks, states, timers
from replay.simulation.recording import Recording

Check = Callable[[Recording], Iterator[str]]

EXACT: tuple[Check, ...] = (*logs.EXACT, *buffers.EXACT, *states.EXACT, *timers.EXACT, *sinks.EXACT)
"""At any sharing depth but 0: what lies past it is rolled back."""

DIVERGENT: tuple[Check, ...] = (*states.DIVERGENT, *sinks.DIVERGENT)
"""At sharing depth 0: nothing is lost, and nothing else is promised."""


BY_PROTOCOL: dict[str, tuple[Check, ...]] = {
    "none": gaps.CHECKS,
    "pessimistic": pessimistic.CHECKS,
    "optimistic": optimistic.CHECKS,
    "coordinated": coordinated.CHECKS,
}
"""What other protocols than Clonos promise."""


def checks_of(recording: Recording) -> tuple[Check, ...]:
    """Those that the recording's settings promise to hold."""
    protocol = recording.manifest.protocol
    if protocol.name in BY_PROTOCOL:
        return BY_PROTOCOL[protocol.name]
    return DIVERGENT if protocol.sharing_depth == 0 else EXACT


def violations(recording: Recording) -> list[str]:
    """Everything that doesn't hold."""
    return [f"{check.__name__}: {sentence}" for check in checks_of(recording) for sentence in check(recording)]
