"""Facts become sentences: what failed, who returned what, what a determinant says, and why a step happened."""

from dataclasses import replace
from itertools import pairwise

import pytest

from dashboard.describing import described_row
from dashboard.queries import why_path
from dashboard.queries.answers import Answer, own_log_bytes
from dashboard.queries.failures import Failure, _ended
from dashboard.queries.kinds import DETERMINANTS, STEPS
from dashboard.queries.lanes import spans_of
from dashboard.queries.summary import summary
from dashboard.queries.timeline import _bands
from replay.model import Manifest, Task

MANIFEST = Manifest.from_json(
    {
        "format": "causal-log-bundle",
        "version": 1,
        "job": {"name": "tiny"},
        "clock": {"origin_ms": 1000, "kind": "virtual"},
        "determinants": "clonos",
        "protocol": {"name": "clonos"},
        "vertices": [{"id": "source", "kind": "source", "operator": "x", "parallelism": 1}],
        "edges": [],
        "tasks": [{"id": "source.0", "vertex": "source", "subtask": 0, "number": 0, "inputs": [], "outputs": []}],
    }
)


def failure(**known: object) -> Failure:
    fields = dict.fromkeys(Failure.__dataclass_fields__)
    fields |= {"failure": 0, "task": "join.2", "attempt": 0, "cause": "killed", "failed_us": 5_200_000}
    return Failure(**{**fields, **known})


def told(*failures: Failure, answers: tuple[Answer, ...] = ()) -> str:
    return " ".join(summary(MANIFEST, list(failures), list(answers), duration_us=9_000_000))


def test_a_recovery_is_told_from_the_failure_to_running_again() -> None:
    recovered = failure(
        action="standby-activated", action_us=5_400_000, checkpoint=6, next_attempt=1, running_us=6_100_000
    )
    answers = tuple(Answer("join.2", 1, f"join.2>sink.{n}", "held", 41_310 - n, 5_500_000) for n in range(5))
    assert told(recovered, answers=answers) == (
        "join.2 failed at 5.200 s; its standby took over after 200 ms. 5 holders returned up to 40.3 KiB of its logs. "
        "Restored from checkpoint 6, it was running again 900 ms after the failure."
    )


def test_what_the_recording_does_not_tell_is_not_made_up() -> None:
    assert told(failure()) == "join.2 failed at 5.200 s. The recording ends before it was running again."
    assert "holders" not in told(failure(running_us=6_000_000))


def test_an_escalation_is_told_with_its_reason() -> None:
    sentence = told(failure(escalated_us=5_500_000, escalated_why="sink.1 is beyond the sharing depth"))
    assert sentence.endswith("Recovery was given up after that: sink.1 is beyond the sharing depth.")


def test_without_a_failure_the_run_itself_is_told() -> None:
    assert told() == "1 task of 1 vertex ran for 9 s; the recording holds no failure."


def test_failures_past_the_first_three_are_counted() -> None:
    assert told(*(failure(failure=n) for n in range(5))).endswith("2 more failures follow below.")


@pytest.mark.parametrize("logs", [None, "", "nonsense", "{}", "[[1]]", '[["a.0", "main", 0, "9"]]', "[null]"])
def test_logs_of_an_answer_in_no_known_shape_count_for_nothing(logs: str | None) -> None:
    assert own_log_bytes("a.0", logs) == 0


def test_only_the_tasks_own_logs_count() -> None:
    assert own_log_bytes("a.0", '[["a.0","main",0,7],["a.0","out-0",0,5],["b.0","main",0,100]]') == 12


