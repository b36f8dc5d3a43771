"""A process and all that it started: the memory they have together, sampled, and the processor time they used."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

EVERY_S = 0.1
LEAST_SHARE = 20
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """The ids of a process and of all below it."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children[int(fields[1])].append(int(entry.name))
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def pss_bytes(pid: int) -> int:
    """Memory of a process, what it shares with others divided among them."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass
    return 0


def cpu_s(pids: Iterable[int]) -> float:
    """Processor time of processes, with that of those below them that have ended."""
    used = (_stat(pid)[11:15] for pid in pids)
    return sum(map(int, (ticks for fields in used for ticks in fields))) / _TICKS_PER_S


class Watched:
    """Samples a tree's memory until it is left; `most_bytes` of all together, `most_of` of each kind of process."""

    def __init__(self, root: int, *, without: int | None = None) -> None:
        """`without`: one below it that is not part of it, with all below that."""
        self.root, self.without, self.most_bytes, self.samples = root, without, 0, 0
        self.most_of: dict[str, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watched:
        self._began_s = cpu_s(self._watched())
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()
        own_s = self._own_s if self.root == os.getpid() else 0.0
        self.cpu_s = round(cpu_s(self._watched()) - self._began_s - own_s, 2)

    def _watched(self) -> list[int]:
        others = set(tree(self.without)) if self.without else ()
        return [pid for pid in tree(self.root) if pid not in others]

    def _watch(self) -> None:
        while True:
            began_s = time.monotonic()
            of_kind: dict[str, int] = defaultdict(int)
            for pid in self._watched():
                of_kind[_kind(pid, self.root)] += pss_bytes(pid)
            for kind, size in of_kind.items():
                self.most_of[kind] = max(self.most_of.get(kind, 0), size)
            self.most_bytes = max(self.most_bytes, sum(of_kind.values()))
            self.samples += 1
            # To add up what of 20 GiB is mapped takes a while each time, and is not to slow down what is watched.
            if self._done.wait(max(EVERY_S, LEAST_SHARE * (time.monotonic() - began_s))):
                self._own_s = time.thread_time()
                return


def _kind(pid: int, root: int) -> str:
    if pid == root:
        return "driver"
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
    except (FileNotFoundError, ProcessLookupError):
        return "workers"
    return "jvm" if command.endswith(b"java") else "workers"
