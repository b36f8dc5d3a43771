"""Every rule that the independent reader knows of the newer members finds what is planted against it."""

import pytest

from tests.oracle.damage import RECORDED, Damaged, recorded
from tests.oracle_reader import complaints
from tests.replay.log.oracle_codec import decode_stream

SINK, WORLD, STATE = "tasks/sink.1/0/sink/*.ndjson", "tasks/sink.1/0/world/*.dlt", "tasks/*/*/state/*.json"
SOURCE, TIMERS, LISTED = (
    "tasks/source.0/0/source/0.ndjson",
    "tasks/source.*/0/state/*.json",
    "tasks/sink.1/0/state/*.json",
)
CALLS, STORED = "tasks/enrich.*/0/main/*.det", "tasks/map-1.0/0/world/0.dlt"


def do(how, *given):
    """What is done to a damaged recording."""
    return lambda bundle: getattr(bundle, how)(*given)


def setting(**fields):
    return lambda made: made.update(fields)


def without(field):
    return lambda made: made.pop(field)


def within(*path, value):
    def change(made):
        for key in path[:-1]:
            made = made[key]
        made[path[-1]] = value

    return change


def _no_time(state):
    del state["timers"][0]["at_ms"]


def _twice(state):
    state["timers"] *= 2


def _no_services(made):
    for vertex in made["vertices"]:
        vertex["services"] = {}


MANIFEST = {
    "another version": (setting(version=2), "version 2"),
    "no clock": (without("clock"), "lacks clock"),
    "another clock": (within("clock", "kind", value="sundial"), "the clock"),
    "other determinants": (setting(determinants="new"), "the determinants new"),
    "a depth below 0": (within("protocol", "sharing_depth", value=-1), "the sharing depth -1"),
    "another layout": (within("protocol", "delta_layout", value="tall"), "the delta layout tall"),
    "where it was written": (within("job", "command", value="record x --out y"), "a command with"),
    "one that is not complete": (setting(complete=False), "not complete"),
    "another kind of vertex": (within("vertices", 1, "kind", value="pipe"), "is a pipe"),
    "another service": (within("vertices", 1, "services", value={"time": "periodic:0"}), "the time service periodic:0"),
    "another way to ship": (within("edges", 0, "ship", value="carry"), "has the edge"),
    "an edge to nowhere": (within("edges", 0, "to", value="moon"), "has the edge"),
    "a task that is another": (within("tasks", 0, "subtask", value=5), "lists the tasks"),
    "two of one number": (within("tasks", 1, "number", value=0), "numbers its tasks"),
    "a channel less": (lambda made: made["edges"].pop(), "are not its edges' channels"),
    "outputs of one name": (within("tasks", 0, "outputs", 1, "sub", value=0), "can't tell apart"),
}


