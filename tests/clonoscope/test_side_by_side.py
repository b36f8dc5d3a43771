"""Attempts of a recorded job held against each other by what they were told, what they took and what they gave."""

from pathlib import Path
from typing import Any

import clonoscope
from replay.bundle.reader import open_bundle
from tests.clonoscope.adapted import side_by_side
from tests.clonoscope.recorded import dumped, recording


def look_up(price: float) -> float:
    return price


def run(folder: Path, *prices: tuple[float, float], epochs: int = 1, intercepted: bool = False, **of: Any) -> Path:
    """An attempt of one epoch for each; the last goes on with more epochs."""
    with recording(folder, "job", payload="full") as made:
        for number, (cup, lamp) in enumerate(prices):
            last = number == len(prices) - 1
            for epoch in range(epochs if last else 1):
                with made.task("p").epoch(epoch):
                    for offset, price in enumerate((cup, lamp)):
                        made.task("p").take(offset, topic="in", record=[offset, 0, of.get("taken", {}).get(number, "")])
                        made.task("p").output([offset, 0, clonoscope.external(look_up, price)])
    with dumped(made, folder / "out.zip"):
        return folder / "out.zip"


def compared(bundle: Path) -> dict[str, Any]:
    with open_bundle(bundle) as opened:
        return side_by_side(opened, "p.0")


def test_the_first_answer_that_differs_is_named_and_so_is_the_output(tmp_path: Path) -> None:
    report = compared(run(tmp_path, (4.5, 19.9), (4.5, 24.9), epochs=3))
    answer, output = report["differences"]
    assert (answer["stream"], answer["first"]["said"]) == ("determinant", "the call look_up gave 19.9")
    assert (answer["second"]["said"], answer["second"]["record_count"]) == ("the call look_up gave 24.9", 2)
    assert "clonoscope.external(look_up, price)" in answer["first"]["line"]
    assert (output["stream"], output["number"]) == ("output", 1)
    assert [output[side]["said"] for side in ("first", "second")] == ["the record [1,0,19.9]", "the record [1,0,24.9]"]
    assert report["compared"] == ["determinant", "input", "output"] and "differ in output too" in report["sentence"]


def test_that_one_goes_on_is_said_only_where_nothing_else_differs(tmp_path: Path) -> None:
    report = compared(run(tmp_path, (4.5, 19.9), (4.5, 19.9), epochs=3))
    assert report["only_longer"] == "second" and "attempt 1 goes on: " in report["sentence"]


def test_an_output_that_only_one_gave_is_a_difference(tmp_path: Path) -> None:
    with recording(tmp_path, "job") as made:
        for count in (2, 3):
            with made.task("p").epoch(0):
                for number in range(count):
                    made.task("p").output([number, 0, "out"])
    with dumped(made, tmp_path / "out.zip"):
        report = compared(tmp_path / "out.zip")
    (only,) = report["differences"]
    assert (only["stream"], only["number"], only["first"]) == ("output", 2, None)


def test_records_that_were_read_are_held_against_each_other(tmp_path: Path) -> None:
    report = compared(run(tmp_path, (1, 2), (1, 2), taken={0: "as it was", 1: "as it is"}))
    (only,) = report["differences"]
    assert (only["stream"], only["number"]) == ("input", 0) and "as it was" in only["first"]["said"]


def test_seeds_are_named_where_nothing_else_differs_and_beside_what_does(tmp_path: Path) -> None:
    with clonoscope.intercepting("tests.clonoscope"):
        alike = compared(run(tmp_path / "alike", (1, 2), (1, 2)))
        other = compared(run(tmp_path / "other", (1, 2), (1, 3)))
    assert [one["stream"] for one in alike["differences"]] == ["determinant"]
    assert "the call seed gave" in alike["differences"][0]["first"]["said"]
    assert other["differences"][0]["first"]["said"] == "the call look_up gave 2"
    assert other["sentence"].endswith("Their generators of random numbers were seeded with other numbers too.")
