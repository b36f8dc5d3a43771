"""Files of spilled buffers: real ones, few of them open, none left."""

import os
from random import Random

import pytest

from replay.log import spill_files
from replay.log.spill_files import SpillFault, SpillFiles


@pytest.mark.parametrize("seed", range(20))
def test_what_was_written_is_read_back_from_any_file(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(spill_files, "MAX_OPEN", 3)
    chance, files, places = Random(seed), SpillFiles(tmp_path), []
    for _ in range(300):
        name = f"{chance.randrange(8)}.spill"
        if chance.random() < 0.05:
            files.drop(name)
            places = [one for one in places if one[0] != name]
            assert name not in os.listdir(files.folder) if files.folder else True
        elif chance.random() < 0.5 or not places:
            data = chance.randbytes(chance.randrange(50))
            places.append((name, files.append(name, data), data))
        else:
            name, at, data = chance.choice(places)
            assert files.read(name, at, len(data)) == data, f"seed {seed}"
        assert len(files._open) <= 3
    assert sorted(os.listdir(files.folder)) == files.names
    files.close()
    assert os.listdir(tmp_path) == [] and files.folder is None


def test_nothing_is_made_before_it_is_needed_and_everything_is_gone_at_the_end(tmp_path):
    files = SpillFiles(tmp_path)
    files.drop("never.spill")
    files.close()
    assert os.listdir(tmp_path) == []
    files.append("a.spill", b"x")
    assert [one.name.startswith("clonoscope-spill-") for one in tmp_path.iterdir()] == [True]
    files.close()
    files.close()
    assert os.listdir(tmp_path) == []


def test_a_file_that_was_cut_short_is_named(tmp_path):
    files = SpillFiles(tmp_path)
    at = files.append("3-out-0-7.spill", b"abcdef")
    os.truncate(files.folder / "3-out-0-7.spill", 2)
    with pytest.raises(SpillFault, match=r"3-out-0-7\.spill at offset 0: a spilled buffer is cut short: 2 of 6 bytes"):
        files.read("3-out-0-7.spill", at, 6)
    files.close()


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    files = SpillFiles(tmp_path / "nowhere")
    with pytest.raises(SpillFault, match=r"x\.spill: a spilled buffer can't be written: No such file or directory"):
        files.append("x.spill", b"x")
