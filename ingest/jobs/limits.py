"""What a replay's child process may use: a recording is hostile, and a replay must not take the machine down."""

from __future__ import annotations

import os
import resource

ADDRESS_SPACE_BYTES = 6 << 30
DATA_BYTES = 2 << 30
FILE_BYTES = 64 << 30
CPU_S = 6 * 3600
OPEN_FILES = 512


def limit_resources() -> None:
    """Mapped files count into the address space, so what bounds memory is the data limit; both are set."""
    _lower(resource.RLIMIT_AS, int(os.environ.get("CLONOSCOPE_REPLAY_AS_BYTES", ADDRESS_SPACE_BYTES)))
    _lower(resource.RLIMIT_DATA, int(os.environ.get("CLONOSCOPE_REPLAY_DATA_BYTES", DATA_BYTES)))
    _lower(resource.RLIMIT_FSIZE, FILE_BYTES)
    _lower(resource.RLIMIT_CPU, CPU_S)
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)


def _lower(which: int, wanted: int) -> None:
    """Never raises a limit that is lower already."""
    soft, hard = resource.getrlimit(which)
    bounds = [bound for bound in (wanted, soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(which, (min(bounds), hard))
