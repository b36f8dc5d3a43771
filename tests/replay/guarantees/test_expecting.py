"""What can be expected: stronger guarantees meet weaker ones, and what is undecided meets none."""

import itertools

import pytest

from replay.errors import WrongSetting
from replay.guarantees.expecting import MET_BY, QUESTIONS, UNDECIDED, expectation
from replay.guarantees.in_one_sentence import together, verdict_sentence

VERDICTS = ("exactly once", "at least once", "at most once", "neither", UNDECIDED)


def met(word: str, verdict: str) -> bool:
    """By what the words mean: nothing lost, nothing twice."""
    if verdict == UNDECIDED:
        return False
    twice, lost = verdict in ("at least once", "neither"), verdict in ("at most once", "neither")
    return not (lost and word != "at-most-once") and not (twice and word != "at-least-once")


@pytest.mark.parametrize("word", MET_BY)
def test_a_guarantee_is_met_by_itself_and_by_stronger_ones(word: str) -> None:
    for processing, delivery in itertools.product(VERDICTS, VERDICTS):
        found = dict(zip(QUESTIONS, (processing, delivery), strict=True))
        assert expectation(word).unmet(found) == [name for name in QUESTIONS if not met(word, found[name])]
        assert expectation(f"delivery={word}").unmet(found) == [n for n in ("delivery",) if not met(word, found[n])]


def test_what_was_not_asked_for_meets_nothing() -> None:
    assert expectation("at-least-once").unmet({"processing": None}) == ["processing", "delivery"]


def test_precise_is_exactly_once_with_nothing_but_precise_recoveries() -> None:
    once = dict.fromkeys(QUESTIONS, "exactly once")
    precise = expectation(" precise ")
    assert str(precise) == "precise" and expectation(str(precise)) == precise
    for verdict in ("precise", "nothing failed"):
        assert precise.unmet(once | {"recovery-types": verdict}) == []
    assert precise.unmet(once | {"recovery-types": "convergent"}) == ["recovery-types"]
    assert precise.unmet({"processing": "exactly once", "delivery": "at least once"}) == ["delivery", "recovery-types"]


def test_each_question_has_its_own_word() -> None:
    both = expectation(" delivery=at-least-once , processing=exactly-once")
    assert str(both) == "processing=exactly-once,delivery=at-least-once"
    assert str(expectation("processing=at-most-once,delivery=at-most-once")) == "at-most-once"
    assert both.unmet({"processing": "exactly once", "delivery": "at least once"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "twice",
        "exactly once",
        "cuts=exactly-once",
        "delivery=",
        "exactly-once,delivery=exactly-once",
        "=",
        "delivery=precise",
        "precise,precise",
    ],
)
def test_what_no_word_says_is_refused(text: str) -> None:
    with pytest.raises(WrongSetting, match=r"no guarantee that can be expected.*Expect one of exactly-once"):
        expectation(text)


def test_what_is_proven_bad_of_one_is_bad_of_both() -> None:
    for one, other in itertools.product(VERDICTS, VERDICTS):
        found = together([one, other])
        assert (found == "exactly once") == (one == other == "exactly once")
        bad = {one, other} - {"exactly once", UNDECIDED}
        assert (found in bad) if len(bad) == 1 else found == ("neither" if bad else found)
        said = verdict_sentence({"processing": one, "delivery": other})
        assert said.startswith(f"{found.capitalize()}: ") and said.count(". ") == 0 and said.endswith(".")
    assert together([None, None]) == ""
