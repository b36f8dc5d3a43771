"""The manifest: what it must say, and that vertices, edges, tasks and channels are of one graph."""

import re
from collections import Counter

REQUIRED = ("format", "version", "job", "clock", "determinants", "protocol", "vertices", "edges", "tasks")
SERVICES = {"time": r"call|periodic:[1-9]\d*", "random": r"call|seed"}
SHIPS = ("forward", "rebalance", "random", "hash", "broadcast")


def check_manifest(recording):
    made = recording.manifest
    for field in REQUIRED:
        if field not in made:
            yield f"job.json lacks {field}"
    if (made["format"], made["version"]) != ("causal-log-bundle", 1):
        yield f"job.json is {made['format']}, version {made['version']}"
    if not made["job"].get("name") or not made["protocol"].get("name"):
        yield "job.json names no job, or no protocol"
    if made["clock"].get("kind", "virtual") not in ("virtual", "wall"):
        yield f"job.json has the clock {made['clock']}"
    if made["determinants"] not in ("clonos", "extended"):
        yield f"job.json has the determinants {made['determinants']}"
    depth = made["protocol"].get("sharing_depth", "full")
    if depth != "full" and not (isinstance(depth, int) and depth >= 0):
        yield f"job.json has the sharing depth {depth}"
    if made["protocol"].get("delta_layout", "flat") not in ("flat", "grouping"):
        yield f"job.json has the delta layout {made['protocol']['delta_layout']}"
    left_out = [flag for flag in ("--out", "--data", "--json") if flag in made["job"].get("command", "").split()]
    if left_out:
        yield f"job.json has a command with {left_out}"
    if made.get("complete") is not True:
        yield "job.json says that the recording is not complete"


def check_graph(recording):
    made = recording.manifest
    vertices = {one["id"]: one for one in made["vertices"]}
    if len(vertices) != len(made["vertices"]):
        yield "job.json names a vertex twice"
    for one in made["vertices"]:
        if one["kind"] not in ("source", "operator", "sink"):
            yield f"vertex {one['id']} is a {one['kind']}"
        for name, service in one.get("services", {}).items():
            if name in SERVICES and not re.fullmatch(SERVICES[name], service):
                yield f"vertex {one['id']} has the {name} service {service}"
    for edge in made["edges"]:
        if edge["from"] not in vertices or edge["to"] not in vertices or edge["ship"] not in SHIPS:
            yield f"job.json has the edge {edge}"
            return
    yield from _check_tasks(made, vertices)
    yield from _check_channels(made, vertices)


def _check_tasks(made, vertices):
    due = {f"{name}.{i}": (name, i) for name, one in vertices.items() for i in range(one["parallelism"])}
    found = {task["id"]: (task["vertex"], task["subtask"]) for task in made["tasks"]}
    if due != found or len(found) != len(made["tasks"]):
        yield f"job.json lists the tasks {sorted(found)}, of the vertices {sorted(due)}"
    numbers = [task["number"] for task in made["tasks"]]
    if len(set(numbers)) != len(numbers) or not all(0 <= one < 1 << 16 for one in numbers):
        yield f"job.json numbers its tasks {numbers}"


def _check_channels(made, vertices):
    due = Counter()
    for edge in made["edges"]:
        sizes = [vertices[edge[end]]["parallelism"] for end in ("from", "to")]
        pairs = [(i, j) for i in range(sizes[0]) for j in range(sizes[1]) if edge["ship"] != "forward" or i == j]
        due.update(f"{edge['from']}.{i}>{edge['to']}.{j}" for i, j in pairs)
    for side in ("outputs", "inputs"):
        found = Counter()
        for task in made["tasks"]:
            channels = [one["channel"] for one in task["outputs"]] if side == "outputs" else task["inputs"]
            found.update(channels)
            odd = [one for one in channels if one.split(">")[side == "inputs"] != task["id"]]
            if odd:
                yield f"{task['id']} has the {side} {odd}"
        if found != due:
            yield f"the {side} of job.json's tasks are not its edges' channels: {sorted((found - due) + (due - found))}"
    for task in made["tasks"]:
        names = [(tuple(one.get("partition", (0, 0))), one.get("sub", k)) for k, one in enumerate(task["outputs"])]
        if len(set(names)) != len(names):
            yield f"{task['id']} has two outputs that a delta can't tell apart"


CHECKS = (check_manifest, check_graph)