TASK = Task(id="join.3", vertex="join", subtask=3, number=13, inputs=("persons.0>join.3", "auctions.3>join.3"))
ROW = dict.fromkeys(("channel", "value", "payload", "record_count", "timestamp", "callback", "checkpoint"))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"kind": "order", "channel": 1}, ("channel 1", "auctions.3")),
        ({"kind": "order", "channel": 7}, ("channel 7", "no such input")),
        ({"kind": "timestamp", "value": 6200}, ("6200", "5.200 s")),
        ({"kind": "timestamp", "value": -5}, ("-5", "")),
        ({"kind": "rng", "value": -12}, ("-12", "")),
        ({"kind": "buffer-built", "buffer_bytes": 32768}, ("32,768 bytes", "")),
        (
            {"kind": "ignore-checkpoint", "checkpoint": 4, "record_count": 1207},
            ("checkpoint 4 at record 1,207", "ignored"),
        ),
        (
            {"kind": "timer-trigger", "callback": "watermark", "record_count": 1211, "timestamp": 6000},
            ("watermark at record 1,211", "for 6000"),
        ),
        (
            {
                "kind": "serializable",
                "payload": (b'CL\x03\x00\x00\x00\x29{"call":"price","site":4,"value":10.2}').hex(),
            },
            ("price gave 10.2", "site 4"),
        ),
        (
            {
                "kind": "serializable",
                "payload": (
                    b'CL\x03\x00\x00\x00\x29{"call":"external","name":"orders","effect":"write","value":7}'
                ).hex(),
            },
            ("orders gave 7", "writes outside"),
        ),
        (
            {
                "kind": "serializable",
                "payload": (b'CL\x03\x00\x00\x00\x29{"call":"external","name":"a","raised":{"type":"Gone"}}').hex(),
            },
            ('a raised {"type": "Gone"}', ""),
        ),
        ({"kind": "serializable", "payload": "aced00057400"}, ("Java object of 6 bytes", "")),
        ({"kind": "serializable", "payload": "434c03000000017b"}, ("object of 8 bytes", "")),
    ],
)
def test_what_a_determinant_says(row: dict[str, object], said: tuple[str, str]) -> None:
    assert described_row({**ROW, **row}, TASK, 1000) == said


def test_every_kind_has_its_own_letter_among_its_like() -> None:
    for kinds in (DETERMINANTS, STEPS):
        glyphs = [(kind.letter, kind.shape, kind.colour) for kind in kinds]
        assert len(set(glyphs)) == len(glyphs)


def test_epochs_stand_in_the_order_of_time_and_one_without_a_beginning_behind_the_one_before_it() -> None:
    epochs = [(0, 10, 20, 1, 1), (5, 40, 45, 1, 1), (100, 25, 30, 1, 1), (200, None, None, 1, 1), (300, None, 70, 1, 1)]
    bands = [(one["epoch"], one["startUs"], one["endUs"]) for one in _bands(epochs, 90)]
    assert bands == [(0, 10, 25), (100, 25, 30), (200, 30, 30), (300, 30, 40), (5, 40, 90)]
    assert [one["startUs"] for one in _bands([(0, None, None, 1, 1), (1, None, None, 1, 1)], 0)] == [0, 0]


def test_a_tasks_time_is_told_without_gaps_or_overlaps() -> None:
    spans = spans_of(
        [(0, 0, 0, True), (1, 5_400, 2, False)],
        [
            ("WaitingConnections", 5_500, 3),
            ("WaitingDeterminants", 5_600, 4),
            ("Replaying", 5_700, 5),
            ("Running", 6_100, 6),
        ],
        [(0, 5_200, 1, False)],
        9_000,
    )
    assert [span["state"] for span in spans] == [
        "Running", "Failed", "Standby", "WaitingConnections", "WaitingDeterminants", "Replaying", "Running",
    ]  # fmt: skip
    assert spans[0]["startUs"] == 0
    assert spans[-1]["endUs"] == 9_000
    assert all(one["endUs"] == other["startUs"] for one, other in pairwise(spans))
    assert [span["attempt"] for span in spans] == [0, 0, 1, 1, 1, 1, 1]


