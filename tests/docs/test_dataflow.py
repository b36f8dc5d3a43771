"""`docs/dataflow.md` names every edge, option, service and timer of the runtime, and none that there isn't."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from replay.errors import ReplayError
from replay.runtime.body.partition import SHIPS
from replay.runtime.body.services import TaskServices
from replay.runtime.body.timers import CLOCK_CALLBACK
from replay.runtime.body.watermarks import (
    IDLE,
    IDLE_CALLBACK,
    INGESTION_CALLBACK,
    NO_WATERMARK,
    OPTIONS,
    PERIODIC_CALLBACK,
)
from replay.runtime.operators import Context
from replay.services import Choices

PAGE = (Path(__file__).parents[2] / "docs" / "dataflow.md").read_text()


def first_column(heading: str) -> set[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` ", section, re.MULTILINE))


def test_every_edge_is_documented() -> None:
    assert first_column("Edges") - {"ship"} == set(SHIPS)


def test_every_option_of_a_sources_watermarks_is_documented() -> None:
    assert first_column("Event time") == set(OPTIONS)
    assert str(IDLE) in PAGE and str(NO_WATERMARK) in PAGE


def test_the_runtimes_own_timers_are_documented() -> None:
    for callback in (CLOCK_CALLBACK, PERIODIC_CALLBACK, INGESTION_CALLBACK, IDLE_CALLBACK):
        assert f"`{callback}`" in PAGE


def test_every_service_is_documented_and_can_be_had() -> None:
    for name in first_column("Services"):
        assert hasattr(Context, name.removeprefix("context.")), name
    world = None
    documented = re.findall(r"`services\.(time|random)` (?:absent or )?`([a-z:<>]+)`", PAGE)
    assert len(documented) == 4
    for service, value in documented:
        TaskServices({service: value.replace("<ms>", "5")}, "map", Choices(None), world)  # type: ignore[arg-type]
    for service in ("time", "random"):
        with pytest.raises(ReplayError, match=f"the {service} service of map is 'now'"):
            TaskServices({service: "now"}, "map", Choices(None), world)  # type: ignore[arg-type]
