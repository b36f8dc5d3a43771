"""Recordings of every version of the format are read whole, for ever."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from replay.bundle.frames import read_buffers, read_receipts, read_sendings
from replay.bundle.members import parse_member
from replay.bundle.reader import open_bundle
from replay.log.codec import decode_all, encode
from replay.log.deltas import decode_message, encode_flat
from tests.recordings.describe import described

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings").glob("*/*.tar.gz"))


def test_there_is_a_recording_of_the_current_version():
    assert any(path.parent.name == "1" for path in RECORDINGS)


@pytest.fixture(params=RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def recording(request):
    with open_bundle(request.param) as bundle:
        yield bundle, json.loads(request.param.with_name(request.param.name.replace(".tar.gz", ".json")).read_text())


def test_every_member_is_what_it_was(recording):
    bundle, told = recording
    found = {name: hashlib.sha256(bundle.members.read(name)).hexdigest() for name in bundle.members.names()}
    assert found == told["members"]
    assert bundle.check_shape() == []


def test_every_log_is_decoded_and_encoded_alike(recording):
    bundle, told = recording
    kinds = Counter()
    for name in bundle.members.names("tasks/"):
        if parse_member(name).kind == "det":
            data = bundle.members.read(name)
            determinants = [one for _, _, one in decode_all(data, name)]
            kinds.update(one.kind for one in determinants)
            assert b"".join(map(encode, determinants)) == data
    assert kinds == told["determinants"]


def test_every_frame_is_decoded_and_encoded_alike(recording):
    bundle, told = recording
    frames = Counter()
    for name in bundle.members.names("tasks/"):
        member, data = parse_member(name), bundle.members.read(name)
        if member.kind not in ("buf", "dlt", "rcv"):
            continue
        if member.kind == "buf":
            read = [one for _, one in read_buffers(data, epoch=member.epoch, path=name)]
        else:
            read = [one for _, one in (read_sendings if member.kind == "dlt" else read_receipts)(data, path=name)]
        frames[member.kind] += len(read)
        assert b"".join(one.to_bytes() for one in read) == data
        if member.kind == "dlt" and bundle.manifest.protocol.delta_layout == "flat":
            for one in read:
                assert encode_flat(decode_message(one.delta, bundle.ids), bundle.ids) == one.delta
    assert frames == told["frames"]
    assert len(list(bundle.events())) == told["events"]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_independent_reader_still_says_the_same(path):
    told = json.loads(path.with_name(path.name.replace(".tar.gz", ".json")).read_text())
    assert described(path) == told
    assert told["complaints"] == []
