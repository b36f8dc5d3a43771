"""Segments as they were written before are read as they were meant; those that nobody knows are refused."""

from array import array
from pathlib import Path

import pytest

import clonoscope
from clonoscope import words as w
from clonoscope.command import main
from clonoscope.segments import read_segment
from tests.clonoscope.recorded import recording

BASE_US = 1_795_000_000_123_456


def a_segment(path: Path, *words: int) -> Path:
    """As it was written when the times of `time()` were nanoseconds: its first entry, a base, and the words."""
    meta = w.padded_to_words(b"{}")
    first = [w.finished(w.long_header(w.META, b"{}", meta), meta), *array("Q", meta)]
    content = [*first, w.BASE << w.KIND_SHIFT | BASE_US, *words]
    header = [0] * w.HEADER_WORDS
    header[w.H_MAGIC] = int.from_bytes(b"CLNSEG01", "little")
    header[w.H_ORDER], header[w.H_WORDS] = w.ORDER_MARK, w.HEADER_WORDS + len(content)
    path.write_bytes(array("Q", [*header, *content]).tobytes())
    return path


def test_times_in_seconds_of_a_segment_of_before_are_nanoseconds(tmp_path: Path) -> None:
    # As to bits, the second is what a segment of today has for a time.
    asked = [(0, 0, 7), (1, 0xD01, 12_345_678_901), (31, w.SITES_MOST - 1, w.LOW_BITS - 1)]
    words = [w.TIME << w.KIND_SHIFT | w.ADVANCES[adv] | site << w.SITE_SHIFT | past for adv, site, past in asked]
    held = read_segment(a_segment(tmp_path / "0.seg", *words))
    assert held is not None and held.torn == []
    found = [(one.advance, one.site, one.seconds) for one in held.entries[1:]]
    assert found == [(adv, site, (BASE_US * 1000 + past) / 1e9) for adv, site, past in asked]


@pytest.mark.parametrize("command", ["show", "dump"])
def test_a_segment_of_a_version_that_nobody_knows_is_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with recording(tmp_path) as made, made.task("p").epoch(0):
        clonoscope.time()
    (path,) = made.folder.rglob("*.seg")
    data = path.read_bytes()
    for mark in (b"CLNSEG03", b"30GESNLC"):  # that of a machine with the other order of bytes
        path.write_bytes(mark + data[8:])
        assert main([command, str(made.folder)]) == 1
        said = capsys.readouterr().err
        assert f"{path}: this version of clonoscope does not know segments with the mark CLNSEG03" in said
        assert "with the version that wrote it, or with a newer one" in said
    path.write_bytes(data)
    assert main([command, str(made.folder)]) == 0


def test_a_job_goes_on_beside_segments_that_it_does_not_know(tmp_path: Path) -> None:
    for _ in range(2):
        with recording(tmp_path, retry="replay", dump_on=["exit", "recovery"]) as made, made.task("p").epoch(0):
            clonoscope.time()
        for path in made.folder.rglob("0/*.seg"):
            path.write_bytes(b"CLNSEG03" + path.read_bytes()[8:])
    assert {path.parent.name for path in made.folder.rglob("*.seg")} == {"0", "1"}
