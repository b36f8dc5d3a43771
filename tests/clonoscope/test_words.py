"""Words of segments as they were written before are read as they were meant."""

from array import array
from pathlib import Path

from clonoscope import words as w
from clonoscope.segments import read_segment

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
