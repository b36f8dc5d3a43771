"""How a process that lives on has its memory: what was large and is freed is the machine's again, at once."""

from __future__ import annotations

import ctypes

import pyarrow as pa

LARGE_BYTES = 1 << 20
# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def give_back_what_is_freed() -> None:
    """For a driver, in which arrays of tens of MiB come and go; in tasks it would cost time, and they end."""
    pa.set_memory_pool(pa.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries for C have none, and need none
    if mallopt is not None:
        for which in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
            mallopt(which, LARGE_BYTES)
