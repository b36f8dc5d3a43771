"""Children that are asked one thing: at a limit, and where they fail, the answer is one sentence."""

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ingest.launch import (
    ReplayFailed,
    ReplayLimits,
    ReplayRequest,
    run_comparison,
    run_excerpt,
    run_import,
    run_steps,
)
from tests.ingest.test_replay_child import pack_of

FEW_FILES = ReplayLimits(open_files=3)
Asked = Callable[[Path, Path, ReplayLimits], Any]


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pack_of(tmp_path_factory.mktemp("recorded"), seed=7, events=300, kills=("map-1.0@100",))


def comparison(pack: Path, folder: Path, limits: ReplayLimits) -> Any:
    sides = [{"pack": str(pack), "task": "map-1.0", "attempt": n, "name": str(n)} for n in (0, 1)]
    return run_comparison(sides, limits, folder / "log")


def excerpt(pack: Path, folder: Path, limits: ReplayLimits) -> Any:
    request = replace(ReplayRequest(pack, folder / "steps", task="map-1.0", failure=0), limits=limits)
    return run_excerpt(request, folder / "excerpt.zip", folder / "log")


def imported(pack: Path, folder: Path, limits: ReplayLimits) -> Any:
    with zipfile.ZipFile(folder / "checkpoint.zip", "w") as container:
        container.writestr("no/checkpoint", b"")
    return run_import(folder / "checkpoint.zip", folder / "out.zip", "a name", 1 << 20, limits, folder / "log")


def steps(pack: Path, folder: Path, limits: ReplayLimits) -> Any:
    return run_steps(pack, folder, 1 << 20, limits, folder / "log")


@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (comparison, "the comparison was ended at its limit of 3 open files (CLONOSCOPE_REPLAY_OPEN_FILES). "
         "The command compare has no such limit."),
        (excerpt, "the excerpt was ended at its limit of 3 open files (CLONOSCOPE_REPLAY_OPEN_FILES). "
         "The command replay --shrink has no such limit."),
        (imported, "the import was ended at its limit of 3 open files (CLONOSCOPE_REPLAY_OPEN_FILES)."),
        (steps, "taking the steps was ended at its limit of 3 open files (CLONOSCOPE_REPLAY_OPEN_FILES)."),
    ],
)  # fmt: skip
def test_a_limit_is_named_with_its_setting(asked: Asked, what: str, pack: Path, tmp_path: Path) -> None:
    with pytest.raises(ReplayFailed) as failed:
        asked(pack, tmp_path, FEW_FILES)
    assert str(failed.value) == what


@pytest.mark.parametrize("asked", [comparison, excerpt, imported, steps])
def test_what_cannot_be_done_is_told_and_leaves_nothing(asked: Asked, pack: Path, tmp_path: Path) -> None:
    nowhere = pack.with_name("gone.pack")
    try:
        told = asked(nowhere, tmp_path, ReplayLimits())
    except ReplayFailed as failed:
        assert "gone.pack" in str(failed)
    else:
        assert told["refused"]["why"] == "this is nothing that an importer understands"
    assert not (tmp_path / "excerpt.zip").exists() and not (tmp_path / "out.zip").exists()
