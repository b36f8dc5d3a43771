"""What is said where files could not be written: which folder, why, and what to do. Standard library only."""

from __future__ import annotations

import errno
import os
from pathlib import Path

FULL = frozenset((errno.ENOSPC, errno.EDQUOT))


def not_written(fault: OSError, folder: Path) -> str:
    """One sentence about a replay whose steps could not be written there, and its remedy."""
    why = (os.strerror(fault.errno) if fault.errno else str(fault)).removesuffix(".")
    remedy = "Make room" if fault.errno in FULL else "See that the server can read and write there"
    return f"{fault.filename or folder}: {why}. {remedy}, then replay again."
