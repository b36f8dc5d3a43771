"""Where the fields of each kind of determinant stand, as numbers for the compiled scans.

Sizes are measured from the codec's own encodings; whatever is not laid out here is given to the codec.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from replay.log.codec import encode
from replay.log.determinants import (
    KINDS,
    BufferBuilt,
    IgnoreCheckpoint,
    Order,
    Rng,
    Serializable,
    SourceCheckpoint,
    Take,
    TimerTrigger,
    Timestamp,
)

CODE_OF = {one.TAG: code for code, one in enumerate(KINDS)}
"""A kind's place among the kinds, by its tag."""
KIND_NAMES = tuple(one.kind for one in KINDS)
CODES = len(KINDS)
SERIALIZABLE, TIMER, SOURCE_CHECKPOINT = (CODE_OF[one.TAG] for one in (Serializable, TimerTrigger, SourceCheckpoint))
BUFFER_BUILT = CODE_OF[BufferBuilt.TAG]

_PLAIN = (Order(0), Timestamp(0), Rng(0), IgnoreCheckpoint(0, 0), BufferBuilt(0), Take(0, 0, 0))
CODE_OF_TAG: npt.NDArray[np.uint8] = np.array([CODE_OF.get(tag, CODES) for tag in range(256)], dtype=np.uint8)
"""Of what is no tag: one more than the last kind's."""
SIZE_OF_TAG: npt.NDArray[np.int64] = np.zeros(256, dtype=np.int64)
"""0 for what has no fixed size."""
for _one in _PLAIN:
    SIZE_OF_TAG[_one.TAG] = len(encode(_one))

TIMER_BYTES, TIMER_TYPE_AT, TIMER_NAME_AT = 14, 13, 18
CHECKPOINT_BYTES, CHECKPOINT_TYPE_AT, HAS_REFERENCE_AT, REFERENCE_AT = 23, 21, 22, 27
SIZED_HEAD_BYTES = 8
"""Of a payload that tells its size: tag, `CL`, content type, length."""

_U1, _U4, _I4, _I8 = 1, 2, 3, 4
NUMBERS: dict[str, dict[int, tuple[int, int]]] = {
    "channel": {Order.TAG: (1, _U1), Take.TAG: (1, _U4)},
    "value": {Timestamp.TAG: (1, _I8), Rng.TAG: (1, _I4)},
    "record_count": {TimerTrigger.TAG: (1, _I4), SourceCheckpoint.TAG: (1, _I4), IgnoreCheckpoint.TAG: (1, _I4)},
    "timestamp": {TimerTrigger.TAG: (5, _I8), SourceCheckpoint.TAG: (13, _I8)},
    "checkpoint": {SourceCheckpoint.TAG: (5, _I8), IgnoreCheckpoint.TAG: (5, _I8)},
    "buffer_bytes": {BufferBuilt.TAG: (1, _I4)},
    "first_offset": {Take.TAG: (5, _I8)},
    "records": {Take.TAG: (13, _U4)},
}
"""Of each column of numbers: by tag where in the determinant it stands, and as what."""


def placed(column: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """By a kind's code: where a column's number stands (0: it has none), and as what."""
    at, form = np.zeros(CODES, dtype=np.uint8), np.zeros(CODES, dtype=np.uint8)
    for tag, (where, what) in NUMBERS[column].items():
        at[CODE_OF[tag]], form[CODE_OF[tag]] = where, what
    return at, form
