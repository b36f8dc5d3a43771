"""The operators that can be run by name. A recording's manifest names them; nothing else is ever imported for it."""

from __future__ import annotations

from collections.abc import Callable

from replay.errors import ReplayError, printable
from replay.jobs import pass_through
from replay.jobs.nexmark import queries
from replay.model import Vertex
from replay.runtime.operators import Operator

OPERATORS: dict[str, Callable[[], Operator]] = {
    f"{one.__module__}:{one.__qualname__}": one
    for one in (
        pass_through.Source,
        pass_through.PassThrough,
        pass_through.Relay,
        pass_through.Sink,
        queries.CurrencyConversion,
        queries.Selection,
    )
}


class UnknownOperator(ReplayError):
    """The recording's operator isn't one of ours: it can be looked at, but not executed again."""


def operator_name(operator: Callable[[], Operator]) -> str:
    """As a manifest names an operator class."""
    return next(name for name, one in OPERATORS.items() if one is operator)


def new_operator(vertex: Vertex) -> Operator:
    """A new instance of the vertex's operator; only those registered here can be had."""
    if vertex.operator not in OPERATORS:
        raise UnknownOperator(
            f"the operator {printable(vertex.operator)!r} of vertex {vertex.id} isn't one that can be executed here",
            remedy="Its determinants can be walked, but its records can't be processed again",
        )
    return OPERATORS[vertex.operator]()
