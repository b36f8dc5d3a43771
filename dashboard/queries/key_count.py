"""How many keys the operator's state holds after a step."""

from __future__ import annotations

from dashboard.queries.written_once import once_written
from ingest.lake.step_reader import StepReader

BLOCK_STEPS = 1 << 16
# A key is there since a change before which it was absent, until one after which it is.
_NET = "count(*) FILTER (WHERE before IS NULL) - count(*) FILTER (WHERE after IS NULL)"
_CAME_OR_WENT = "(before IS NULL) <> (after IS NULL)"
_BLOCKS_SQL = f"SELECT step // {BLOCK_STEPS}, {_NET} FROM state_changes WHERE {_CAME_OR_WENT} GROUP BY 1"
_REST_SQL = f"SELECT {_NET} FROM state_changes WHERE step >= $first AND step <= $step AND {_CAME_OR_WENT}"


def key_count(written: StepReader, step: int) -> int:
    """What came and went is counted once for each block of steps, and anew within the block of the step alone."""
    first = step // BLOCK_STEPS * BLOCK_STEPS
    blocks: list[tuple[int, int]] = once_written(written, "keys by block", lambda: written.rows(_BLOCKS_SQL))
    ((rest,),) = written.rows(_REST_SQL, {"first": first, "step": step})
    return sum(net for block, net in blocks if block * BLOCK_STEPS < first) + int(rest)
