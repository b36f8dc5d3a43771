"""An independent, strict reader of bundles: knows docs/log-format.md and nothing of the product.

`complaints(path)` names everything in a bundle's directory that contradicts the format, or itself.
"""

import sys

from tests.oracle import channels, logs, shape
from tests.oracle.reading import Recording, delta_messages

__all__ = ["Recording", "complaints"]

CHECKS = (*shape.CHECKS, *channels.CHECKS, *logs.CHECKS)


def complaints(path):
    """Every contradiction, in words; none for a good recording."""
    recording = Recording(path)
    found = [complaint for check in CHECKS for complaint in check(recording)]
    if recording.manifest["protocol"].get("delta_layout", "flat") == "flat":
        found += logs.check_deltas(recording, delta_messages)
    return found


if __name__ == "__main__":
    print(*complaints(sys.argv[1]), sep="\n")