def test_an_attempt_that_a_rollback_began_runs_at_once() -> None:
    starts = [(0, 0, 0, True), (1, 5_400, 2, False), (2, 5_800, 4, True)]
    spans = spans_of(starts, [("WaitingConnections", 5_500, 3)], [(0, 5_200, 1, False)], 9_000)
    assert [(span["state"], span["attempt"]) for span in spans] == [
        ("Running", 0), ("Failed", 0), ("Standby", 1), ("WaitingConnections", 1), ("Running", 2),
    ]  # fmt: skip


def test_a_task_that_fails_as_it_enters_a_state_is_down_and_not_in_that_state() -> None:
    """Both events have one time: their numbers say which came first."""
    spans = spans_of(
        [(0, 0, 0, True), (1, 300, 2, False)],
        [("Replaying", 400, 3), ("Running", 900, 5)],
        [(0, 200, 1, False), (1, 400, 4, False)],
        900,
    )
    assert [span["state"] for span in spans] == ["Running", "Failed", "Standby", "Failed"]


def test_a_task_that_was_only_suspected_is_not_drawn_as_failed() -> None:
    spans = spans_of([(0, 0, 0, True), (1, 300, 2, False)], [("Running", 900, 3)], [(0, 200, 1, True)], 1_000)
    assert [span["state"] for span in spans] == ["Running", "Suspected", "Standby", "Running"]


def test_a_recovery_that_another_failure_or_a_rollback_ended_is_shaded_until_then() -> None:
    ended = failure(running_us=None, again_us=5_400_000)
    assert (ended.ended_us, replace(ended, running_us=5_300_000).ended_us) == (5_400_000, 5_300_000)
    assert failure(running_us=None, rollback_us=5_500_000).ended_us == 5_500_000
    assert failure(running_us=None).ended_us is None


def test_a_recovery_that_another_failure_ended_is_not_said_to_go_on_at_the_end() -> None:
    first = failure(next_attempt=1, checkpoint=2)
    again = failure(failure=1, attempt=1, failed_us=5_400_000, next_attempt=2, running_us=6_000_000)
    elsewhere = failure(failure=2, task="sink.0", attempt=1, failed_us=5_300_000)
    ended = _ended(first, [first, elsewhere, again], [])
    assert ended.outcome == "failed again"
    assert told(ended) == "join.2 failed at 5.200 s. It failed again at 5.400 s, before it was running."
    rolled_back = _ended(first, [first, again], [(5_300_000, 1)])
    assert rolled_back.outcome == "rolled back" and rolled_back.helper == "every task anew"
    assert _ended(again, [first, again], []).outcome == "recovered"


def test_choices_that_were_lost_for_availability_are_told_beside_the_recovery() -> None:
    sentence = told(failure(escalated_us=5_300_000, escalated_why="nobody knows", running_us=5_900_000))
    assert "Choices were lost: nobody knows. It went on without them" in sentence
    assert "running again 700 ms after" in sentence


def test_a_task_that_was_only_suspected_is_not_said_to_have_failed() -> None:
    at_once = told(failure(cause="suspected", action="standby-activated", action_us=5_200_000))
    assert "its standby took over at once." in at_once
    sentence = told(failure(cause="suspected", action="standby-activated", action_us=5_400_000, running_us=6_000_000))
    assert sentence.startswith(
        "join.2 was taken for failed at 5.200 s, and fenced; its standby took over after 200 ms."
    )


@pytest.mark.parametrize(("protocol", "who"), [("clonos", "The world outside"), ("pessimistic", "The stable storage")])
def test_an_answer_from_outside_the_graph_is_told_as_what_it_is(protocol: str, who: str) -> None:
    manifest = replace(MANIFEST, protocol=replace(MANIFEST.protocol, name=protocol))
    answer = Answer("join.2", 1, "join.2>world", "held", 144, 5_500_000)
    assert (
        f"{who} returned 144 B of its logs."
        in summary(manifest, [failure(next_attempt=1)], [answer], duration_us=9_000_000)[0]
    )


