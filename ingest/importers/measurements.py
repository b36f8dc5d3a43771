"""Published measurements as a bundle: what came out of an engine's sinks, how late, and when tasks were killed.

Three tab-separated files of one folder, as the authors of such measurements publish them: `throughput` (a time, the
rate of all and of each sink), `latency` (of each sink, a sample a row: when it came in, out and to be seen, and the
delay) and `killtime` (a host, the number of a vertex, a subtask and a time). Times are milliseconds of a wall clock.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from replay.bundle.container import Container
from replay.bundle.limits import Limits
from replay.bundle.writer import BundleWriter
from replay.errors import BundleError
from replay.model import Clock, Job, Manifest, Protocol, Task, TaskId, Vertex, json_bytes

RECORDER = "measurements importer"
FILES = ("throughput", "latency", "killtime")
NEEDED = ("throughput", "latency")
MOST_FILE_BYTES = 64 << 20
MOST_SINKS = 4_096
MOST_VERTEX = 65_534
MOST_SUBTASK = 1_023
MOST_KILLS = 50
MOST_MS = 1 << 52
REMEDY = "Take the files as they were published"
LACKS = (
    "No log is in measurements: nothing can be executed again, and no verdict says identical.",
    "Which operator feeds which is not in them; killed tasks are named by the numbers of their vertices.",
    "That a task was killed is known, and when. When that was noticed, and when it ran again, is not: its recovery "
    "shows in the curves alone.",
    "A rate counts as that of the time since the sample before it, and a latency in the sample in which it came out: a "
    "sample of the rate has the median and the 99th percentile of those, or none.",
)
_FOLDER = re.compile(r"(?P<folder>(?:.*/)?)throughput")
_WHOLE = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Rates:
    """At each time, of each sink, records a second since the time before."""

    times_ms: list[int]
    of_sinks: list[list[int]]


@dataclass(frozen=True, slots=True)
class Kill:
    at_ms: int
    vertex: int
    subtask: int
    host: str

    @property
    def task(self) -> str:
        return f"vertex-{self.vertex}.{self.subtask}"


def folder_of(names: Iterable[str]) -> str | None:
    """Where the files lie, with a slash at its end, empty for the top; None where there are none, or several sets."""
    known = set(names)
    folders = [found["folder"] for name in known if (found := _FOLDER.fullmatch(name))]
    whole = [folder for folder in folders if all(f"{folder}{name}" in known for name in NEEDED)]
    return whole[0] if len(whole) == 1 else None


def are_measurements(names: Iterable[str]) -> bool:
    return folder_of(names) is not None


def write_bundle(container: Container, names: set[str], writer: BundleWriter, name: str, limits: Limits) -> None:
    """Closes the writer over the bundle. Raises `BundleError` for a line that breaks a rule."""
    folder = folder_of(names) or ""
    files = _read(container, folder, limits)
    rates = _rates(files["throughput"])
    delays = _delays(files["latency"], len(rates.of_sinks))
    kills = _kills(files["killtime"]) if "killtime" in files else []
    origin_ms = min([*rates.times_ms[:1], *(one.at_ms for one in kills)])
    for n, event in enumerate(sorted(_events(rates, delays, kills), key=lambda one: one["t_us"])):
        at_us = (event.pop("t_us") - origin_ms) * 1000
        writer.append("events.ndjson", json_bytes({"n": n, "t_us": at_us, **event}) + b"\n")
    told = {"importer": RECORDER, "query": "", "says": _says(rates, kills), "lacks": list(LACKS), "batches": []}
    writer.append("imported.json", json_bytes(told))
    writer.close(_manifest(name, origin_ms, len(rates.of_sinks), kills))


class _Lines:
    """A file's lines, cut at tabs and blanks, each with the byte at which it begins."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path, self._data, self.at = path, data, 0

    def __iter__(self) -> Any:
        for line in self._data.split(b"\n"):
            cells = line.decode("utf-8", "replace").split()
            if cells:
                yield cells
            self.at += len(line) + 1

    def fault(self, why: str) -> BundleError:
        return BundleError(why, path=self.path, offset=self.at, remedy=REMEDY)

    def whole(self, text: str, what: str, most: int = MOST_MS) -> int:
        if not _WHOLE.fullmatch(text) or int(text) > most:
            raise self.fault(f"{what} must be a whole number up to {most}, and is {text[:40]!r}")
        return int(text)


def _read(container: Container, folder: str, limits: Limits) -> dict[str, _Lines]:
    found = {}
    for name, size, stream in container.members():
        limits.check_size(name, size)
        short = name.removeprefix(folder) if name.startswith(folder) else ""
        if short in FILES:
            if size > MOST_FILE_BYTES:
                raise BundleError(
                    f"the file has {size} bytes; at most {MOST_FILE_BYTES} are read of one", path=name, remedy=REMEDY
                )
            found[short] = _Lines(name, stream.read(MOST_FILE_BYTES))
    return found


def _rates(lines: _Lines) -> Rates:
    rates: Rates | None = None
    for cells in lines:
        if rates is None:
            if cells[:2] != ["TIME", "THROUGHPUT"] or not 2 < len(cells) <= MOST_SINKS + 2:
                raise lines.fault(f"its head must name TIME, THROUGHPUT and 1 to {MOST_SINKS} partitions")
            rates = Rates([], [[] for _ in cells[2:]])
            continue
        if len(cells) != len(rates.of_sinks) + 2:
            raise lines.fault(f"the line has {len(cells)} values, and its head names {len(rates.of_sinks) + 2}")
        at_ms = lines.whole(cells[0], "a time")
        if rates.times_ms and at_ms <= rates.times_ms[-1]:
            raise lines.fault("times must rise from line to line")
        rates.times_ms.append(at_ms)
        for of_sink, text in zip(rates.of_sinks, cells[2:], strict=True):
            of_sink.append(lines.whole(text, "a rate", 1 << 40))
    if rates is None or len(rates.times_ms) < 2:
        raise lines.fault("there must be a head and at least two lines")
    return rates