DETERMINANTS = {
    "a write's number": (do("pack", WORLD, 0, ">q", 5), "are not the writes of sink/"),
    "a write's time": (do("pack", WORLD, 8, ">q", 5), "are not the writes of sink/"),
    "a write's receiver": (do("pack", WORLD, 16, ">I", 1), "names a receiver"),
    "a write's sending": (do("pack", WORLD, 20, ">I", 1), "names a receiver"),
    "a write's flags": (do("pack", WORLD, 24, ">B", 1), "names a receiver"),
    "the task that it tells of": (do("pack", WORLD, 29 + 12, ">H", 999), "names task number 999"),
    "a task that is not above": (do("pack", WORLD, 29 + 12, ">H", 8), "sink.0"),
    "an epoch of another write": (lambda b: b.first(WORLD).rename(b.first(WORLD).with_name("9.dlt")), "not the writes"),
    "a world without writes": (lambda b: b.first(SINK).unlink(), "are not the writes of sink/"),
    "a depth that is passed": (do("json", "job.json", within("protocol", "sharing_depth", value=1)), "beyond the"),
    "a world that keeps nothing": (do("json", "job.json", within("protocol", "sink", value="plain")), "nobody"),
    "a lineage that never was": (do("line", SINK, within("source", 0, value=["source.0", 9999])), "nobody had"),
    "a line's number": (do("line", SINK, setting(n=7)), "numbered otherwise"),
    "a line's record": (do("line", SINK, setting(record=["k", "now", {}])), "is no record"),
    "a mark of another sink": (do("line", SINK, setting(txn=3)), "of a determinant sink"),
    "blanks in a line": (do("replace", SINK, b'"n":0,', b'"n": 0,'), "is written"),
    "an offset that is left out": (do("line", SOURCE, setting(offset=7)), "one another"),
    "a source's time": (do("line", SOURCE, setting(t_us=1 << 40)), "the order read"),
    "a source without records": (do("line", SOURCE, without("record")), "neither"),
    "a source's epoch": (
        lambda b: b.first("tasks/source.0/0/source/1.ndjson").rename(b.path / "tasks/source.0/0/source/9.ndjson"),
        "not read in it",
    ),
    "a snapshot's field": (do("json", STATE, without("timers")), "has ["),
    "a snapshot's timer": (do("json", TIMERS, _no_time), "holds the timer"),
    "two timers in one place": (do("json", TIMERS, _twice), "at one place"),
    "a snapshot's watermarks": (do("json", STATE, setting(watermarks={"a>b": 1})), "watermarks of other channels"),
    "a snapshot's channels": (do("json", STATE, setting(outputs={"a>b": 1})), "names other channels"),
    "a watermark that is none": (
        lambda b: b.replace("tasks/*/0/sent-0/*.buf", b'{"watermark":', b'{"waterwork":'),
        "carries the event",
    ),
    "a receipt's record count": (do("pack", "tasks/window.0/0/received-0/0.rcv", 44, ">i", 1), "at record count 1"),
    "a timer's record count": (lambda b: _timer(b, 1, ">i", 1 << 20), "follows a later one"),
    "a timer's callback": (lambda b: _timer(b, 13, ">B", 9), "cannot be read"),
    "a checkpoint's number": (lambda b: _checkpoint(b, 5, ">q", 0), "does not end epoch 0"),
    "who triggers a checkpoint": (lambda b: _log_of_a_source(b), "is no source"),
    "a host that was not chosen": (do("event", "attempt-started", setting(host="host-9"), -1), "what was chosen"),
    "a standby that was none": (do("event", "attempt-started", setting(standby=False), -1), "what was chosen"),
    "who is activated": (do("event", "standby-activated", setting(task="map-2.0")), "what was chosen"),
    "a detection that comes twice": (do("event", "failure-detected", setting(failure=0), 1), "detected before"),
    "a restore that never began": (do("event", "state-restored", setting(checkpoint=7)), "another checkpoint"),
    "what is restored": (do("event", "restore-started", setting(checkpoint=7), -1), "was never complete"),
    "a rollback's checkpoint": (do("event", "attempt-started", setting(checkpoint=7), -1), "was never complete"),
    "a checkpoint that ends twice": (do("event", "checkpoint-completed", setting(checkpoint=9)), "never began"),
    "a checkpoint triggered twice": (do("event", "checkpoint-triggered", setting(checkpoint=1), 1), "before"),
    "a snapshot that is gone": (lambda b: b.first(STATE).unlink(), "left no snapshot"),
    "a request's epoch": (do("event", "determinants-request-received", setting(epoch=5)), "another epoch"),
    "an answer's result": (do("event", "determinants-received", setting(result="failed-too")), "another result"),
    "an answer's length": (lambda b: _upto(b, 1 << 20), "never were"),
    "a replay's skip": (do("event", "replay-request-received", setting(skip=99)), "another skip"),
    "an answer's cause": (do("event", "determinants-received", setting(re=0)), "is caused by a attempt-started"),
    "an answer without cause": (do("event", "determinants-received", without("re")), "names no cause"),
}
TRANSACTIONS = {
    "a line's transaction": (do("line", SINK, setting(txn=99)), "records, and"),
    "a line without one": (do("line", SINK, without("txn")), "of a transactional sink"),
    "a commit's count": (do("event", "epoch-committed", setting(records=1)), "were sealed"),
    "a seal's count": (do("event", "epoch-precommitted", setting(records=1)), "were written"),
    "a commit that comes twice": (lambda b: _same_txn(b, "epoch-committed"), "had its end before"),
    "a seal that comes twice": (lambda b: _same_txn(b, "epoch-precommitted"), "was sealed before"),
    "an epoch of another": (do("event", "epoch-committed", setting(epoch=99)), "was another one before"),
    "a commit too early": (
        do("event", "checkpoint-completed", setting(type="metric", task="sink.0", records_in=0, records_out=0)),
        "was complete",
    ),
    "another number's lines": (
        lambda b: b.first(SINK).rename(b.first(SINK).with_name("7.ndjson")),
        "is of another epoch",
    ),
    "a listed transaction": (do("json", LISTED, within("transactions", 0, "epoch", value=9)), "lists the transaction"),
    "a listed one with writes": (
        do("json", LISTED, within("transactions", 0, "writes", value=[])),
        "lists the transaction",
    ),
    "a call that is no JSON": (do("replace", CALLS, b'{"call"', b'("call"'), "that is no JSON"),
    "a call without answer": (do("replace", CALLS, b'"value"', b'"ualue"'), "a call that says"),
    "a call of another form": (do("replace", CALLS, b"CL\3", b"CL\7"), "content type 7"),
    "a fault without words": (do("replace", CALLS, b'"message"', b'"massage"'), "that raised"),
    "a call changed": (do("replace", "tasks/enrich.0/0/main/*.det", b'"name":"', b'"name":"x'), "cannot be read"),
    "sinks that have none": (do("json", "job.json", within("protocol", "sink", value="plain")), "has no transactions"),
}
WRITE_AHEAD = {
    "writes of another epoch": (lambda b: b.first(SINK).rename(b.first(SINK).with_name("77.ndjson")), "was sealed"),
    "a write without identity": (do("line", SINK, without("id")), "of a idempotent sink"),
    "an identity of another": (do("line", SINK, setting(id="sink.1/0/1")), "two writes have the id"),
    "a flush that is not whole": (do("event", "epoch-committed", setting(records=1)), "were sealed"),
    "a write that is gone": (lambda b: _without_last_line(b.first(SINK)), "were written"),
    "a log's writes": (do("json", LISTED, lambda made: made["transactions"][0]["writes"].pop()), "writes of"),
    "a log without writes": (
        do("json", LISTED, lambda made: made["transactions"][0].pop("writes")),
        "lists the transaction",
    ),
}
STORAGE = {
    "a write's number": (do("pack", STORED, 0, ">q", 5), "numbered otherwise"),
    "a write's flags": (do("pack", STORED, 24, ">B", 1), "names a receiver"),
    "a log of another": (do("pack", STORED, 29 + 12, ">H", 3), "another task's"),
    "a log's bytes": (do("pack", "tasks/map-1.0/0/main/0.det", 1, ">B", 7), "is not that log's bytes"),
    "a write that is gone": (lambda b: b.first(STORED).unlink(), "were not stored"),
    "a write that came later": (do("pack", STORED, 8, ">q", 1 << 40), "were not stored"),
    "a delta that is shared": (
        lambda b: b.first("tasks/map-1.0/0/sent-0/0.dlt").write_bytes(
            _with_delta(b.first("tasks/map-1.0/0/sent-0/0.dlt").read_bytes())
        ),
        "none are shared",
    ),
}
SERVICES = {
    "a seed that is gone": (do("pack", "tasks/dispatch.0/0/main/0.det", 0, ">B", 1), "dispatch.0"),
    "an order's channel": (do("replace", "tasks/dispatch.0/0/main/0.det", b"\0\1", b"\0\0"), "dispatch.0"),
}
CLOCK = {
    "a timer's record count": (lambda b: _in_log(b, 4, 1, ">i", 1 << 20, "window.0"), "among others'"),
    "a clock that is not read": (do("json", "job.json", _no_services), "no time was read"),
}


