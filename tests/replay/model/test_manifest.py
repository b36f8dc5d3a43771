"""The manifest: read field by field, refused in one sentence, written as it was read."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import BundleError
from replay.model import Channel, Graph, Manifest

# The example of docs/log-format.md, with its channels' other ends.
EXAMPLE = {
    "format": "causal-log-bundle",
    "version": 1,
    "job": {
        "name": "nexmark-q3",
        "recorder": "clonoscope 0.1",
        "recorded_at": "2026-11-18T06:45:00Z",
        "seed": 7,
        "command": "record nexmark-q3",
    },
    "clock": {"origin_ms": 1600000000000, "kind": "virtual"},
    "determinants": "clonos",
    "protocol": {
        "name": "clonos",
        "sharing_depth": "full",
        "standby": 1,
        "checkpoint_interval_ms": 5000,
        "sink": "transactional",
        "spill": "availability",
        "buffer_bytes": 32768,
        "delta_layout": "flat",
        "holder_scope": "task",
        "on_lost": "rollback",
    },
    "vertices": [
        {"id": "persons", "kind": "source", "operator": "", "options": {}, "parallelism": 1, "services": {}},
        {
            "id": "join",
            "kind": "operator",
            "operator": "replay.jobs.nexmark:LocalItemSuggestion",
            "options": {"a": 1},
            "parallelism": 5,
            "services": {"time": "periodic:1", "random": "seed"},
        },
        {"id": "sink", "kind": "sink", "operator": "", "options": {}, "parallelism": 1, "services": {}},
    ],
    "edges": [{"from": "persons", "to": "join", "ship": "hash"}, {"from": "join", "to": "sink", "ship": "forward"}],
    "tasks": [
        {
            "id": "persons.0",
            "vertex": "persons",
            "subtask": 0,
            "number": 1,
            "inputs": [],
            "outputs": [{"channel": "persons.0>join.3", "partition": [0, 0], "sub": 0}],
            "partitions": ["p0", "p1"],
        },
        {
            "id": "join.3",
            "vertex": "join",
            "subtask": 3,
            "number": 13,
            "inputs": ["persons.0>join.3"],
            "outputs": [{"channel": "join.3>sink.0", "partition": [7, 9], "sub": 2}],
        },
        {"id": "sink.0", "vertex": "sink", "subtask": 0, "number": 40000, "inputs": ["join.3>sink.0"], "outputs": []},
    ],
    "redactions": [],
    "complete": True,
    "code": {"git": "abc"},
}


def test_the_formats_example_is_read_and_written_alike():
    manifest = Manifest.from_json(EXAMPLE)
    assert manifest.to_json() == EXAMPLE
    assert Manifest.from_json(manifest.to_bytes()) == manifest
    assert manifest.protocol.sharing_depth is None
    assert manifest.task("join.3").outputs[0].partition == (7, 9)
    assert manifest.task("join.3").threads == ("main", "out-0")
    assert manifest.task("persons.0").partitions == ("p0", "p1")
    assert manifest.vertex("join").services == {"time": "periodic:1", "random": "seed"}
    assert manifest.task("nobody.0") is None and manifest.vertex("nobody") is None


def test_unknown_fields_are_kept_at_every_level():
    extended = copy.deepcopy(EXAMPLE)
    extended["new"] = {"deep": [1]}
    extended["job"]["new"] = 1
    extended["protocol"]["new"] = 2
    extended["vertices"][1]["new"] = 3
    extended["tasks"][0]["outputs"][0]["new"] = 4
    assert Manifest.from_json(extended).to_json() == extended


def test_only_the_required_fields_are_required():
    small = {
        "format": "causal-log-bundle",
        "version": 1,
        "job": {"name": "x"},
        "clock": {"origin_ms": 0},
        "determinants": "extended",
        "protocol": {"name": "none"},
        "vertices": [],
        "edges": [],
        "tasks": [],
    }
    manifest = Manifest.from_json(small)
    assert (manifest.protocol.sharing_depth, manifest.complete, manifest.protocol.observed) == (0, True, False)
    for key in small:
        with pytest.raises(BundleError, match=f"{key} is missing"):
            Manifest.from_json({name: value for name, value in small.items() if name != key})


@pytest.mark.parametrize(("depth", "read"), [("full", None), (-1, None), (0, 0), (1, 1), (7, 7)])
def test_the_sharing_depth_is_a_number_or_full(depth, read):
    assert Manifest.from_json(changed(("protocol", "sharing_depth"), depth)).protocol.sharing_depth == read


def changed(path, value):
    made = copy.deepcopy(EXAMPLE)
    at = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


BAD = [
    (("format",), "other", "this is not a causal log bundle"),
    (("format",), 1, "format must be a text"),
    (("version",), 2, "of version 2, and only version 1 is understood"),
    (("version",), "1", "version must be an integer"),
    (("version",), True, "version must be an integer"),
    (("job",), [], "job must be an object"),
    (("job", "name"), None, "job.name must be a text"),
    (("job", "name"), "a\0b", "job.name has a NUL"),
    (("job", "seed"), "x", "job.seed must be an integer"),
    (("clock", "origin_ms"), 1 << 63, "clock.origin_ms must lie between"),
    (("clock", "kind"), "lamport", "clock.kind is 'lamport' and must be one of virtual, wall"),
    (("determinants",), "all", "must be one of clonos, extended"),
    (("protocol", "sharing_depth"), "deep", "protocol.sharing_depth must be an integer"),
    (("protocol", "sharing_depth"), -2, "protocol.sharing_depth must lie between"),
    (("protocol", "buffer_bytes"), 0, "protocol.buffer_bytes must lie between"),
    (("protocol", "observed"), 1, "protocol.observed must be true or false"),
    (("vertices",), {}, "vertices must be a list"),
    (("vertices", 0), "x", r"vertices\[0\] must be an object"),
    (("vertices", 0, "kind"), "thing", r"vertices\[0\].kind is 'thing'"),
    (("vertices", 0, "id"), "a/b", r"vertices\[0\].id is 'a/b'"),
    (("vertices", 0, "id"), "a>b", "an id is printable text"),
    (("vertices", 0, "id"), "", "an id is printable text"),
    (("vertices", 0, "id"), "..", "an id is printable text"),
    (("vertices", 0, "id"), "\u202e", "an id is printable text"),
    (("vertices", 0, "id"), "join", "vertices name join twice"),
    (("vertices", 0, "parallelism"), 0, "parallelism must lie between"),
    (("vertices", 0, "services"), {"time": 1}, "services must map names to texts"),
    (("edges", 0, "from"), "nobody", "an edge names vertex 'nobody'"),
    (("edges", 0, "ship"), "drone", "must be one of forward"),
    (("tasks", 0, "vertex"), "nobody", "is of a vertex that vertices do not list"),
    (("tasks", 0, "id"), "persons.1", "must be called persons.0"),
    (("tasks", 0, "number"), 13, "or its number 13 twice"),
    (("tasks", 0, "number"), 65536, "number must lie between 0 and 65535"),
    (("tasks", 1, "subtask"), 5, "must be called join.5"),
    (("tasks", 0, "inputs"), [1], "inputs must list channel ids"),
    (("tasks", 0, "outputs"), [], "is not an output of any task"),
    (("tasks", 1, "inputs"), [], "is not an input of any task"),
    (("tasks", 1, "inputs", 0), "persons.0>join.4", "does not join two tasks"),
    (("tasks", 1, "inputs", 0), "persons.0>sink.0", "is listed at a task that is not its end"),
    (("tasks", 1, "inputs"), ["persons.0>join.3"] * 2, "is listed twice"),
    (("tasks", 0, "outputs", 0, "partition"), [1], "must be two 64-bit integers"),
    (("tasks", 0, "outputs", 0, "partition"), [1 << 63, 0], "must be two 64-bit integers"),
    (("tasks", 0, "outputs", 0, "sub"), "0", "sub must be an integer"),
    (("complete",), 1, "complete must be true or false"),
]


@pytest.mark.parametrize(
    ("path", "value", "rule"), BAD, ids=[f"{'.'.join(map(str, path))}-{i}" for i, (path, _, _) in enumerate(BAD)]
)
def test_each_wrong_field_is_named(path, value, rule):
    with pytest.raises(BundleError, match=rule) as caught:
        Manifest.from_json(changed(path, value))
    assert str(caught.value).startswith("job.json: ") and caught.value.remedy


def test_a_task_past_its_vertexs_parallelism_is_refused():
    with pytest.raises(BundleError, match="lies past the parallelism 3 of its vertex"):
        Manifest.from_json(changed(("vertices", 1, "parallelism"), 3))


@given(st.data())
def test_any_value_anywhere_is_read_or_refused(data):
    made = copy.deepcopy(EXAMPLE)
    at = made
    while True:
        key = data.draw(st.sampled_from(sorted(at)) if isinstance(at, dict) else st.integers(0, len(at) - 1))
        if not at[key] or not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            break
        at = at[key]
    anything = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
    at[key] = data.draw(st.recursive(anything, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
    try:
        manifest = Manifest.from_json(json.dumps(made).encode())
        Graph(manifest)
    except BundleError as fault:
        assert str(fault)
    else:
        assert Manifest.from_json(manifest.to_bytes()).to_json() == manifest.to_json()


def test_a_graph_knows_neighbours_distances_and_order():
    graph = Graph(Manifest.from_json(EXAMPLE))
    assert graph.order == ("persons.0", "join.3", "sink.0")
    assert graph.channel("join.3>sink.0") == Channel("join.3>sink.0", "join.3", 0, "sink.0", 0)
    assert (graph.upstream("join.3"), graph.downstream("join.3")) == (("persons.0",), ("sink.0",))
    assert graph.distance("persons.0", "sink.0") == 2
    assert graph.distance("join.3", "join.3") == 0
    assert graph.distance("sink.0", "persons.0") is None
    assert graph.all_downstream("persons.0") == {"join.3", "sink.0"}
    assert graph.all_upstream("sink.0") == {"join.3", "persons.0"}
    assert "join.3" in graph and "join.4" not in graph
    assert graph.vertex_of("join.3").id == "join"


def test_a_cycle_is_refused():
    made = changed(("tasks", 2, "outputs"), [{"channel": "sink.0>join.3"}])
    made["tasks"][1]["inputs"].append("sink.0>join.3")
    with pytest.raises(BundleError, match=r"the tasks form a cycle at or above join\.3"):
        Graph(Manifest.from_json(made))