def _delays(lines: _Lines, sinks: int) -> list[list[tuple[int, int]]]:
    """Of each sink, (when it came out, its delay) in time."""
    found: list[list[tuple[int, int]]] = [[] for _ in range(sinks)]
    head = None
    for cells in lines:
        if head is None:
            head = [f"{name}-{n}" for n in range(sinks) for name in ("INPUT", "OUTPUT", "VISIBLE", "LATENCY")]
            if cells != head:
                raise lines.fault(
                    f"its head must name INPUT, OUTPUT, VISIBLE and LATENCY of each of {sinks} partitions"
                )
            continue
        if len(cells) != len(head):
            raise lines.fault(f"the line has {len(cells)} values, and its head names {len(head)}")
        for n, of_sink in enumerate(found):
            _, out, _, delay = (lines.whole(text, "a time") for text in cells[4 * n : 4 * n + 4])
            of_sink.append((out, delay))
    return [sorted(of_sink) for of_sink in found]


def _kills(lines: _Lines) -> list[Kill]:
    kills: dict[str, Kill] = {}
    for cells in lines:
        if len(cells) != 4:
            raise lines.fault("a line names a host, a vertex, a subtask and a time")
        host, vertex, subtask, at = cells
        kill = Kill(
            lines.whole(at, "a time"),
            lines.whole(vertex, "a vertex", MOST_VERTEX),
            lines.whole(subtask, "a subtask", MOST_SUBTASK),
            host[:200],
        )
        if kill.task in kills:
            raise lines.fault(f"{kill.task} is killed twice, and nothing says when it ran again")
        kills[kill.task] = kill
        if len(kills) > MOST_KILLS:
            raise lines.fault(f"at most {MOST_KILLS} kills are read")
    return sorted(kills.values(), key=lambda one: one.at_ms)


def _events(rates: Rates, delays: list[list[tuple[int, int]]], kills: list[Kill]) -> list[dict[str, Any]]:
    """With times in milliseconds of the wall clock still."""
    times = rates.times_ms
    begun_ms = min([times[0], *(one.at_ms for one in kills)])
    tasks = [f"sink.{n}" for n in range(len(delays))] + [one.task for one in kills]
    told: list[dict[str, Any]] = [
        {"t_us": begun_ms, "type": "attempt-started", "task": task, "attempt": 0, "checkpoint": 0} for task in tasks
    ]
    for n, kill in enumerate(kills):
        told.append(
            {"t_us": kill.at_ms, "type": "task-failed", "failure": n, "task": kill.task, "attempt": 0,
             "host": kill.host, "cause": "killed"}
        )  # fmt: skip
    for sink, (of_sink, samples) in enumerate(zip(rates.of_sinks, delays, strict=True)):
        outs = [out for out, _ in samples]
        for n in range(1, len(times)):
            records = of_sink[n] * (times[n] - times[n - 1]) // 1000
            came = sorted(
                delay for _, delay in samples[bisect_right(outs, times[n - 1]) : bisect_right(outs, times[n])]
            )
            metric = {"t_us": times[n], "type": "metric", "task": f"sink.{sink}", "records_in": records}
            told.append(metric | {"records_out": records} | _percentiles(came))
    return told


def _percentiles(came: list[int]) -> dict[str, int]:
    """The nearest ranks, in microseconds."""
    if not came:
        return {}
    return {
        "latency_p50_us": came[(len(came) - 1) // 2] * 1000,
        "latency_p99_us": came[-(-99 * len(came) // 100) - 1] * 1000,
    }


def _says(rates: Rates, kills: list[Kill]) -> list[str]:
    seconds = (rates.times_ms[-1] - rates.times_ms[0]) / 1000
    sinks = len(rates.of_sinks)
    said = [f"Measured at {'a sink' if sinks == 1 else f'{sinks} sinks'} for {seconds:,.0f} s; no log is part of it."]
    for one in kills:
        after = (one.at_ms - rates.times_ms[0]) / 1000
        said.append(f"{one.task} was killed {after:.1f} s after the first sample.")
    return said


def _manifest(name: str, origin_ms: int, sinks: int, kills: list[Kill]) -> Manifest:
    killed: dict[int, int] = {}
    for one in kills:
        killed[one.vertex] = max(killed.get(one.vertex, 0), one.subtask + 1)
    vertices = [Vertex(f"vertex-{number}", "operator", parallelism=tasks) for number, tasks in sorted(killed.items())]
    vertices.append(Vertex("sink", "sink", parallelism=sinks))
    places = [(vertex.id, subtask) for vertex in vertices for subtask in range(vertex.parallelism)]
    tasks = (Task(TaskId(f"{vertex}.{n}"), vertex, n, number) for number, (vertex, n) in enumerate(places))
    return Manifest(
        Job(name, RECORDER),
        Clock(origin_ms, "wall"),
        Protocol("none", sharing_depth=0, observed=True),
        tuple(vertices),
        (),
        tuple(tasks),
        determinants="extended",
        complete=False,
    )
