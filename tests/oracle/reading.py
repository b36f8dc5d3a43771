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
        self.protocol = self.manifest["protocol"]["name"]
        # Under these the world is a stable storage: logs are written there, and not shared.
        self.in_storage = self.protocol in ("pessimistic", "optimistic")
        self.shares = self.depth != 0
        self.keeps_logs = self.shares or self.in_storage
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
        self._buffers = {}

    @cached_property
    def events(self):
        file = self.path / "events.ndjson"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    @cached_property
    def diverged(self):
        """Attempts of tasks that recovered without determinants although some were logged."""
        began = [one for one in self.events if one["type"] == "attempt-started" and one.get("diverged")]
        return {(one["task"], one["attempt"]) for one in began}

    def binds_nobody(self, task, epoch, t_us):
        """Whether choices of that epoch are given up: a task above lost some, and the job went on past it."""
        if self.manifest["protocol"].get("on_lost") != "continue":
            return False
        for event in self.events:
            if event["type"] == "escalated" and event["t_us"] <= t_us and task in self.below(event["task"]):
                later = (one for one in self.events[event["n"] :] if one["type"] == "checkpoint-triggered")
                if epoch < next((one["checkpoint"] for one in later), epoch + 1):
                    return True
        return False

    def below(self, task):
        """All tasks that it sends to, and those that these send to."""
        found, waiting = set(), [task]
        while waiting:
            targets = {one["channel"].split(">")[1] for one in self.tasks[waiting.pop()]["outputs"]} - found
            found |= targets
            waiting += targets
        return found

    def is_free(self, task, attempt):
        """Whether that attempt began again at its checkpoint with choices of its own."""
        return not self.keeps_logs or (task, attempt) in self.diverged

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

    def taken(self, task, attempt, channel):
        """The receipts of what was taken from a channel, in that order."""
        i = self.tasks[task]["inputs"].index(channel)
        found = [one for one in self.frames(task, attempt, f"received-{i}", "rcv") if one.taken_us != -1]
        return sorted(found, key=lambda one: (one.taken_us, one.sender_attempt, one.seq))

    def lines_by_epoch(self, task, attempt, folder):
        """[(epoch, line)] of a member that has a line per object."""
        files = self.members.get((task, attempt, folder, "ndjson"), {})
        return [
            (epoch, json.loads(line))
            for epoch in sorted(files)
            for line in files[epoch].read_text("utf-8").splitlines()
        ]

    def lines(self, task, attempt, folder):
        return [line for _, line in self.lines_by_epoch(task, attempt, folder)]

    def json_lines(self):
        """(where, text) of all that is written as JSON in lines, and of each event that travels."""
        for file in self.files:
            if file.suffix == ".ndjson":
                name = file.relative_to(self.path).as_posix()
                yield from ((f"{name}:{n}", line) for n, line in enumerate(file.read_text("utf-8").splitlines(), 1))
        for task, attempt, folder, suffix in list(self.members):
            if suffix == "buf":
                for frame in self.frames(task, attempt, folder, suffix):
                    if frame.flags & 1:
                        yield f"tasks/{task}/{attempt}/{folder}: buffer {frame.seq}", frame.payload.decode()

    def records(self, task, attempt, k):
        """[(epoch, record)] of all records that end in buffers of an output."""
        stream = b""
        for frame in self.frames(task, attempt, f"sent-{k}", "buf"):
            stream = b"" if frame.flags & 1 else stream + frame.payload
            while len(stream) >= 4 and len(stream) >= (end := 4 + int.from_bytes(stream[:4], "big")):
                yield frame.epoch, json.loads(stream[4:end])
                stream = stream[end:]

    def buffer(self, channel, attempt, seq):
        """That buffer of a channel's sender; None where it was never cut."""
        if (channel, attempt) not in self._buffers:
            source, k, _, _ = self.channels[channel]
            frames = self.frames(source, attempt, f"sent-{k}", "buf")
            self._buffers[channel, attempt] = {one.seq: one for one in frames}
        return self._buffers[channel, attempt].get(seq)

    @cached_property
    def last_read_us(self):
        """When the last of all source records was read for the first time."""
        first = {}
        for task, attempt in self.each_attempt():
            for line in self.lines(task, attempt, "source"):
                first.setdefault((task, line["offset"]), line["t_us"])
        return max(first.values(), default=0)

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
