"""What one replay may use: chosen by the server's settings, sent to its child, and named where it is reached."""

from __future__ import annotations

from dataclasses import dataclass

MEMORY, FILE, OPEN_FILES, CPU, TIME = "memory", "file", "open files", "CPU time", "time"


@dataclass(frozen=True, slots=True)
class ReplayLimits:
    """A recording is hostile, an operator may be wrong, and neither may take the machine down."""

    memory_bytes: int = 2 << 30
    file_bytes: int = 16 << 30
    open_files: int = 512
    cpu_s: int = 2 * 3600
    wall_s: int = 6 * 3600
    chosen: bool = True
    """Whether the server's settings say them; else they stand in the program."""

    def reached(self, which: str, what: str = "the replay") -> str:
        """One sentence: which limit ended a replay, or what else it bounds, and which setting it is."""
        of, setting = {
            MEMORY: (f"{_size(self.memory_bytes)} of memory", "CLONOSCOPE_REPLAY_MEMORY_BYTES"),
            FILE: (f"{_size(self.file_bytes)} for one file", "CLONOSCOPE_REPLAY_FILE_BYTES"),
            OPEN_FILES: (f"{self.open_files:,} open files", "CLONOSCOPE_REPLAY_OPEN_FILES"),
            CPU: (f"{self.cpu_s:,} s of CPU time", "CLONOSCOPE_REPLAY_CPU_S"),
            TIME: (f"{self.wall_s:,} s", "CLONOSCOPE_REPLAY_WALL_S"),
        }[which]
        return f"{what} was ended at its limit of {of}{f' ({setting})' if self.chosen else ''}"


def _size(size_bytes: int) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes:,} bytes"
