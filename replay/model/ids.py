"""The names of tasks, channels, threads and logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NewType

TaskId = NewType("TaskId", str)
"""`<vertex>.<subtask>`, as `join.3`."""

ChannelId = NewType("ChannelId", str)
"""`<from>><to>`, as `persons.0>join.3`."""

Thread = str
"""`main` or `out-<k>`."""

MAIN: Thread = "main"

WORLD = TaskId("world")
"""What lies outside of the job, where it is named beside tasks: as a holder, as the end of a pseudo-channel."""


def thread_of_output(k: int) -> Thread:
    """The name of the output thread of output channel `k`."""
    return f"out-{k}"


def output_of_thread(thread: Thread) -> int | None:
    """The output channel index of an output thread's name; None for the main thread."""
    return None if thread == MAIN else int(thread.removeprefix("out-"))


def channel_id(source: str, target: str) -> ChannelId:
    """The id of the channel from one task to another."""
    return ChannelId(f"{source}>{target}")


@dataclass(frozen=True, slots=True, order=True)
class LogId:
    """Names a thread log: whose task, which thread."""

    task: TaskId
    thread: Thread

    def __str__(self) -> str:
        return f"{self.task}/{self.thread}"
