"""Whatever is done to members at random, reader and sinks' oracle notice: cut, gone, exchanged, renamed, flipped."""

import random
from collections import defaultdict

import pytest

from tests.oracle.damage import RECORDED, found_wrong, recorded

SEED = 5
FLIPS, NOTICED = 24, 18
"""Not every bit is written down twice: a time, a value that nobody follows. Most are."""


def members(bundle):
    """By kind, as `main.det`."""
    found = defaultdict(list)
    for file in sorted(one for one in bundle.rglob("*") if one.is_file() and one.stat().st_size):
        name = file.relative_to(bundle).as_posix().split("/")
        found[file.name if len(name) == 1 else name[3].split("-")[0] + file.suffix].append(file)
    return found


class Undone:
    """Files as they were, afterwards."""

    def __init__(self, *files):
        self.files = {file: file.read_bytes() for file in files}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for file, data in self.files.items():
            file.write_bytes(data)


def cut(chance, files):
    file = chance.choice(files)
    with Undone(file):
        data = file.read_bytes()
        file.write_bytes(data[: chance.randrange(len(data))])
        yield file


def gone(chance, files):
    """What was received and never taken may be gone for good: then it was lost on the wire."""
    file = chance.choice([one for one in files if one.suffix != ".rcv" or one.read_bytes()[24:32] != b"\xff" * 8])
    with Undone(file):
        file.unlink()
        yield file


def exchanged(chance, files):
    file = chance.choice(files)
    others = [one for one in files if one.read_bytes() != file.read_bytes()]
    if others:
        other = chance.choice(others)
        with Undone(file, other) as undone:
            file.write_bytes(undone.files[other])
            other.write_bytes(undone.files[file])
            yield file, other


def renamed(chance, files):
    file = chance.choice(files)
    to = file.with_name(f"77{file.suffix}")
    with Undone(file):
        file.rename(to)
        yield file
        to.unlink()


def flipped(chance, files):
    file = chance.choice(files)
    with Undone(file):
        data = bytearray(file.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        yield file


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("random")
    return {name: recorded(name, folder / name) for name in ("determinants", "transactions", "write-ahead")}


@pytest.mark.parametrize("how", [cut, gone, exchanged, renamed], ids=lambda how: how.__name__)
@pytest.mark.parametrize("name", ["determinants", "transactions", "write-ahead"])
def test_members_that_are_not_whole_or_in_their_place_are_noticed(bundles, name, how):
    chance = random.Random(f"{SEED} {name} {how.__name__}")
    for kind, files in members(bundles[name]).items():
        for what in how(chance, files):
            assert found_wrong(bundles[name]), f"seed {SEED}: {kind}, {what}"
    assert found_wrong(bundles[name]) == [], "all is as it was"


@pytest.mark.parametrize("name", ["determinants", "transactions", "write-ahead"])
def test_most_bits_that_are_flipped_are_noticed(bundles, name):
    chance, unnoticed = random.Random(f"{SEED} {name}"), []
    kinds = members(bundles[name])
    for n in range(FLIPS):
        for what in flipped(chance, kinds[sorted(kinds)[n % len(kinds)]]):
            if not found_wrong(bundles[name]):
                unnoticed.append(what)
    assert len(unnoticed) <= FLIPS - NOTICED, f"seed {SEED}: {unnoticed}"


def test_every_kind_of_recording_has_members_of_its_own(tmp_path):
    kinds = set(members(recorded("determinants", tmp_path / "b")))
    assert {"world.dlt", "main.det", "sent.buf", "received.rcv", "state.json", "sink.ndjson", "source.ndjson"} <= kinds
    assert len(RECORDED) == 6
