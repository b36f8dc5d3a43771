"""Reads a bundle's directory strictly, by the words of docs/log-format.md alone. Imports nothing of the product."""

import json
import re
import struct
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.replay.log.oracle_codec import decode_stream


@dataclass(frozen=True)
class Buffer:
    seq: int
    t_us: int
    flags: int
    main_epoch: int
    main_offset: int
    payload: bytes
    epoch: int

    @property
    def event(self):
        return json.loads(self.payload) if self.flags & 1 else None


@dataclass(frozen=True)
class Sending:
    seq: int
    t_us: int
    receiver_attempt: int
    sending: int
    flags: int
    delta: bytes
    epoch: int


@dataclass(frozen=True)
class Receipt:
    seq: int
    sender_attempt: int
    sending: int
    received_us: int
    taken_us: int
    main_epoch: int
    main_offset: int
    record_count: int
    epoch: int


def _frames(data, form, *, sized):
    at = 0
    while at < len(data):
        head = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        size = head[-1] if sized else 0
        assert 0 <= size <= len(data) - at, f"a frame claims {size} bytes"
        yield (*head[:-1], data[at : at + size]) if sized else head
        at += size


FRAMES = {
    "buf": lambda data, epoch: [Buffer(*one, epoch) for one in _frames(data, ">qqBqii", sized=True)],
    "dlt": lambda data, epoch: [Sending(*one, epoch) for one in _frames(data, ">qqIIBi", sized=True)],
    "rcv": lambda data, epoch: [Receipt(*one, epoch) for one in _frames(data, ">qIIqqqii", sized=False)],
}
NUMBER = r"(0|[1-9]\d*)"
MEMBER = re.compile(
    rf"tasks/(.+\.\d+)/{NUMBER}/(main|out-\d+|sent-\d+|received-\d+|state|source|sink|world)/{NUMBER}\.(\w+)"
)


class Recording:
    """A bundle in memory, by task and attempt."""

    def __init__(self, path):
        self.path = Path(path)
        self.files = sorted(one for one in self.path.rglob("*") if one.is_file())
        self.manifest = json.loads((self.path / "job.json").read_text("utf-8"))
        self.tasks = {task["id"]: task for task in self.manifest["tasks"]}
        self.depth = self.manifest["protocol"].get("sharing_depth", "full")
        self.logging = self.depth != 0
        self.channels = {}
        for task in self.manifest["tasks"]:
            for k, output in enumerate(task["outputs"]):
                source, target = output["channel"].split(">")
                i = self.tasks[target]["inputs"].index(output["channel"])
                self.channels[output["channel"]] = (source, k, target, i)
        # Where a world outside keeps determinants, every sink has a channel there.
        self.worlds = {f"{task}>world" for task in self.tasks}
        self.members = defaultdict(dict)
        self.unknown = []
        for file in self.files:
            name = file.relative_to(self.path).as_posix()
            found = MEMBER.fullmatch(name)
            if found:
                task, attempt, folder, epoch, suffix = found.groups()
                self.members[task, int(attempt), folder, suffix][int(epoch)] = file
            elif name not in ("job.json", "events.ndjson"):
                self.unknown.append(name)
        self._frames = {}

    @cached_property
    def events(self):
        file = self.path / "events.ndjson"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    @cached_property
    def attempts(self):
        """{task: its attempts that have members}."""
        found = defaultdict(set)
        for task, attempt, _, _ in self.members:
            found[task].add(attempt)
        return {task: sorted(attempts) for task, attempts in found.items()}

    def each_attempt(self):
        return [(task, attempt) for task in sorted(self.attempts) for attempt in self.attempts[task]]

    def logs(self, task, attempt, thread):
        """{epoch: bytes}."""
        files = self.members.get((task, attempt, thread, "det"), {})
        return {epoch: files[epoch].read_bytes() for epoch in sorted(files)}

    def determinants(self, task, attempt, thread):
        """[(epoch, offset, kind, fields)]."""
        logs = self.logs(task, attempt, thread)
        return [
            (epoch, offset, kind, fields)
            for epoch, data in logs.items()
            for offset, _, kind, fields in decode_stream(data)
        ]

    def frames(self, task, attempt, folder, suffix):
        """The frames of a channel's members, by epoch of the file and in each as written."""
        key = task, attempt, folder, suffix
        if key not in self._frames:
            files = self.members.get(key, {})
            read = FRAMES[suffix]
            self._frames[key] = [one for epoch in sorted(files) for one in read(files[epoch].read_bytes(), epoch)]
        return self._frames[key]

    def lines(self, task, attempt, folder):
        files = self.members.get((task, attempt, folder, "ndjson"), {})
        return [json.loads(line) for epoch in sorted(files) for line in files[epoch].read_text("utf-8").splitlines()]

    def states(self, task, attempt):
        files = self.members.get((task, attempt, "state", "json"), {})
        return {checkpoint: json.loads(files[checkpoint].read_text("utf-8")) for checkpoint in sorted(files)}

    def start_of(self, task, attempt):
        """The event with which an attempt began."""
        found = [
            event
            for event in self.events
            if event["type"] == "attempt-started" and (event["task"], event["attempt"]) == (task, attempt)
        ]
        return found[0] if len(found) == 1 else None

    def snapshot_for(self, task, attempt):
        """What the attempt restored: the state of the last earlier attempt that took that checkpoint."""
        start = self.start_of(task, attempt)
        checkpoint = start["checkpoint"] if start else 0
        for earlier in reversed(range(attempt)):
            state = self.states(task, earlier).get(checkpoint)
            if state is not None:
                return state
        return {"inputs": {}, "outputs": {}}
