"""Many worlds side by side, in several processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from replay.simulation.trial import failing

_BLOCK = 25


def failing_seeds(seeds: Sequence[int], *, processes: int = 1) -> Iterator[int]:
    """The seeds of those worlds that show a fault, in their order."""
    if processes <= 1:
        yield from (verdict.world.seed for verdict in failing(seeds))
        return
    blocks = [seeds[i : i + _BLOCK] for i in range(0, len(seeds), _BLOCK)]
    with ProcessPoolExecutor(processes) as pool:
        try:
            for found in pool.map(_failing, blocks):
                yield from found
        finally:
            pool.shutdown(cancel_futures=True)


def _failing(seeds: Sequence[int]) -> list[int]:
    return [verdict.world.seed for verdict in failing(seeds)]
