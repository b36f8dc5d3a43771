"""Outliving a loss of power: what a log holds is brought to the disk, where its job asks for that."""

from __future__ import annotations

import os
from pathlib import Path

from clonoscope.segmented_log import SegmentedLog
from clonoscope.segments import SUFFIX


def sync(log: SegmentedLog) -> None:
    """What was stored so far is on the disk when this returns. Raises `OSError` where it may not be."""
    with log.lock:
        segment, folder, last = log.segment, log.folder, log.segments - 1
        if folder is None:
            return
        for number in range(log.synced, last if segment is not None else last + 1):
            _sync_file(folder / f"{number}{SUFFIX}")
        if segment is not None:
            segment.sync()
        if log.named <= last:
            _sync_names(folder)
            log.named = last + 1
        # The last one is synchronised again as long as it is written into.
        log.synced = last + 1 if segment is None else last


def _sync_names(folder: Path) -> None:
    """Files are found after a loss of power by their folders; those above change with an attempt's first segment."""
    for one in (folder, folder.parent, folder.parent.parent, folder.parent.parent.parent):
        _sync_file(one)


def _sync_file(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # it was let go, as those are of epochs that are over
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
