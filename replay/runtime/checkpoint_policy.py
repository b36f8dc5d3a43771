"""When checkpoints are begun and given up, and what of a snapshot is uploaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replay.model import json_bytes


@dataclass(frozen=True, slots=True)
class CheckpointPolicy:
    """`back_off_intervals`: so many intervals after a failure none is begun, and the failed task can catch up.

    One that is pending for longer than `timeout_us` is given up. Between the end of one and the next lie at least
    `min_pause_us`. With `incremental`, only what changed since the last completed checkpoint is uploaded.
    """

    back_off_intervals: float = 3
    timeout_us: int = 600_000_000
    min_pause_us: int = 0
    incremental: bool = False


def upload_bytes(before: Mapping[str, Any] | None, after: Mapping[str, Any], size: int, declared_bytes: int) -> int:
    """What an incremental upload weighs: the entries of the operator's state that are new, other or gone, and the rest.

    An entry is a top-level value, or a pair of a list of `[key, value]` pairs. Of the bytes that the state is declared
    to have, the share is taken that the changed entries are of all entries.
    """
    if before is None:
        return size + declared_bytes
    was, now = _entries(before["operator"]), _entries(after["operator"])
    held = sum(map(len, now.values()))
    changed = sum(len(data) for key, data in now.items() if was.get(key) != data)
    gone = sum(len(key) for key in was if key not in now)
    share = changed / held if held else 0
    return max(0, size - held) + changed + gone + round(share * declared_bytes)


def _entries(operator: Mapping[str, Any]) -> dict[bytes, bytes]:
    found = {}
    for name, value in operator.items():
        if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            found.update({json_bytes([name, pair[0]]): json_bytes(pair) for pair in value})
        else:
            found[json_bytes([name])] = json_bytes(value)
    return found
