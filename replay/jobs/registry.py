"""The operators that can be run by name: our own, and those of installed packages. A recording's manifest names them;
nothing is ever imported for it that isn't registered by one of the two."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from replay.errors import printable
from replay.jobs import churn, concat, enrich, load_balance, pass_through, windowed, word_count
from replay.jobs.graphs import operator_name
from replay.jobs.installed import GROUP, UnknownOperator, find_installed, installed_names
from replay.jobs.nexmark import queries
from replay.jobs.nexmark import windowed as nexmark_windowed
from replay.model import Vertex
from replay.runtime.operators import Operator

__all__ = ["OPERATORS", "UnknownOperator", "known_operators", "new_operator", "operator_name"]

_CLASSES: tuple[type[Operator], ...] = (
    churn.Churn,
    pass_through.Source,
    pass_through.PassThrough,
    pass_through.Relay,
    pass_through.Sink,
    windowed.Contents,
    queries.CurrencyConversion,
    queries.Selection,
    queries.Persons,
    queries.Auctions,
    queries.Bids,
    queries.BidsByBidder,
    queries.LocalPersons,
    queries.LocalAuctions,
    queries.LocalItemSuggestion,
    nexmark_windowed.BidsPerAuction,
    nexmark_windowed.HottestAuctions,
    nexmark_windowed.HighestBidsHere,
    nexmark_windowed.HighestBids,
    nexmark_windowed.NewUsers,
    nexmark_windowed.BidsPerWindow,
    word_count.Split,
    word_count.Count,
    concat.Concat,
    load_balance.Dispatcher,
    enrich.Enrich,
)
OPERATORS: dict[str, Callable[[], Operator]] = {operator_name(one): one for one in _CLASSES}


@cache
def known_operators() -> tuple[str, ...]:
    """Their names. Looked for once: what is installed meanwhile is there at the next start."""
    return tuple(sorted({*OPERATORS, *installed_names()}))


def new_operator(vertex: Vertex) -> Operator:
    """A new instance of the vertex's operator; only those registered can be had."""
    if vertex.operator in OPERATORS:
        return OPERATORS[vertex.operator]()
    installed = find_installed(vertex.operator)
    if installed is None:
        raise UnknownOperator(
            f"the operator {printable(vertex.operator)!r} of vertex {printable(vertex.id)} is not installed here: no "
            f"package has an entry point of that name in the group {GROUP}",
            remedy="Its determinants can be walked, but its records can't be processed again",
        )
    made = installed.load()
    try:
        return made()
    except Exception as fault:  # an edge: whatever the package's class raises
        raise UnknownOperator(
            f"the operator {printable(vertex.operator)!r} of {installed.package} can't be made: "
            f"{type(fault).__name__}: {printable(str(fault))}",
            remedy="It is made without arguments",
        ) from fault
