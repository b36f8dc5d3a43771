"""Graphs of random worlds: chains, diamonds, sources that join, short cuts; every vertex of its own parallelism."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from random import Random

from replay.model import Edge
from replay.runtime.body.partition import SHIPS

Ends = tuple[tuple[str, str], ...]

SHAPES: dict[str, Ends] = {
    "diamond": (
        ("source", "map-1"),
        ("source", "map-2"),
        ("map-1", "map-3"),
        ("map-2", "map-3"),
        ("map-3", "sink"),
    ),
    "fork": (("source", "map-1"), ("source", "map-2"), ("map-1", "sink"), ("map-2", "sink")),
    "join": (("source", "map-1"), ("source-2", "map-1"), ("map-1", "sink")),
    "late join": (
        ("source", "map-1"),
        ("source-2", "map-2"),
        ("map-1", "map-3"),
        ("map-2", "map-3"),
        ("map-3", "sink"),
    ),
    "sources in a sink": (("source", "sink"), ("source-2", "sink")),
    "short cut": (("source", "map-1"), ("source", "sink"), ("map-1", "sink")),
    "long short cut": (
        ("source", "map-1"),
        ("map-1", "map-2"),
        ("map-2", "map-3"),
        ("source", "map-3"),
        ("map-3", "sink"),
    ),
    "side input": (("source", "map-1"), ("map-1", "map-2"), ("source-2", "map-2"), ("map-2", "sink")),
}
"""By name, from the sources down."""

_MOST_TASKS = 11


def chain(depth: int) -> Ends:
    """`depth` counts source and sink."""
    names = ["source", *(f"map-{i}" for i in range(1, depth - 1)), "sink"]
    return tuple(itertools.pairwise(names))


def random_ends(draw: Random) -> Ends:
    """Half of all graphs are chains."""
    if draw.random() < 0.5:
        return chain(draw.choice((2, 3, 3, 4, 4, 5)))
    return SHAPES[draw.choice(sorted(SHAPES))]


def vertices_of(ends: Ends) -> list[str]:
    """Sources first, each vertex behind all that it reads."""
    names = list(dict.fromkeys(name for pair in ends for name in pair))
    ordered: list[str] = []
    while len(ordered) < len(names):
        ordered += [name for name in names if name not in ordered and all(a in ordered for a, b in ends if b == name)]
    return ordered


def random_parallelism(draw: Random, names: Sequence[str]) -> dict[str, int]:
    """The same everywhere, or each vertex its own; never many tasks, since a world has to be cheap."""
    same = draw.choice((1, 2, 2, 3))
    sizes = dict.fromkeys(names, same) if draw.random() < 0.5 else {name: draw.choice((1, 1, 2, 3)) for name in names}
    while sum(sizes.values()) > _MOST_TASKS:
        largest = max(sizes, key=lambda name: sizes[name])
        sizes[largest] -= 1
    return sizes


def random_edges(draw: Random, ends: Ends, sizes: dict[str, int]) -> tuple[Edge, ...]:
    """Forward only between vertices of one size; at most one edge broadcasts, since that multiplies the records."""
    edges: list[Edge] = []
    for source, target in ends:
        among = ["hash", "hash", *(ship for ship in ("rebalance", "random") if ship in SHIPS)]
        if sizes[source] == sizes[target]:
            among += ["forward", "forward"]
        if not any(edge.ship == "broadcast" for edge in edges):
            among.append("broadcast")
        edges.append(Edge(source, target, draw.choice(among)))
    return tuple(edges)
