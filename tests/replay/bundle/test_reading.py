"""A bundle says the same in every container."""

import json
import tarfile
import tracemalloc
import zipfile

import pytest
import zstandard

from replay.bundle import reader
from replay.bundle.containers import open_container
from replay.bundle.content import content_id
from replay.bundle.lines import read_events
from replay.bundle.pack import Pack
from replay.bundle.reader import Reject, open_bundle
from replay.errors import BundleError, CorruptDeterminant, CorruptMember
from replay.log.determinants import Order, Timestamp
from tests.replay.bundle.made import KINDS, MANIFEST, members, pack_of, packed, tar_bytes, write, zip_bytes


@pytest.fixture(params=[*KINDS, "pack"])
def opened(request, tmp_path):
    if request.param == "pack":
        pack_of(write("tar", tmp_path / "b.tar", members()), tmp_path / "b.pack")
        path = tmp_path / "b.pack"
    else:
        path = write(request.param, tmp_path / "b", members())
    with open_bundle(path) as bundle:
        yield bundle


def test_every_member_is_there_byte_by_byte(opened):
    assert {name: opened.members.read(name) for name in opened.members.names()} == members()
    assert list(opened.members.names()) == sorted(members())
    for name, data in members().items():
        with opened.members.open(name) as stream:
            assert stream.read() == data
        assert opened.members.size(name) == len(data)


def test_members_are_handed_out_as_what_they_mean(opened):
    assert opened.manifest.job == MANIFEST.job
    assert opened.tasks() == ("source.0", "sink.0", "source.1")
    assert opened.attempts("sink.0") == (0,)
    assert opened.attempts("source.1") == ()
    assert opened.epochs("sink.0", 0, "main") == (0,)
    assert opened.epochs("sink.0", 0, "state") == (1,)
    found = [(offset, length, one) for offset, length, one in opened.determinants("sink.0", 0, "main", 0)]
    assert found == [(0, 2, Order(0)), (2, 9, Timestamp(1600000000000))]
    assert [frame.seq for frame in opened.buffers("source.0", 0, 0)] == [0]
    assert [frame.sending for frame in opened.sendings("source.0", 0, 0)] == [0]
    assert [frame.taken_us for frame in opened.receipts("sink.0", 0, 0)] == [21]
    assert [line["offset"] for line in opened.source("source.0", 0)] == [0]
    assert [line["n"] for line in opened.sink("sink.0", 0)] == [0]
    assert opened.state("sink.0", 0, 1) == {"operator": {}, "timers": []}
    assert opened.state("sink.0", 0, 2) is None
    assert [event["type"] for event in opened.events()] == ["checkpoint-triggered"]
    assert opened.check_shape() == []


def test_what_is_absent_is_empty(opened):
    assert opened.log_bytes("source.1", 0, "main", 0) == b""
    assert list(opened.buffers("source.1", 0, 0)) == []
    assert opened.epochs("source.1", 3, "main") == ()


def test_the_content_id_is_of_members_and_not_of_their_container(tmp_path):
    ids = set()
    for kind in KINDS:
        path = write(kind, tmp_path / f"b-{kind}", members())
        with open_bundle(path) as bundle:
            ids.add(content_id(bundle))
        summary = pack_of(path, tmp_path / "b.pack")
        pack = Pack(tmp_path / "b.pack")
        ids |= {summary.content_id, pack.content_id}
        pack.close()
        assert (summary.members, summary.bytes) == (len(members()), sum(map(len, members().values())))
    assert len(ids) == 1


def test_the_content_id_ignores_when_it_was_recorded_and_nothing_else(tmp_path):
    def id_of(content):
        path = write("zip", tmp_path / "b.zip", content)
        with open_bundle(path) as bundle:
            return bundle.content_id()

    def recorded(at, **more):
        job = {**MANIFEST.to_json(), **more}
        return {**members(), "job.json": json.dumps({**job, "job": {"name": "test", "recorded_at": at}}).encode()}

    first = id_of(recorded("2026-11-18T06:45:00Z"))
    assert id_of(recorded("2027-01-01T00:00:00Z")) == first
    assert id_of(recorded("2026-11-18T06:45:00Z", extra=1)) != first
    assert id_of({**recorded("x"), "notes/by ü.txt": b"other"}) != first
    assert id_of({**recorded("x"), "notes/more": b""}) != first


def test_the_suffix_is_not_believed(tmp_path):
    for kind in KINDS[1:]:
        path = write(kind, tmp_path / "upload.bin", members())
        with open_container(path) as container:
            assert container.kind == kind
        with open_bundle(path) as bundle:
            assert bundle.attempts("sink.0") == (0,)


