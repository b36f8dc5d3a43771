"""Small recordings of all kinds, and ways to damage their members."""

import json
import shutil
import struct

from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.protocols import PROTOCOLS
from tests.oracle.jobs import sink_complaints
from tests.oracle_reader import UNREADABLE, Recording, complaints

COMMON = {"seed": 3, "events": 300, "checkpoint_interval_ms": 60, "rate_per_s": 1500.0}
RECORDED = {
    "determinants": {
        "job": "windowed",
        "time": "event",
        "sink": "determinant",
        "window_ms": 100,
        "slide_ms": 50,
        "kills": ("window.1@110", "sink.0@190"),
    },
    "transactions": {
        "job": "enrich",
        "sink": "transactional",
        "spill": "eager",
        "kills": ("enrich.1@110", "sink.0@190"),
    },
    "write-ahead": {"job": "word-count", "sink": "idempotent", "kills": ("count.1@110", "sink.0@130")},
    "storage": {"job": "pass-through", "protocol": "pessimistic", "kills": ("map-1.1@110", "sink.0@190")},
    "services": {
        "job": "random-load-balance",
        "random": "seed",
        "delta_layout": "grouping",
        "kills": ("dispatch.1@110", "sink.0@112"),
    },
    "clock": {"job": "windowed", "clock_period_ms": 5, "window_ms": 100, "slide_ms": 50, "kills": ("window.1@110",)},
}
"""Options of `record`, by what is to be seen in it."""


def recorded(name, out):
    record(RecordOptions(**COMMON, **RECORDED[name]), out, protocols=PROTOCOLS)
    return out


def found_wrong(bundle):
    """What the reader says, and what the sinks' oracle does."""
    found = complaints(bundle)
    try:
        return found + list(sink_complaints(Recording(bundle)))
    except UNREADABLE as wrong:
        return [*found, f"sinks can't be read: {wrong}"]


class Damaged:
    """A copy of a recording, and ways to put something else into it."""

    def __init__(self, recording, out):
        self.path = shutil.copytree(recording, out)

    def first(self, pattern):
        """The first member of that pattern that holds anything."""
        return next(one for one in sorted(self.path.glob(pattern)) if one.stat().st_size)

    def last(self, pattern):
        return [one for one in sorted(self.path.glob(pattern)) if one.stat().st_size][-1]

    def pack(self, pattern, at, form, value):
        file = self.first(pattern)
        data = bytearray(file.read_bytes())
        struct.pack_into(form, data, at, value)
        file.write_bytes(data)

    def replace(self, pattern, old, new):
        """The first occurrence in any member of the pattern."""
        for file in sorted(self.path.glob(pattern)):
            data = file.read_bytes()
            if old in data:
                file.write_bytes(data.replace(old, new, 1))
                return
        raise AssertionError(f"no {pattern} holds {old!r}")

    def line(self, pattern, change, which=0):
        """Changes an object of a member that has one a line."""
        file = self.first(pattern)
        lines = file.read_text("utf-8").splitlines()
        made = json.loads(lines[which])
        change(made)
        lines[which] = written(made)
        file.write_text("\n".join(lines) + "\n", "utf-8")

    def json(self, pattern, change):
        """Changes a member that is one object."""
        file = self.first(pattern)
        made = json.loads(file.read_text("utf-8"))
        change(made)
        file.write_text(written(made), "utf-8")

    def event(self, kind, change, which=0):
        """Changes the so-and-so-manieth event of a kind."""
        file = self.path / "events.ndjson"
        lines = file.read_text("utf-8").splitlines()
        numbers = [n for n, line in enumerate(lines) if json.loads(line)["type"] == kind]
        made = json.loads(lines[numbers[which]])
        change(made)
        lines[numbers[which]] = written(made)
        file.write_text("\n".join(lines) + "\n", "utf-8")


def written(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
