"""Many seeds side by side, in several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from replay.simulation.trial import failing

_BLOCK = 25
_Found = TypeVar("_Found")


def side_by_side(
    work: Callable[[Sequence[int]], list[_Found]], seeds: Sequence[int], *, processes: int = 1, block: int = _BLOCK
) -> Iterator[_Found]:
    """What `work`, a module's function, finds for blocks of seeds, in their order; in one process, seed by seed."""
    if processes <= 1:
        for seed in seeds:
            yield from work((seed,))
        return
    blocks = [seeds[i : i + block] for i in range(0, len(seeds), block)]
    with ProcessPoolExecutor(processes) as pool:
        try:
            for found in pool.map(work, blocks):
                yield from found
        finally:
            pool.shutdown(cancel_futures=True)


def failing_seeds(seeds: Sequence[int], *, processes: int = 1) -> Iterator[int]:
    """The seeds of those worlds that show a fault, in their order."""
    return side_by_side(_failing, seeds, processes=processes)


def _failing(seeds: Sequence[int]) -> list[int]:
    return [verdict.world.seed for verdict in failing(seeds)]
