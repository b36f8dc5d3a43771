"""An audit's sections are asked one by one: what one can't read, the others still say."""

import json
from pathlib import Path

import pytest

from replay.bundle.reader import open_bundle
from replay.debugger.ports import RecordingSource
from replay.errors import CorruptMember, InvariantError, WrongSetting
from replay.guarantees import audit as auditing
from replay.guarantees.audit import Audit, Part, audit, checked
from replay.guarantees.claims import Section
from tests.replay.guarantees.observed.worlds import World


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return World.random(3).write(tmp_path / "bundle.zip")


def replaced(monkeypatch: pytest.MonkeyPatch, **parts: Part) -> None:
    monkeypatch.setattr(auditing, "PARTS", parts)


def says(name: str, verdict: str = "", good: bool | None = None) -> Part:
    return Part(
        name.capitalize(), "nothing", lambda source: Section(name, name.capitalize(), verdict, "So it is.", good)
    )


def broken(source: RecordingSource) -> Section:
    raise CorruptMember("it ends in the middle of a line", path="events.ndjson", offset=7)


def test_a_section_that_cant_read_what_it_needs_is_undecided_and_the_others_go_on(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced(monkeypatch, delivery=Part("Delivery", "all", broken), cuts=says("cuts", "consistent", good=True))
    with open_bundle(bundle) as source:
        report = audit(source).to_json()
    assert [(one["name"], one["verdict"]) for one in report["sections"]] == [
        ("delivery", "undecided"),
        ("cuts", "consistent"),
    ]
    (lack,) = report["undecided"]
    assert lack["wants"] == "events.ndjson" and "in the middle of a line" in lack["sentence"]
    assert (report["verdict"], report["good"], report["unmet"]) == ("undecided", False, ["delivery"])


def test_a_fault_of_the_program_is_no_verdict(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, cuts=Part("Cuts", "all", lambda source: next(iter([]))))
    with open_bundle(bundle) as source, pytest.raises(StopIteration):
        audit(source)
    replaced(monkeypatch, cuts=says("formal"))
    with open_bundle(bundle) as source, pytest.raises(InvariantError):
        audit(source)


def test_what_was_found_stays_where_an_audit_ends_early(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(monkeypatch, processing=says("processing", "exactly once", good=True), delivery=says("delivery"))

    def end(name: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    with open_bundle(bundle) as source:
        asked = Audit(source)
        with pytest.raises(KeyboardInterrupt):
            asked.run(end)
        asked.give_up("The audit was ended at its limit.", "more time")
        report = asked.report().to_json()
    assert (report["processing"], report["delivery"], report["good"]) == ("exactly once", "undecided", False)
    assert [one["wants"] for one in report["undecided"]] == ["more time"]


def test_without_an_expectation_both_questions_have_to_be_answered_well(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = {name: says(name, "exactly once", good=True) for name in ("processing", "delivery")}
    with open_bundle(bundle) as source:
        replaced(monkeypatch, **once, cuts=says("cuts", "none", good=None))
        assert audit(source).good
        replaced(monkeypatch, **once, cuts=says("cuts", "inconsistent", good=False))
        assert audit(source).good and audit(source, expect="exactly-once").good
        assert audit(source, only=["cuts"]).unmet == ["cuts"]  # where nothing else was asked
        replaced(monkeypatch, processing=once["processing"], delivery=says("delivery", "undecided"))
        assert audit(source).unmet == ["delivery"]


@pytest.mark.parametrize(
    ("word", "outside", "delivery", "unmet"),
    [
        ("exactly once", "exactly once", "exactly once", []),
        ("exactly once", "undecided", "undecided", ["outside"]),
        ("at least once", "exactly once", "exactly once", []),
        ("at least once", "undecided", "at least once", ["delivery", "outside"]),
        ("exactly once", "at most once", "at most once", ["outside"]),
    ],
)
def test_an_outside_that_was_asked_for_has_to_tell(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, word: str, outside: str, delivery: str, unmet: list[str]
) -> None:
    replaced(
        monkeypatch,
        processing=says("processing", "exactly once", good=True),
        delivery=says("delivery", word, good=word == "exactly once"),
    )
    beside = {"outside": says("outside", outside, good={"exactly once": True, "undecided": None}.get(outside, False))}
    with open_bundle(bundle) as source:
        report = audit(source, beside=beside).to_json()
        expected = {
            expect: audit(source, expect=expect, beside=beside).good
            for expect in ("delivery=exactly-once", "delivery=at-least-once", "processing=exactly-once")
        }
    assert (report["delivery"], report["unmet"], report["good"]) == (delivery, unmet, not unmet)
    assert ("from what was read outside" in report["sentence"]) == (delivery == "undecided")
    assert expected["delivery=exactly-once"] == (outside == "exactly once")
    assert expected["delivery=at-least-once"] == (outside == "exactly once")
    assert expected["processing=exactly-once"]


def test_only_what_is_asked_for_is_looked_at(bundle: Path) -> None:
    with open_bundle(bundle) as source:
        report = audit(source, only=["delivery"]).to_json()
    assert [one["name"] for one in report["sections"]] == ["delivery"] and report["processing"] is None
    assert "processing" in report["left_out"] and "delivery" not in report["left_out"]


@pytest.mark.parametrize(
    ("only", "expect", "says"),
    [
        (["guesses"], None, "no section “guesses”. It has "),
        (["delivery"], "exactly-once", "processing is expected to hold, and is left out"),
        ([], "often", "no guarantee"),
    ],
)
def test_what_cant_be_meant_so_is_refused_before_anything_is_read(only: list[str], expect: str, says: str) -> None:
    with pytest.raises(WrongSetting, match=says):
        checked(only, expect)


def test_the_report_is_plain_json_with_the_verdict_first(bundle: Path) -> None:
    with open_bundle(bundle) as source:
        report = audit(source, expect="at-most-once").to_json()
    assert json.loads(json.dumps(report)) == report
    assert list(report)[:6] == ["verdict", "sentence", "processing", "delivery", "good", "expected"]
    assert report["recording"]["job"] == "orders"


def test_all_sections_of_an_audit_can_be_made_of_what_any_recorder_leaves(tmp_path: Path) -> None:
    """Whatever a recording lacks is what can't be decided, and no fault."""
    for seed in range(12):
        path = World.random(seed).write(tmp_path / f"{seed}.zip", complete=seed % 3 > 0)
        with open_bundle(path) as source:
            report = audit(source).to_json()
        assert [one["name"] for one in report["sections"]] == list(auditing.PARTS), seed
        assert all(one["sentence"] and one["verdict"] for one in report["sections"]), (seed, report)
