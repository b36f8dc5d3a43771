"""What coverage says is wanted where nothing could be executed."""

from replay.guarantees.coverage.epochs import wanted


def test_an_operator_that_has_a_name_is_wanted_by_it_and_one_without_for_its_name() -> None:
    assert wanted({"operator": "jobs:Sum"}, "sum.0", 0) == "the code of jobs:Sum, installed here"
    assert wanted({"operator": ""}, "sum.0", 0).startswith("the name of its operator in job.json")
