"""Looks at processes through /proc: who descends from whom, and who is gone."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def descendants(pid: int) -> dict[int, str]:
    """Everything below a process, with its command line."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            parent = parent_of(int(entry.name))
            if parent is not None:
                children.setdefault(parent, []).append(int(entry.name))
    found: dict[int, str] = {}
    waiting = list(children.get(pid, ()))
    while waiting:
        one = waiting.pop()
        found[one] = command_of(one)
        waiting += children.get(one, ())
    return found


def parent_of(pid: int) -> int | None:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if after_name[0] == "Z" else int(after_name[1])


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def is_alive(pid: int) -> bool:
    return parent_of(pid) is not None


def wait_until(condition: Callable[[], object], what: str, deadline_s: float = 10.0) -> None:
    ends_s = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < ends_s, f"{what} did not come true within {deadline_s} s"
        time.sleep(0.02)  # between two looks at the condition


def wait_until_gone(pids: list[int], deadline_s: float = 5.0) -> None:
    def gone() -> bool:
        return not any(is_alive(pid) for pid in pids)

    try:
        wait_until(gone, "", deadline_s)
    except AssertionError:
        left = {pid: command_of(pid)[:150] for pid in pids if is_alive(pid)}
        for pid in left:
            os.kill(pid, 9)
        raise AssertionError(f"still alive after {deadline_s} s: {left}") from None
