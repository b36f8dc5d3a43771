"""The operators that can be run by name. A recording's manifest names them; nothing else is ever imported for it."""

from __future__ import annotations

from collections.abc import Callable

from replay.errors import ReplayError, printable
from replay.jobs import churn, concat, enrich, load_balance, pass_through, windowed, word_count
from replay.jobs.graphs import operator_name
from replay.jobs.nexmark import queries
from replay.jobs.nexmark import windowed as nexmark_windowed
from replay.model import Vertex
from replay.runtime.operators import Operator

__all__ = ["OPERATORS", "UnknownOperator", "new_operator", "operator_name"]

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


class UnknownOperator(ReplayError):
    """The recording's operator isn't one of ours: it can be looked at, but not executed again."""


def new_operator(vertex: Vertex) -> Operator:
    """A new instance of the vertex's operator; only those registered here can be had."""
    if vertex.operator not in OPERATORS:
        raise UnknownOperator(
            f"the operator {printable(vertex.operator)!r} of vertex {vertex.id} isn't one that can be executed here",
            remedy="Its determinants can be walked, but its records can't be processed again",
        )
    return OPERATORS[vertex.operator]()
