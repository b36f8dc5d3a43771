"""What is made once in a run is made by whoever asks first, and again if that failed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tests.once import made_once


def test_of_many_that_ask_at_once_one_makes_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    made, all_here = list[Path](), Barrier(4)

    def ask(_: int) -> Path:
        all_here.wait(60)
        return made_once(tmp_path_factory, "asked-for-at-once", made.append)

    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(ask, range(4)))
    assert made == list(folders) and made[0].is_dir()


def test_what_failed_is_made_anew_and_nothing_is_left_of_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        made_once(tmp_path_factory, "failing-first", fail)
    folder = made_once(tmp_path_factory, "failing-first", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]
