"""Arrays that stay in memory while they are few, and lie in files of a scratch folder beyond that."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

IN_MEMORY_BYTES = 128 << 20


@dataclass(slots=True)
class Spool:
    """`folder` is made when it is first needed; whoever gave it takes it away."""

    folder: Path
    kept_bytes: int = 0
    files: int = field(default=0)
    _mapped: list[np.memmap[Any, Any]] = field(default_factory=list)

    def keep(self, array: Any) -> Any:
        """The same array, or the same numbers in a file."""
        if self.kept_bytes + array.nbytes <= IN_MEMORY_BYTES or not array.nbytes:
            self.kept_bytes += array.nbytes
            return array
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{self.files}.npy"
        self.files += 1
        np.save(path, array, allow_pickle=False)
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        self._mapped.append(mapped)
        return mapped

    def let_go(self) -> None:
        """What was read of files is no longer this process's memory, until it is read again."""
        for one in self._mapped:
            one._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
