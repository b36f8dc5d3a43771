"""What the panels say of what sharing cost, in every case that an answer can be."""

from __future__ import annotations

from typing import Any

import pytest
from django.template.loader import render_to_string

from dashboard.views.paths import shown_sharing

HOP = {"hop": 1, "bytes": 300, "new": 200, "again": 60, "unarrived": 40, "sendings": 3, "channels": 2}
LACKING = {"thread": "main", "epoch": 2, "held": 7, "needed": 90, "by": [f"sink.{n}" for n in range(8)]}


def row(depth: int, **said: Any) -> dict[str, Any]:
    counts = {"bytes": 300 * depth, "new": 300 * depth, "again": 0, "unarrived": 0, "sendings": depth, "holders": depth}
    usual = {"full": depth == 2, "recorded": depth == 1, "followed": True, "hops": [], "whole": 0, "lacking": []}
    return {"depth": depth, **counts, **usual, "found": True, **said}


def answer(**said: Any) -> dict[str, Any]:
    channel = {"channel": "map-1.0>sink.0", "from": "map-1.0", "to": "sink.0", **HOP}
    usual = {
        "task": "map-1.0",
        "attempt": 0,
        "sharing_depth": 1,
        "deepest": 2,
        "until_us": 5000,
        "log_bytes": 310,
        "hops": [HOP],
        "channels": [channel],
        "depths": [row(0, found=False, lacking=[LACKING]), row(1), row(2)],
        "failure": {"failure": 0, "at_us": 6000, "epoch": 2, "living": [], "needed_bytes": 90},
        "smallest": 1,
        "check": {"sendings": 12, "unlike": 0, "first": None},
        "why_no_depths": "",
        "undecided": [],
        "faults": [],
    }
    return usual | said


class Job:
    id = "j_000000000001"


def page(**said: Any) -> str:
    context = {"job": Job, "task": "map-1.0", "attempt": 0, "outside": "the world outside"}
    return " ".join(
        render_to_string("dashboard/partials/sharing.html", context | shown_sharing(answer(**said))).split()
    )


def test_how_much_went_to_who_had_it_is_said_first() -> None:
    shown = page()
    assert "<strong>60 B, 20 %, went to who had it already.</strong> 40 B had not arrived." in shown
    assert '<rect class="part-1" x="66.67%" width="20.00%" height="100%"/>' in shown
    assert "<strong>Depth 1 is enough</strong> for its failure" in shown
    assert "What nobody would have had at depth 0: 1 log and epoch" in shown and "sink.5 and 2 more" in shown
    assert "12 sendings of relays carry exactly what was recorded" in shown


UNDECIDED = [row(n, found=None) for n in range(3)]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"failure": None}, "It did not fail, so nobody had to find its log."),
        ({"smallest": 0}, "Nobody who lived followed anything that it had logged since epoch 2"),
        ({"smallest": None, "depths": UNDECIDED, "undecided": ["It is cut."]}, "its log is undecided. It is cut."),
        ({"smallest": None, "depths": UNDECIDED}, "Whether its recovery would have found its log is undecided."),
        (
            {"smallest": None, "depths": [row(0, found=False, lacking=[LACKING]), row(1, found=None), row(2)]},
            "Depth 2 is enough for its failure; whether less would do is undecided.",
        ),
        ({"smallest": None, "depths": [row(0, found=False, lacking=[LACKING])]}, "At no depth that could be decided"),
        ({"depths": [row(0), row(1, followed=False, found=None)]}, "too much to follow"),
        ({"depths": [row(0), row(1, followed=False, found=None)]}, "1 depth was given up."),
        ({"check": {"sendings": 0, "unlike": 0, "first": None}}, "so there is nothing to check it with."),
        (
            {"check": {"sendings": 9, "unlike": 2, "first": {"channel": "a>b", "seq": 4}}},
            "2 of 9 sendings carry otherwise than recorded, the first on a&gt;b buffer 4.",
        ),
        ({"why_no_depths": "nothing is so"}, "Under this protocol nothing is so."),
        ({"deepest": 0, "hops": [], "channels": []}, "no depth carries its log anywhere"),
        ({"hops": [], "channels": []}, "No sending carried any of it before it ended."),
        ({"hops": [], "channels": [], "log_bytes": 0}, "It had logged nothing."),
        ({"faults": [{"channel": "a>b", "seq": 3, "why": "bent"}]}, "1 delta could not be followed; the first, on"),
    ],
)
def test_every_case_has_its_sentence(said: dict[str, Any], sentence: str) -> None:
    assert sentence in page(**said)
