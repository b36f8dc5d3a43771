"""Merging of copies: the longest wins, but only over its own prefixes."""

from __future__ import annotations

import pytest

from replay.errors import CorruptRecording
from replay.log.causal_log import Copy
from replay.model import MAIN, ChannelId, LogId, TaskId
from replay.recovery import Answer, Answers, Logs
from replay.recovery.answers import merged

LOG = LogId(TaskId("b.0"), MAIN)
ONE, TWO = ChannelId("b.0>c.0"), ChannelId("b.0>c.1")


def copy(data: bytes, holder: str = "c.0", *, epoch: int = 0, log: LogId = LOG) -> Copy:
    return Copy(holder, log, epoch, data)


def test_the_longest_copy_of_each_log_and_epoch_wins() -> None:
    out = LogId(TaskId("b.0"), "out-0")
    short = Logs((copy(b"\0\1"), copy(b"\7\0\0\0\1", log=out)))
    long = Logs((copy(b"\0\1\0\2", "c.1"), copy(b"\0\3", "c.1", epoch=1)))
    assert merged((short, long)) == merged((long, short))
    assert merged((short, long)).copies == (
        copy(b"\0\1\0\2", "c.1"),
        copy(b"\0\3", "c.1", epoch=1),
        copy(b"\7\0\0\0\1", log=out),
    )


@pytest.mark.parametrize("one, other, at", [(b"\0\1", b"\0\2", 1), (b"\0\1\0\5", b"\0\2", 1), (b"\4", b"\5\0", 0)])
def test_copies_that_disagree_name_both_holders_and_the_byte(one: bytes, other: bytes, at: int) -> None:
    with pytest.raises(CorruptRecording) as caught:
        merged((Logs((copy(one, "c.0"),)), Logs((copy(other, "c.1"),))))
    assert caught.value.offset == at
    assert set(caught.value.holders) == {"c.0", "c.1"}
    assert "c.0" in str(caught.value) and "c.1" in str(caught.value) and "epoch 0" in str(caught.value)


def test_a_second_answer_on_a_channel_replaces_the_first() -> None:
    answers = Answers().with_(ONE, Answer("held", Logs((copy(b"\0\1"),)))).with_(ONE, Answer("failed-too"))
    assert answers.channels == {ONE}
    assert answers.merged() == Logs()
    assert answers.without(ONE) == Answers()


@pytest.mark.parametrize(
    "results, held, own, expected",
    [
        (("held", "failed-too"), b"\0\1", b"", "held"),
        (("held", "failed-too"), b"", b"", "failed-too"),  # alive, but with nothing of that log
        (("failed-too", "failed-too"), b"", b"\0\1", "held"),
        (("failed-too", "failed-too"), b"", b"", "failed-too"),
        (("held", "beyond-depth"), b"\0\1", b"", "beyond-depth"),
        (("failed-too", "beyond-depth"), b"", b"", "beyond-depth"),
    ],
)
def test_what_a_relay_answers(results: tuple[str, str], held: bytes, own: bytes, expected: str) -> None:
    answers = Answers()
    for channel, result in zip((ONE, TWO), results, strict=True):
        logs = Logs((copy(held),)) if result == "held" and held else Logs()
        answers = answers.with_(channel, Answer(result, logs))  # type: ignore[arg-type]
    answer = answers.relayed(Logs((copy(own, "b.0"),)) if own else Logs())
    assert answer.result == expected
    assert b"".join(c.data for c in answer.logs) == held + own, "the logs go along always"
