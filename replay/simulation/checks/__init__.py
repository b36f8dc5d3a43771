"""What must hold of every recording, whatever failed: each check returns the sentences of what does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from replay.jobs.churn import Churn
from replay.jobs.pass_through import PassThrough
from replay.jobs.registry import operator_name
from replay.simulation.checks import (
    answered,
    beyond,
    buffers,
    calls,
    coordinated,
    fencing,
    gaps,
    hosts,
    logs,
    optimistic,
    pessimistic,
    results,
    sinks,
    states,
    timers,
)
from replay.simulation.recording import Recording

Check = Callable[[Recording], Iterator[str]]

EXACT: tuple[Check, ...] = (
    *logs.EXACT,
    *buffers.EXACT,
    *states.EXACT,
    *timers.EXACT,
    *sinks.EXACT,
    *calls.EXACT,
    *beyond.CHECKS,
)
"""At any sharing depth but 0: what lies past it is rolled back."""

DIVERGENT: tuple[Check, ...] = (*states.EXACT, *sinks.ALWAYS, *calls.DIVERGENT, *beyond.CHECKS)
"""At sharing depth 0: nothing is lost, and nothing else is promised."""

CONTINUED: tuple[Check, ...] = (*DIVERGENT, *logs.CONTINUED, *beyond.CONTINUED)
"""Where choices were given up: nothing is lost, and what is not below the loss is exact."""

BY_PROTOCOL: dict[str, tuple[Check, ...]] = {
    "none": gaps.CHECKS,
    "pessimistic": pessimistic.CHECKS,
    "optimistic": optimistic.CHECKS,
    "coordinated": coordinated.CHECKS,
}
"""What other protocols than Clonos promise."""

_SHAPED = frozenset(map(operator_name, (Churn, PassThrough)))


def is_shaped(recording: Recording) -> bool:
    """Whether one comes out for each that comes in, of whatever shape the graph is, and operators count them."""
    return all(one.operator in _SHAPED for one in recording.manifest.vertices if one.kind == "operator")


def checks_of(recording: Recording) -> tuple[Check, ...]:
    """Those that the recording's settings promise to hold, and its job."""
    protocol, shaped = recording.manifest.protocol, is_shaped(recording)
    at_least_once = (*states.DIVERGENT, *sinks.DIVERGENT) if shaped else results.DIVERGENT
    exactly_once = (*states.SHAPED, *sinks.SHAPED) if shaped else results.EXACT
    if protocol.name == "none":
        return (*gaps.CHECKS, *(gaps.SHAPED if shaped else ()))
    if protocol.name in BY_PROTOCOL:
        return (*BY_PROTOCOL[protocol.name], *exactly_once)
    if protocol.sharing_depth == 0:
        return (*DIVERGENT, *at_least_once)
    if protocol.on_lost == "continue" and recording.escalated:
        return (*CONTINUED, *at_least_once)
    return (*EXACT, *exactly_once)


ALWAYS: tuple[Check, ...] = (*answered.CHECKS, *fencing.CHECKS, *hosts.CHECKS)
"""Of failures and who answers them, under any settings."""


def violations(recording: Recording) -> list[str]:
    """Everything that doesn't hold."""
    checks = (*checks_of(recording), *ALWAYS)
    return [f"{check.__name__}: {sentence}" for check in checks for sentence in check(recording)]