def test_archives_of_common_tools_are_read(tmp_path):
    folder = write("dir", tmp_path / "b", members())
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with tarfile.open(tmp_path / "dotted.tar", "w", format=form) as archive:
            archive.add(folder, arcname=".")
        check_same(tmp_path / "dotted.tar")
    with zipfile.ZipFile(tmp_path / "folders.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    check_same(tmp_path / "folders.zip")
    with (
        (tmp_path / "streamed.zip").open("wb") as file,
        zipfile.ZipFile(Unseekable(file), "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, data in members().items():
            archive.writestr(name, data)
    check_same(tmp_path / "streamed.zip")
    with zipfile.ZipFile(tmp_path / "wide.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"a comment PK\x05\x06 that tries"
        for name, data in members().items():
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data)
    check_same(tmp_path / "wide.zip")


class Unseekable:
    """Makes zipfile write sizes behind the data, as when it writes to a pipe."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        return self.file.write(data)

    def flush(self):
        self.file.flush()


def check_same(path):
    with open_bundle(path) as bundle:
        assert {name: bundle.members.read(name) for name in bundle.members.names()} == members()


def test_streams_of_several_parts_are_read(tmp_path):
    data = tar_bytes(members())
    halves = data[:5000], data[5000:]
    (tmp_path / "gz").write_bytes(b"".join(packed("tar.gz", half) for half in halves) + bytes(100))
    check_same(tmp_path / "gz")
    frames = [zstandard.compress(half) for half in halves]
    skippable = b"\x5a\x2a\x4d\x18" + (7).to_bytes(4, "little") + b"skipped"
    (tmp_path / "zst").write_bytes(skippable + frames[0] + skippable + frames[1] + skippable)
    check_same(tmp_path / "zst")


def test_names_longer_than_a_tar_header_are_read(tmp_path):
    name = "notes/" + "x" * 150 + "/" + "ü" * 60
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        (tmp_path / "b.tar").write_bytes(tar_bytes({**members(), name: b"long"}, form))
        with open_bundle(tmp_path / "b.tar") as bundle:
            assert bundle.members.read(name) == b"long"


def test_zips_past_65535_members_are_read(tmp_path):
    content = {**members(), **{f"notes/{i}": b"" for i in range(66_000)}}
    path = write("zip", tmp_path / "b.zip", content)
    with open_bundle(path) as bundle:
        assert sum(1 for _ in bundle.members.names("notes/")) == 66_001


def test_members_that_disagree_with_the_manifest_are_kept_and_named(tmp_path):
    no_number = "the name holds a number that is not plain decimal, or too large"
    strange = {
        "tasks/ghost.0/0/main/0.det": "the manifest lists no task ghost.0",
        "tasks/sink.0/0/out-0/0.det": "task sink.0 has no output 0 in the manifest",
        "tasks/sink.0/0/received-2/0.rcv": "task sink.0 has no input 2 in the manifest",
        "tasks/sink.0/0/main/00.det": no_number,
        "tasks/sink.0/0/main/9999999999999999999.det": no_number,
    }
    content = {**members(), **dict.fromkeys(strange, b""), "tasks/readme.txt": b"kept", "tasks/sink.0/x/y": b""}
    with open_bundle(write("tar", tmp_path / "b.tar", content)) as bundle:
        assert sorted(bundle.check_shape(), key=lambda one: one.path) == sorted(
            (Reject(name, None, why) for name, why in strange.items()), key=lambda one: one.path
        )
        assert bundle.epochs("sink.0", 0, "main") == (0,)


def damaged(tmp_path, name, data):
    return open_bundle(write("zip", tmp_path / "b.zip", {**members(), name: data}))


def test_a_fault_inside_a_member_keeps_what_stands_before_it(tmp_path):
    name = "tasks/sink.0/0/main/0.det"
    with damaged(tmp_path, name, b"\x00\x05\x08") as bundle:
        read = []
        with pytest.raises(CorruptDeterminant, match="unknown determinant tag 8") as caught:
            for one in bundle.determinants("sink.0", 0, "main", 0):
                read.append(one)
        assert (read, caught.value.path, caught.value.offset) == ([(0, 2, Order(5))], name, 2)


def test_a_cut_frame_names_member_and_offset(tmp_path):
    name = "tasks/source.0/0/sent-0/0.buf"
    whole = members()[name]
    with damaged(tmp_path, name, whole + whole[:-1]) as bundle:
        frames = bundle.buffers("source.0", 0, 0)
        assert next(frames).seq == 0
        with pytest.raises(CorruptMember, match="claims") as caught:
            next(frames)
        assert (caught.value.path, caught.value.offset) == (name, len(whole))


EVENTS = [
    (b"[]\n", 0, "not an object"),
    (b'{"n":0,"t_us":1,"type":"x"}\n{"n":2,"t_us":1,"type":"x"}\n', 28, "n must be 1"),
    (b'{"n":0,"t_us":1.5,"type":"x"}\n', 0, "no integer t_us"),
    (b'{"n":0,"t_us":1}\n', 0, "no type"),
    (b'{"n":0,"t_us":1,"type":"x"}\n{"n":1', 28, "not JSON"),
    (b'{"n":0,"t_us":NaN,"type":"x"}\n', 0, "NaN is not JSON"),
    (b'{"n":0,"t_us":1e999,"type":"x"}\n', 0, "too large a number"),
    (b'{"n":0,"t_us":1,"type":"\\ud800"}\n', 0, "not JSON"),
    (b'{"n":0,"t_us":1,"type":"\xff"}\n', 0, "not JSON"),
    (b"[" * 100_000 + b"\n", 0, "nested too deeply"),
    (b'{"n":' + b"9" * 5000 + b"}\n", 0, "not JSON"),
]


@pytest.mark.parametrize(("data", "offset", "rule"), EVENTS, ids=[rule for _, _, rule in EVENTS])
def test_a_line_that_is_no_event_is_named_with_its_offset(tmp_path, data, offset, rule):
    with damaged(tmp_path, "events.ndjson", data) as bundle:
        with pytest.raises(CorruptMember, match=rule) as caught:
            list(bundle.events())
        assert (caught.value.path, caught.value.offset) == ("events.ndjson", offset)


def told(bundle):
    return [event["type"] for event in bundle.events()]


@pytest.mark.parametrize("most", [reader.KEPT_EVENTS_BYTES, 0])
def test_events_are_those_of_now_and_of_whoever_asks(tmp_path, monkeypatch, most):
    monkeypatch.setattr(reader, "KEPT_EVENTS_BYTES", most)
    with open_bundle(write("dir", tmp_path / "b", members())) as bundle:
        for event in bundle.events():
            event["type"] = "changed by who asked"
        assert told(bundle) == told(bundle) == ["checkpoint-triggered"]
        line = bundle.members.read("events.ndjson")
        (tmp_path / "b" / "events.ndjson").write_bytes(line + line.replace(b'"n":0', b'"n":1'))
        assert told(bundle) == told(bundle) == ["checkpoint-triggered"] * 2
        (tmp_path / "b" / "events.ndjson").write_bytes(line + line)
        for _ in range(2):
            with pytest.raises(CorruptMember, match="n must be 1"):
                told(bundle)


def test_events_of_a_small_recording_are_parsed_once(tmp_path, monkeypatch):
    parsed = []
    monkeypatch.setattr(reader, "read_events", lambda *given: parsed.append(given) or read_events(*given))
    with open_bundle(write("zip", tmp_path / "b.zip", members())) as bundle:
        assert next(bundle.events())["n"] == 0
        for _ in range(3):
            assert told(bundle) == ["checkpoint-triggered"]
        assert len(parsed) == 2, "who stops early keeps nothing"


def test_opening_and_packing_hold_no_member_in_memory(tmp_path):
    content = {**members(), "notes/large": bytes(48 << 20)}
    for kind in KINDS:
        path = write(kind, tmp_path / f"b-{kind}", content)
        tracemalloc.start()
        pack_of(path, tmp_path / "b.pack")
        with open_bundle(path) as bundle, bundle.members.open("notes/large") as stream:
            assert stream.read(3) == bytes(3)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 24 << 20, kind


def test_a_pack_reads_any_part_of_itself(tmp_path, request):
    content = {**members(), "notes/numbers": bytes(range(256)) * 1000}
    pack_of(write("tar", tmp_path / "b.tar", content), tmp_path / "b.pack")
    pack = Pack(tmp_path / "b.pack")
    request.addfinalizer(pack.close)
    offset, length = pack.extent("notes/numbers")
    assert (tmp_path / "b.pack").read_bytes()[offset : offset + length] == content["notes/numbers"]
    with pack.open("notes/numbers") as stream:
        stream.seek(-300, 2)
        assert stream.read() == (bytes(range(256)) * 2)[-300:]
        stream.seek(255)
        assert stream.read(2) == b"\xff\x00"
    assert "notes/numbers" in pack and "notes/number" not in pack and "" not in pack
    assert list(pack.names("tasks/sink.0/0/s")) == ["tasks/sink.0/0/sink/0.ndjson", "tasks/sink.0/0/state/1.json"]
    with pytest.raises(BundleError, match="no such member"):
        pack.read("nothing")


def test_a_damaged_pack_is_refused(tmp_path):
    pack_of(write("tar", tmp_path / "b.tar", members()), tmp_path / "b.pack")
    whole = (tmp_path / "b.pack").read_bytes()
    for broken in (b"", whole[:-1], whole[:8], whole + b"x"):
        (tmp_path / "b.pack").write_bytes(broken)
        with pytest.raises(BundleError, match="damaged"):
            Pack(tmp_path / "b.pack")


def test_progress_is_told_and_may_end_the_packing(tmp_path):
    told = []
    path = write("tar", tmp_path / "b.tar", members())
    pack_of(path, tmp_path / "b.pack", progress=told.append)
    assert told == sorted(told) and len(told) == len(members())

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pack_of(path, tmp_path / "c.pack", progress=stop)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["b.pack", "b.tar"]


def test_zip_and_stored_members_are_the_same(tmp_path):
    (tmp_path / "b.zip").write_bytes(zip_bytes(members(), zipfile.ZIP_STORED))
    check_same(tmp_path / "b.zip")