def _timer(bundle, at, form, value):
    _in_log(bundle, 4, at, form, value)


def _checkpoint(bundle, at, form, value):
    _in_log(bundle, 5, at, form, value)


def _in_log(bundle, tag, at, form, value, task="source.0"):
    """In the first determinant of that tag in a task's first epoch."""
    log = f"tasks/{task}/0/main/0.det"
    data = (bundle.path / log).read_bytes()
    offset = next(one[0] for one in decode_stream(data) if data[one[0]] == tag)
    bundle.pack(log, offset + at, form, value)


def _log_of_a_source(bundle):
    other = bundle.path / "tasks/window.0/0/main/0.det"
    other.parent.mkdir(exist_ok=True)
    other.write_bytes((bundle.path / "tasks/source.0/0/main/0.det").read_bytes())


def _without_last_line(file):
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))


def _upto(bundle, upto):
    def change(made):
        made["logs"][0][3] = upto

    bundle.event("determinants-returned", change)
    bundle.event("determinants-received", change)


def _same_txn(bundle, kind):
    """The second event of that kind names the transaction of the first."""
    first = {}
    bundle.event(kind, first.update)
    bundle.event(kind, lambda made: made.update(task=first["task"], txn=first["txn"], epoch=first["epoch"]), 1)


def _with_delta(frames):
    delta = b"\0\0\0\x17" + bytes(8) + b"\0\2\1" + bytes(7) + b"\1" + b"\0"
    return frames[:25] + len(delta).to_bytes(4, "big") + delta + frames[29:]


PLANTED = {
    "determinants": DETERMINANTS,
    "transactions": TRANSACTIONS,
    "write-ahead": WRITE_AHEAD,
    "storage": STORAGE,
    "services": SERVICES,
    "clock": CLOCK,
}
CASES = [(kind, name) for kind, damages in PLANTED.items() for name in damages]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    return {name: recorded(name, folder / name) for name in RECORDED}


@pytest.mark.parametrize("name", RECORDED)
def test_the_recordings_as_they_are_have_no_fault(originals, name):
    assert complaints(originals[name]) == []


@pytest.mark.parametrize(("kind", "name"), CASES, ids=[f"{kind}: {name}" for kind, name in CASES])
def test_what_is_planted_is_found(originals, tmp_path, kind, name):
    damage, words = PLANTED[kind][name]
    damage(Damaged(originals[kind], tmp_path / "b"))
    found = complaints(tmp_path / "b")
    assert any(words in one for one in found), found[:8]


@pytest.mark.parametrize("name", MANIFEST)
def test_what_is_planted_in_a_manifest_is_found(originals, tmp_path, name):
    change, words = MANIFEST[name]
    Damaged(originals["determinants"], tmp_path / "b").json("job.json", change)
    found = complaints(tmp_path / "b")
    assert any(words in one for one in found), found[:8]
