"""An independent, strict reader of bundles: knows docs/log-format.md and nothing of the product.

`complaints(path)` names everything in a bundle's directory that contradicts the format, or itself.
"""

import struct
import sys

from tests.oracle import causes, channels, counts, lines, logs, manifest, shape, transactions, world
from tests.oracle.delta_layouts import delta_messages
from tests.oracle.reading import Recording
from tests.replay.log import oracle_codec

__all__ = ["Recording", "complaints"]

CHECKS = tuple(
    check
    for subject in (manifest, shape, causes, channels, logs, counts, world, lines, transactions)
    for check in subject.CHECKS
)

UNREADABLE = (OSError, AssertionError, LookupError, ValueError, TypeError, struct.error, oracle_codec.Cut)
"""What reading raises where a member isn't of its form at all."""


def complaints(path):
    """Every contradiction, in words; none for a good recording."""
    try:
        recording = Recording(path)
    except UNREADABLE as wrong:
        return [f"cannot be read: {type(wrong).__name__}: {wrong}"]
    found = []
    layout = recording.manifest["protocol"].get("delta_layout", "flat")
    for check in (*CHECKS, lambda one: logs.check_deltas(one, lambda data: delta_messages(data, layout))):
        try:
            found += check(recording)
        except UNREADABLE as wrong:
            found.append(f"cannot be read: {type(wrong).__name__}: {wrong}")
    return found


if __name__ == "__main__":
    print(*complaints(sys.argv[1]), sep="\n")