def test_a_rollback_is_told_of_every_failure_that_it_ended() -> None:
    gave_up = failure(running_us=None, escalated_us=5_600_000, escalated_why="nobody knows", rollback_us=5_700_000)
    ended = replace(gave_up, escalated_us=None, rollback_checkpoint=3)
    assert gave_up.outcome == "escalated"
    assert ended.outcome == "rolled back"
    assert "nobody knows. Every task was rolled back to the beginning, at 5.700 s." in told(gave_up)
    assert "Before it was running again, every task was rolled back to checkpoint 3, at 5.700 s." in told(ended)


def test_why_goes_back_by_the_determinant_its_merge_its_answer_and_its_delta() -> None:
    behind = {
        "step:900": ["step:899"],
        "step:899": ["det:a.0/0/main/2#219", "delta:a.0>b.0#167/a.0/main", "step:15"],
        "step:15": ["step:13", "step:14"],
        "step:14": ["event:84", "step:10"],
        "step:10": ["step:7"],
    }
    kinds = {"step:15": "merge", "step:14": "answer", "step:13": "answer"}
    line = ["step:900", "step:899", "det:a.0/0/main/2#219", "step:15", "step:14", "event:84"]
    assert why_path.ways("step:900", behind, kinds)[0] == [*line, "delta:a.0>b.0#167/a.0/main"]
    behind["step:899"].append("step:13")  # where it is known whose answer it was
    behind["step:13"] = ["event:80"]
    line[-2:] = ["step:13", "event:80"]
    assert why_path.ways("step:900", behind, kinds)[0] == [*line, "delta:a.0>b.0#167/a.0/main"]


def test_the_shortest_way_to_each_place_comes_first() -> None:
    behind = {
        "step:9": ["step:8", "step:3"],
        "step:8": ["step:7"],
        "step:7": ["det:a.0/0/main/2#219"],
        "step:3": ["event:5", "step:2"],
        "step:2": ["event:5", "event:4", "step:1"],
        "step:1": ["delta:a>b#1/a/main"],
    }
    assert why_path.ways("step:9", behind, {}) == [
        ["step:9", "step:3", "event:5"],
        ["step:9", "step:8", "step:7", "det:a.0/0/main/2#219"],
        ["step:9", "step:3", "step:2", "event:4"],
        ["step:9", "step:3", "step:2", "step:1", "delta:a>b#1/a/main"],
    ]


@pytest.mark.parametrize(
    ("behind", "line"),
    [
        ({}, ["step:3"]),
        ({"step:3": ["event:7"]}, ["step:3", "event:7"]),
        ({"step:3": ["step:2"], "step:2": ["step:3"]}, ["step:3", "step:2"]),
        ({"step:3": ["delta:a>b#1/a/main"]}, ["step:3", "delta:a>b#1/a/main"]),
    ],
)
def test_why_ends_where_nothing_is_known_and_never_turns_in_a_circle(behind: dict, line: list[str]) -> None:
    assert why_path.ways("step:3", behind, {}) == [line]


def test_trivial_hops_are_folded_but_never_an_end_and_never_one_alone() -> None:
    kinds = dict(
        zip("abcdefg", ["answer", "request", "transition", "merge", "request", "answer", "transition"], strict=True)
    )
    shown = why_path.folded(list(kinds), kinds)
    assert [(one.ref, one.folded) for one in shown] == [
        ("a", []), ("d", ["b", "c"]), ("e", []), ("f", []), ("g", []),
    ]  # fmt: skip
    assert [one.ref for one in why_path.folded(["a"], kinds)] == ["a"]
    assert why_path.folded([], kinds) == []


def test_causes_lie_as_far_as_the_shortest_way_to_them() -> None:
    behind = {"a": ["b", "c"], "b": ["d"], "c": ["b", "e"], "d": ["a"], "e": ["d"]}
    assert why_path.distances("a", behind) == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 2}
