"""An independent, strict reader of bundles: knows docs/log-format.md and nothing of the product.

`complaints(path)` names everything in a bundle's directory that contradicts the format, or itself.
"""

import sys

from tests.oracle import channels, logs, shape
from tests.oracle.delta_layouts import delta_messages
from tests.oracle.reading import Recording

__all__ = ["Recording", "complaints"]

CHECKS = (*shape.CHECKS, *channels.CHECKS, *logs.CHECKS)


def complaints(path):
    """Every contradiction, in words; none for a good recording."""
    recording = Recording(path)
    found = [complaint for check in CHECKS for complaint in check(recording)]
    layout = recording.manifest["protocol"].get("delta_layout", "flat")
    return found + list(logs.check_deltas(recording, lambda data: delta_messages(data, layout)))


if __name__ == "__main__":
    print(*complaints(sys.argv[1]), sep="\n")
