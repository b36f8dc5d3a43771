"""Reads and writes the manifest's JSON, field by field: the file is hostile until every field has been looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replay.errors import BundleError, printable
from replay.model.ids import ChannelId, TaskId
from replay.model.manifest import Clock, Edge, Job, Manifest, Output, Protocol, Task, Vertex
from replay.model.record import read_json

FORMAT = "causal-log-bundle"
VERSION = 1
VERTEX_KINDS = ("source", "operator", "sink")
CLOCK_KINDS = ("virtual", "wall")
DETERMINANT_SETS = ("clonos", "extended")
SHIPS = ("forward", "rebalance", "random", "hash", "broadcast")
DELTA_LAYOUTS = ("flat", "grouping")
MAX_PARALLELISM = 1 << 16
_ABSENT: Any = object()
_INT64 = range(-(1 << 63), 1 << 63)


class Fields:
    """One JSON object of the manifest, and where in the manifest it stands."""

    def __init__(self, value: Any, where: str, path: str):
        self.where, self.path = where, path
        if not isinstance(value, Mapping):
            raise self.fault(f"{where or 'the manifest'} must be an object")
        self.value = value

    def fault(self, why: str) -> BundleError:
        return BundleError(why, path=self.path, remedy="Compare it with the log format's description of job.json")

    def name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def get(self, key: str, kind: type, default: Any = _ABSENT) -> Any:
        found = self.value.get(key, _ABSENT)
        if found is _ABSENT:
            if default is _ABSENT:
                raise self.fault(f"{self.name(key)} is missing")
            return default
        # bool is an int to Python, but not to the format.
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise self.fault(f"{self.name(key)} must be {_WORDS[kind]}")
        return found

    def text(self, key: str, default: Any = _ABSENT) -> str:
        found = str(self.get(key, str, default))
        if "\0" in found:
            raise self.fault(f"{self.name(key)} has a NUL character")
        return found

    def integer(self, key: str, allowed: range, default: Any = _ABSENT) -> int:
        found = self.get(key, int, default)
        if found not in allowed and found is not default:
            raise self.fault(f"{self.name(key)} must lie between {allowed.start} and {allowed.stop - 1}")
        return int(found)

    def one_of(self, key: str, allowed: tuple[str, ...], default: Any = _ABSENT) -> str:
        found = self.text(key, default)
        if found not in allowed:
            raise self.fault(f"{self.name(key)} is {printable(found)!r} and must be one of {', '.join(allowed)}")
        return found

    def object(self, key: str, default: Any = _ABSENT) -> Fields:
        return Fields(self.get(key, dict, default), self.name(key), self.path)

    def objects(self, key: str) -> list[Fields]:
        return [Fields(one, f"{self.name(key)}[{i}]", self.path) for i, one in enumerate(self.get(key, list))]


_WORDS = {dict: "an object", list: "a list", str: "a text", int: "an integer", bool: "true or false"}


def read_manifest(source: bytes | Mapping[str, Any], path: str) -> Manifest:
    """Every fault is one `BundleError` that names the field."""
    if isinstance(source, bytes):
        try:
            source = read_json(source)
        except ValueError as fault:
            raise BundleError(
                f"the manifest is not JSON: {fault}", path=path, remedy="Record the job again, or repair the file"
            ) from None
    top = Fields(source, "", path)
    _check_version(top)
    vertices = tuple(_vertex(one) for one in top.objects("vertices"))
    manifest = Manifest(
        job=_job(top.object("job")),
        clock=_clock(top.object("clock")),
        determinants=top.one_of("determinants", DETERMINANT_SETS),
        protocol=_protocol(top.object("protocol")),
        vertices=vertices,
        edges=tuple(_edge(one) for one in top.objects("edges")),
        tasks=tuple(_task(one) for one in top.objects("tasks")),
        complete=top.get("complete", bool, True),
        raw=top.value,
    )
    _check_vertices(top, manifest)
    _check_tasks(top, manifest)
    _check_channels(top, manifest)
    return manifest


def _check_version(top: Fields) -> None:
    if top.get("format", str) != FORMAT:
        raise top.fault(f"format is not {FORMAT!r}, so this is not a causal log bundle")
    version = top.get("version", int)
    if version != VERSION:
        raise BundleError(
            f"the manifest is of version {version}, and only version {VERSION} is understood",
            path=top.path,
            remedy="Use a release that reads that version, or record the job again",
        )


def _job(fields: Fields) -> Job:
    seed = fields.value.get("seed")
    return Job(
        name=fields.text("name"),
        recorder=fields.text("recorder", ""),
        recorded_at=fields.text("recorded_at", ""),
        seed=None if seed is None else fields.get("seed", int),
        command=fields.text("command", ""),
    )


def _clock(fields: Fields) -> Clock:
    return Clock(fields.integer("origin_ms", _INT64), fields.one_of("kind", CLOCK_KINDS, "virtual"))


def _protocol(fields: Fields) -> Protocol:
    interval = fields.value.get("checkpoint_interval_ms")
    return Protocol(
        name=fields.text("name"),
        sharing_depth=_sharing_depth(fields),
        standby=fields.integer("standby", range(MAX_PARALLELISM), 0),
        checkpoint_interval_ms=None if interval is None else fields.integer("checkpoint_interval_ms", range(1 << 53)),
        sink=fields.text("sink", "plain"),
        spill=fields.text("spill", "memory"),
        buffer_bytes=fields.integer("buffer_bytes", range(1, 1 << 31), 32768),
        delta_layout=fields.one_of("delta_layout", DELTA_LAYOUTS, "flat"),
        holder_scope=fields.text("holder_scope", "task"),
        on_lost=fields.text("on_lost", "rollback"),
        observed=fields.get("observed", bool, False),
    )


def _sharing_depth(fields: Fields) -> int | None:
    # Only causal logging shares determinants, so silence means full there and nothing elsewhere.
    silent = "full" if fields.value.get("name") == "clonos" else 0
    depth = fields.value.get("sharing_depth", silent)
    if depth == "full" or (isinstance(depth, int) and depth == -1):
        return None
    return fields.integer("sharing_depth", range(1 << 31), 0)


def _vertex(fields: Fields) -> Vertex:
    services = fields.get("services", dict, {})
    if not all(isinstance(one, str) for one in services.values()):
        raise fields.fault(f"{fields.name('services')} must map names to texts")
    return Vertex(
        id=_checked_vertex_id(fields),
        kind=fields.one_of("kind", VERTEX_KINDS),
        operator=fields.text("operator", ""),
        options=fields.get("options", dict, {}),
        parallelism=fields.integer("parallelism", range(1, MAX_PARALLELISM), 1),
        services=services,
    )


def _checked_vertex_id(fields: Fields) -> str:
    name = fields.text("id")
    if not name or name in (".", "..") or any(c in "/\\>" or not c.isprintable() for c in name):
        raise fields.fault(f"{fields.name('id')} is {printable(name)!r}: an id is printable text without / \\ and >")
    return name


def _edge(fields: Fields) -> Edge:
    return Edge(fields.text("from"), fields.text("to"), fields.one_of("ship", SHIPS))


def _task(fields: Fields) -> Task:
    inputs = fields.get("inputs", list, [])
    if not all(isinstance(one, str) for one in inputs):
        raise fields.fault(f"{fields.name('inputs')} must list channel ids")
    outputs = fields.objects("outputs") if "outputs" in fields.value else []
    return Task(
        id=TaskId(fields.text("id")),
        vertex=fields.text("vertex"),
        subtask=fields.integer("subtask", range(MAX_PARALLELISM)),
        number=fields.integer("number", range(1 << 16)),
        inputs=tuple(ChannelId(one) for one in inputs),
        outputs=tuple(_output(one, k) for k, one in enumerate(outputs)),
        partitions=tuple(fields.get("partitions", list, [])),
    )


def _output(fields: Fields, k: int) -> Output:
    pair = fields.get("partition", list, [0, 0])
    if len(pair) != 2 or not all(type(one) is int and one in _INT64 for one in pair):
        raise fields.fault(f"{fields.name('partition')} must be two 64-bit integers")
    sub = fields.integer("sub", range(-128, MAX_PARALLELISM), k)
    return Output(ChannelId(fields.text("channel")), (pair[0], pair[1]), sub)


def _check_vertices(top: Fields, manifest: Manifest) -> None:
    known: set[str] = set()
    for vertex in manifest.vertices:
        if vertex.id in known:
            raise top.fault(f"vertices name {vertex.id} twice")
        known.add(vertex.id)
    for edge in manifest.edges:
        for end in (edge.source, edge.target):
            if end not in known:
                raise top.fault(f"an edge names vertex {printable(end)!r}, which vertices do not list")


def _check_tasks(top: Fields, manifest: Manifest) -> None:
    vertices = {vertex.id: vertex for vertex in manifest.vertices}
    ids: set[str] = set()
    numbers: set[int] = set()
    for task in manifest.tasks:
        vertex = vertices.get(task.vertex)
        if vertex is None:
            raise top.fault(f"task {printable(task.id)!r} is of a vertex that vertices do not list")
        if task.id != f"{task.vertex}.{task.subtask}":
            raise top.fault(f"task {printable(task.id)!r} must be called {task.vertex}.{task.subtask}")
        if task.subtask >= vertex.parallelism:
            raise top.fault(f"task {task.id} lies past the parallelism {vertex.parallelism} of its vertex")
        if task.id in ids or task.number in numbers:
            raise top.fault(f"tasks name {task.id} or its number {task.number} twice")
        ids.add(task.id)
        numbers.add(task.number)


def _check_channels(top: Fields, manifest: Manifest) -> None:
    ids = {task.id for task in manifest.tasks}
    outputs: set[str] = set()
    inputs: set[str] = set()
    for task in manifest.tasks:
        for output in task.outputs:
            _check_channel(top, output.channel, outputs, starts=f"{task.id}>", ids=ids)
        for channel in task.inputs:
            _check_channel(top, channel, inputs, ends=f">{task.id}", ids=ids)
    for one_sided in sorted(outputs ^ inputs):
        side = "an input" if one_sided in outputs else "an output"
        raise top.fault(f"channel {printable(one_sided)!r} is not {side} of any task")


def _check_channel(
    top: Fields, channel: str, seen: set[str], *, ids: set[TaskId], starts: str = "", ends: str = ""
) -> None:
    source, _, target = channel.partition(">")
    if source not in ids or target not in ids:
        raise top.fault(f"channel {printable(channel)!r} does not join two tasks of the manifest")
    if not channel.startswith(starts) or not channel.endswith(ends):
        raise top.fault(f"channel {printable(channel)!r} is listed at a task that is not its end")
    if channel in seen:
        raise top.fault(f"channel {printable(channel)!r} is listed twice")
    seen.add(channel)


def manifest_json(manifest: Manifest) -> dict[str, Any]:
    """The object to write. Fields that only `raw` knows come last, at their own level."""
    known: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "job": _job_json(manifest.job),
        "clock": {"origin_ms": manifest.clock.origin_ms, "kind": manifest.clock.kind},
        "determinants": manifest.determinants,
        "protocol": _protocol_json(manifest.protocol),
        "vertices": [_vertex_json(one) for one in manifest.vertices],
        "edges": [{"from": one.source, "to": one.target, "ship": one.ship} for one in manifest.edges],
        "tasks": [_task_json(one) for one in manifest.tasks],
        "complete": manifest.complete,
    }
    return _with_unknown(known, manifest.raw)


def _with_unknown(known: dict[str, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(known)
    for key, value in raw.items():
        if key not in merged:
            merged[key] = value
        elif isinstance(merged[key], dict) and isinstance(value, Mapping):
            merged[key] = _with_unknown(merged[key], value)
        elif isinstance(merged[key], list) and isinstance(value, list) and len(merged[key]) == len(value):
            merged[key] = [
                _with_unknown(ours, theirs) if isinstance(ours, dict) and isinstance(theirs, Mapping) else ours
                for ours, theirs in zip(merged[key], value, strict=True)
            ]
    return merged


def _job_json(job: Job) -> dict[str, Any]:
    optional = {"recorder": job.recorder, "recorded_at": job.recorded_at, "seed": job.seed, "command": job.command}
    return {"name": job.name, **{key: value for key, value in optional.items() if value not in (None, "")}}


def _protocol_json(protocol: Protocol) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": protocol.name,
        "sharing_depth": "full" if protocol.sharing_depth is None else protocol.sharing_depth,
        "standby": protocol.standby,
        "checkpoint_interval_ms": protocol.checkpoint_interval_ms,
        "sink": protocol.sink,
        "spill": protocol.spill,
        "buffer_bytes": protocol.buffer_bytes,
        "delta_layout": protocol.delta_layout,
        "holder_scope": protocol.holder_scope,
        "on_lost": protocol.on_lost,
    }
    if protocol.checkpoint_interval_ms is None:
        del found["checkpoint_interval_ms"]
    return {**found, "observed": True} if protocol.observed else found


def _vertex_json(vertex: Vertex) -> dict[str, Any]:
    return {
        "id": vertex.id,
        "kind": vertex.kind,
        "operator": vertex.operator,
        "options": dict(vertex.options),
        "parallelism": vertex.parallelism,
        "services": dict(vertex.services),
    }


def _task_json(task: Task) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": task.id,
        "vertex": task.vertex,
        "subtask": task.subtask,
        "number": task.number,
        "inputs": list(task.inputs),
        "outputs": [{"channel": one.channel, "partition": list(one.partition), "sub": one.sub} for one in task.outputs],
    }
    return {**found, "partitions": list(task.partitions)} if task.partitions else found
