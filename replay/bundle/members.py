"""What a member's name says: which task, attempt, thread or channel, and epoch it belongs to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from replay.model import MAIN, TaskId, Thread, thread_of_output

Kind = Literal["manifest", "events", "det", "buf", "dlt", "rcv", "state", "source", "sink", "world", "sites", "unknown"]

MANIFEST = "job.json"
EVENTS = "events.ndjson"
MAX_EPOCH = (1 << 63) - 1
MAX_ATTEMPT = (1 << 32) - 1

_NUMBER = r"(0|[1-9][0-9]{0,18})"
_TASK_MEMBER = re.compile(rf"tasks/([^/]+\.{_NUMBER})/{_NUMBER}/([a-z]+)(?:-{_NUMBER})?/{_NUMBER}\.([a-z]+)", re.ASCII)
_SITES = re.compile(rf"tasks/([^/]+\.{_NUMBER})/{_NUMBER}/sites\.ndjson", re.ASCII)
_KINDS: dict[tuple[str, bool, str], Kind] = {
    ("main", False, "det"): "det",
    ("out", True, "det"): "det",
    ("sent", True, "buf"): "buf",
    ("sent", True, "dlt"): "dlt",
    ("received", True, "rcv"): "rcv",
    ("state", False, "json"): "state",
    ("source", False, "ndjson"): "source",
    ("sink", False, "ndjson"): "sink",
    ("world", False, "dlt"): "world",
}


@dataclass(frozen=True, slots=True)
class MemberName:
    """A parsed name. `index` is the output `k` or the input `i`; `epoch` is the checkpoint of a state member."""

    kind: Kind
    name: str
    task: TaskId | None = None
    attempt: int | None = None
    folder: str | None = None
    index: int | None = None
    epoch: int | None = None

    @property
    def thread(self) -> Thread | None:
        """The thread of a `.det` member."""
        if self.kind != "det":
            return None
        return MAIN if self.index is None else thread_of_output(self.index)


@lru_cache(maxsize=1 << 14)
def parse_member(name: str) -> MemberName:
    """What the name says; `unknown` for a member that this version does not know."""
    if name == MANIFEST:
        return MemberName("manifest", name)
    if name == EVENTS:
        return MemberName("events", name)
    if found := _TASK_MEMBER.fullmatch(name):
        task, _, attempt, folder, index, epoch, suffix = found.groups()
        kind = _KINDS.get((folder, index is not None, suffix))
        if kind and int(epoch) <= MAX_EPOCH and int(attempt) <= MAX_ATTEMPT:
            label = folder if index is None else f"{folder}-{index}"
            at = None if index is None else int(index)
            return MemberName(kind, name, TaskId(task), int(attempt), label, at, int(epoch))
    elif found := _SITES.fullmatch(name):
        return MemberName("sites", name, TaskId(found[1]), int(found[3]))
    return MemberName("unknown", name)


_ALMOST = re.compile(r"tasks/[^/]+/[^/]+/(?:main|out-[^/]*|sent-[^/]*|received-[^/]*|world)/[^/]+\.(?:det|buf|dlt|rcv)")


def looks_like_task_member(name: str) -> bool:
    """Whether an unknown name is so near to a log's or a channel's that ignoring it in silence would be wrong."""
    return _ALMOST.fullmatch(name) is not None


_SUFFIXES = {"main": "det", "out": "det", "received": "rcv", "state": "json", "source": "ndjson", "sink": "ndjson"}


def member_name(task: str, attempt: int, folder: str, epoch: int, suffix: str | None = None) -> str:
    """The name of a task's member; the suffix is needed for `sent-<k>` only, which has two kinds."""
    suffix = suffix or _SUFFIXES.get(folder.partition("-")[0], "dlt")
    return f"tasks/{task}/{attempt}/{folder}/{epoch}.{suffix}"
