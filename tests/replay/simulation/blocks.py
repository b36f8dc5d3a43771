"""Blocks of random worlds, one after the other: a failing one is made smaller and says how to run it again."""

from __future__ import annotations

from replay.simulation.trial import failing, shrunk

BLOCK = 50


def run_block(first: int) -> None:
    for verdict in failing(range(first, first + BLOCK)):
        small = shrunk(verdict, trials=100)
        raise AssertionError(
            f"seed {verdict.world.seed}: {verdict.faults}\n"
            f"{verdict.world.describes}\n{verdict.world.reproduce_with}\n"
            f"smaller: {small.faults}\n{small.world.describes}\n{small.world.reproduce_with}"
        )
