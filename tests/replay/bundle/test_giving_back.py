"""What is given back is what came in: every member, byte by byte, from any container into any."""

from contextlib import closing
from pathlib import Path

import pytest

from replay.bundle.giving_back import give_back
from replay.bundle.pack import Pack
from replay.bundle.reader import open_bundle
from replay.errors import ReplayError
from tests.replay.bundle.made import KINDS, members, pack_of, write

LONG = "tasks/source.0/0/main/" + "x" * 400


def odd_members() -> dict[str, bytes]:
    """A manifest as nobody here would write it, names that need extended headers, and nothing, and much."""
    found = members()
    found["job.json"] = found["job.json"].replace(b'"format":', b'\n  "unknown" : [1.50, 1e2],\t"format" :', 1)
    return found | {"empty": b"", "a" * 180 + "/ü☃.bin": bytes(range(256)) * 9000}


def given(path: Path) -> dict[str, bytes]:
    with open_bundle(path) as bundle:
        return {name: bundle.members.read(name) for name in bundle.members.names()}


@pytest.mark.parametrize("kind", KINDS)
def test_what_comes_out_is_what_came_in(kind: str, tmp_path: Path) -> None:
    content = odd_members()
    came = write(kind, tmp_path / "came", content)
    pack_of(came, tmp_path / "stored.pack")
    with closing(Pack(tmp_path / "stored.pack")) as pack:
        for to in KINDS:
            out = tmp_path / ("out" if to == "dir" else f"out.{to}")
            assert give_back(pack, out) == len(content)
            assert given(out) == content, to
            with open_bundle(out) as again:
                assert again.content_id() == pack.content_id
    assert not list(tmp_path.glob(".*")), "a temporary file stayed"


def test_a_name_that_no_file_can_have_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    pack_of(write("tar", tmp_path / "came.tar", members() | {LONG: b"x"}), tmp_path / "stored.pack")
    with closing(Pack(tmp_path / "stored.pack")) as pack:
        with pytest.raises(ReplayError, match="no file can have this name here") as told:
            give_back(pack, tmp_path / "folder")
        assert told.value.path == LONG and "--out bundle.tar" in str(told.value)
        assert sorted(one.name for one in tmp_path.iterdir()) == ["came.tar", "stored.pack"]
        give_back(pack, tmp_path / "out.tar.zst")
    assert given(tmp_path / "out.tar.zst")[LONG] == b"x"


def test_nothing_is_written_over(tmp_path: Path) -> None:
    pack_of(write("zip", tmp_path / "came.zip", members()), tmp_path / "stored.pack")
    with closing(Pack(tmp_path / "stored.pack")) as pack, pytest.raises(ReplayError, match="something already"):
        give_back(pack, tmp_path / "came.zip")
