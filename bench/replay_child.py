"""A replay in its child process, started as the worker starts it: its first step, its speed, its memory."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.launch import ReplayRequest, SpareReplay, run_replay

LOOK_S = 0.01  # nothing tells of a manifest that is replaced, or of memory that grows: both are looked at
MIB = 1 << 20
SHARES = (0.1, 0.25, 0.5, 0.75)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Child:
    """One replay of a task's first attempt, into a folder that is made for it.

    `prepared`: as the worker has one waiting; else it loads its libraries when it is asked to replay.
    """

    pack: Path
    folder: Path
    task: str
    expected_steps: int
    prepared: bool = False
    resident: dict[str, float] = field(default_factory=dict)
    most_mib: float = 0.0
    outcome: dict[str, Any] = field(default_factory=dict)
    _spare: SpareReplay = field(init=False)

    def __post_init__(self) -> None:
        self._spare = SpareReplay(self._log_path)
        if self.prepared:
            self._spare.prepare()

    @property
    def _log_path(self) -> Path:
        return self.folder.with_suffix(".log")

    def run(self) -> dict[str, Any]:
        self.folder.mkdir()
        running = threading.Thread(target=self._run)
        begun_s, first_s, pid = time.monotonic(), None, None
        running.start()
        while running.is_alive():
            pid = pid or _child_of(os.getpid())
            steps = self._readable()
            if first_s is None and steps:
                first_s = time.monotonic() - begun_s
            if pid is not None:
                self._sample(pid, steps)
            time.sleep(LOOK_S)
        took_s = time.monotonic() - begun_s
        if self.outcome.get("verdict") != "identical" or first_s is None:
            raise SystemExit(f"the replay of {self.task} did not come out: {self.outcome}")
        steps = int(self.outcome["steps"])
        resident = self.resident | {"most": round(self.most_mib, 1)}
        wall = {"first_step_s": round(first_s, 2), "took_s": round(took_s, 1), "steps_per_s": round(steps / took_s)}
        return {"steps": steps, **wall, "resident_mib": resident}

    def _run(self) -> None:
        request = ReplayRequest(pack=self.pack, folder=self.folder, task=self.task, attempt=0)
        self.outcome = run_replay(request, self._log_path, spare=self._spare)

    def _readable(self) -> int:
        try:
            return int(json.loads((self.folder / "manifest.json").read_bytes())["steps"])
        except FileNotFoundError:
            return 0

    def _sample(self, pid: int, steps: int) -> None:
        resident_mib = _resident_mib(pid)
        self.most_mib = max(self.most_mib, resident_mib)
        for share in SHARES:
            if steps >= share * self.expected_steps:
                self.resident.setdefault(f"{share:.0%}", round(resident_mib, 1))


def _child_of(parent: int) -> int | None:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = path.read_text().rpartition(")")
        except OSError:
            continue
        if int(fields.split()[1]) == parent:
            return int(name.split()[0])
    return None


def _resident_mib(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / MIB
    except (OSError, IndexError):
        return 0.0
