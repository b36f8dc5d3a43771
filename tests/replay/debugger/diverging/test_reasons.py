"""A divergence says why it is likely to have come about, and which line was at work: found out, not guessed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replay.debugger.diverging.reasons import REASONS
from replay.debugger.outcome import Outcome
from replay.debugger.replay import replay
from replay.jobs import registry
from tests.replay.debugger.diverging import planted
from tests.replay.debugger.diverging.confused import CODES, Confused, chosen, said, told
from tests.replay.debugger.worlds import Kept, MemoryMembers, bundle_of

FILE = "tests/replay/debugger/diverging/planted.py"
LINES = Path(planted.__file__).read_text("utf-8").splitlines()


def line_with(text: str) -> int:
    return next(n for n, line in enumerate(LINES, 1) if text in line)


def replayed(members: MemoryMembers, operator: type[Any], monkeypatch: Any, **options: Any) -> Outcome:
    monkeypatch.setitem(registry.OPERATORS, planted.NAME, operator)
    return replay(bundle_of(members), failure=0, **options)


@pytest.mark.parametrize(
    ("operator", "code", "text"),
    [
        (planted.TellsTime, "unlogged-clock", "time.time_ns()"),
        (planted.TossesCoins, "unlogged-random", "random.randrange("),
        (planted.UsesIdentity, "unlogged-choice", None),
    ],
)
def test_what_differs_between_two_executions_is_not_logged(
    operator: type[Any], code: str, text: str | None, monkeypatch: Any
) -> None:
    members = planted.recorded_with(operator, monkeypatch)
    outcome = replayed(members, operator, monkeypatch)
    reason = outcome.detail["reason"]
    assert (outcome.verdict, reason["code"]) == ("diverged", code), outcome.sentence
    assert reason["words"] in outcome.sentence
    if text is not None:
        assert f"{FILE}:{line_with(f'return {text}')}" in reason["words"]
    line = outcome.detail["line"]
    assert (line["file"], line["line"]) == (FILE, line_with("context.emit(Record(")), "what wrote the byte that differs"
    assert line["text"] == "context.emit(Record(record.key, record.timestamp, self.value(record)))"


def test_the_environment_and_files_are_seen_though_two_executions_agree(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("CLONOSCOPE_TEST_PLANTED", "then")
    members = planted.recorded_with(planted.ReadsEnvironment, monkeypatch)
    monkeypatch.setenv("CLONOSCOPE_TEST_PLANTED", "now and longer")
    reason = replayed(members, planted.ReadsEnvironment, monkeypatch).detail["reason"]
    assert reason["code"] == "unlogged-environment" and f"{FILE}:{line_with('os.environ.get')}" in reason["words"]

    file = tmp_path / "rates.txt"
    monkeypatch.setattr(planted.ReadsFile, "path", file)
    file.write_text("one", "utf-8")
    members = planted.recorded_with(planted.ReadsFile, monkeypatch)
    file.write_text("two", "utf-8")
    reason = replayed(members, planted.ReadsFile, monkeypatch).detail["reason"]
    assert reason["code"] == "unlogged-file" and f"{FILE}:{line_with('read_text')}" in reason["words"]


def test_an_operator_of_other_code_was_changed(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    outcome = replayed(members, planted.Changed, monkeypatch)
    detail = outcome.detail
    assert detail["reason"]["code"] == "operator-changed", outcome.sentence
    assert detail["line"]["line"] == line_with("context.emit(Record(")
    assert '"sound"' in detail["logged_record"] and '"changed"' in detail["asked_record"]


def test_where_the_recording_names_no_code_other_executions_tell(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    nameless = members.with_("job.json", members.members["job.json"].replace(b'"code":', b'"codes":'))
    outcome = replayed(nameless, planted.Changed, monkeypatch)
    assert outcome.detail["reason"]["code"] == "operator-changed"
    assert any("nothing else replays as recorded" in one for one in outcome.detail["reason"]["evidence"])


def test_an_operator_that_fails_names_its_line(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    outcome = replayed(members, planted.Fails, monkeypatch)
    assert "an operator's own fault" in outcome.sentence
    assert outcome.detail["line"]["line"] == line_with("raise ValueError")
    assert outcome.detail["line"]["function"] == "Fails.value"


_OTHER_PROCESS = """
import json, sys
from pathlib import Path
import pytest
from tests.replay.debugger.diverging import planted
from tests.replay.debugger.diverging.confused import CODES, Confused, chosen, said, told
with pytest.MonkeyPatch.context() as patch:
    members = planted.recorded_with(getattr(planted, sys.argv[2]), patch)
files = {name: data.hex() for name, data in members.members.items()}
Path(sys.argv[1]).write_text(json.dumps(files), "utf-8")
"""


def recorded_elsewhere(operator: type[Any], folder: Path) -> Iterator[MemoryMembers]:
    """In processes of which one at least orders texts otherwise than this one."""
    for seed in ("1", "2"):
        made = folder / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        line = [sys.executable, "-c", _OTHER_PROCESS, str(made), operator.__name__]
        subprocess.run(line, check=True, env=environment)
        yield MemoryMembers({name: bytes.fromhex(data) for name, data in json.loads(made.read_text("utf-8")).items()})


def test_the_order_of_a_set_of_texts_is_that_of_its_process(monkeypatch: Any, tmp_path: Path) -> None:
    for members in recorded_elsewhere(planted.IteratesSet, tmp_path):
        outcome = replayed(members, planted.IteratesSet, monkeypatch)
        if outcome.verdict == "diverged":
            break
    assert outcome.detail["reason"]["code"] == "iteration-order", outcome.sentence
    assert outcome.detail["line"]["file"] == FILE


def test_what_is_the_same_within_a_process_is_not_taken_for_damage(monkeypatch: Any, tmp_path: Path) -> None:
    for members in recorded_elsewhere(planted.DigestsASet, tmp_path):
        outcome = replayed(members, planted.DigestsASet, monkeypatch)
        if outcome.verdict == "diverged":
            break
    reason = outcome.detail["reason"]
    assert reason["code"] == "unlogged-choice" and "the same within a process" in reason["words"], outcome.sentence
    assert any("nothing replays as recorded" in one for one in reason["evidence"])


def test_what_its_snapshots_do_not_hold_is_told_by_who_took_them(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Forgets, monkeypatch)
    outcome = replayed(members, planted.Forgets, monkeypatch)
    reason = outcome.detail["reason"]
    assert (outcome.verdict, reason["code"]) == ("diverged", "state-not-saved"), outcome.sentence
    assert ", in seen:" in reason["words"] and reason["words"] in outcome.sentence


def test_a_flipped_bit_in_a_text_is_damage(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    name = "tasks/map-1.0/0/sent-0/1.buf"
    data = members.members[name]
    at = data.index(b"sound")
    damaged = members.with_(name, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    outcome = replayed(damaged, planted.Sound, monkeypatch)
    assert outcome.detail["member"] == name
    assert outcome.detail["reason"]["code"] == "corrupt-recording"
    assert "The two buffers differ in 1 bit." in outcome.detail["reason"]["evidence"]


def test_a_divergence_says_what_agreed_last_and_what_led_there(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    monkeypatch.setitem(registry.OPERATORS, planted.NAME, planted.Changed)
    kept = Kept()
    outcome = replay(bundle_of(members), failure=0, sink=kept)
    detail = outcome.detail
    diverge = kept.rows[detail["step"]]
    assert (diverge.kind, diverge.text) == ("diverge", outcome.sentence)
    agreeing = detail["last_agreeing"]
    assert kept.rows[agreeing["step"]].text == agreeing["text"] and agreeing["step"] < detail["step"]
    kinds = [one["kind"] for one in detail["predecessors"]]
    assert {"deliver-record", "take-buffer", "restore"} <= set(kinds)
    steps = [one["step"] for one in detail["predecessors"]]
    assert steps == sorted(steps, reverse=True)
    assert all(kept.rows[one["step"]].text == one["text"] for one in detail["predecessors"])
    assert (detail["task"], detail["attempt"]) == ("map-1.0", 1) and detail["records"] > 0


@pytest.mark.parametrize("seed", range(4 * len(CODES)))
def test_a_reason_that_looks_like_another_is_not_told_for_it(seed: int) -> None:
    """Operators that read much past their log, and part from it for one thing: that is told, or nothing for certain."""
    cause, outcome = told(seed)
    if outcome is None:
        return  # what was damaged, or drawn, came out the same
    reason = outcome.detail["reason"]
    assert said(cause, outcome) != "wrong", f"seed {seed}: {cause}: {reason}"


@pytest.mark.parametrize("cause", CODES)
def test_where_nothing_else_is_read_the_reason_is_told(cause: str) -> None:
    for seed in range(list(CODES).index(cause), 40 * len(CODES), len(CODES)):
        with chosen(seed, again=True):
            alone = not Confused.noise and Confused.every > 1 and not Confused.narrow
        if alone and (outcome := told(seed)[1]) is not None:
            break
    where = f"seed {seed}: {outcome.detail['reason']}"
    assert said(cause, outcome) == "right" or outcome.detail["reason"]["code"] == "undecided", where
    assert cause in ("changed", "file") or said(cause, outcome) == "right", where


def test_every_reason_is_known() -> None:
    assert len(set(REASONS)) == len(REASONS)


@pytest.mark.parametrize("operator", [planted.Changed, planted.TellsTime, planted.Fails])
def test_a_replay_that_goes_on_numbers_what_follows(operator: type[Any], monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    stopped = replayed(members, operator, monkeypatch)
    kept = Kept()
    outcome = replayed(members, operator, monkeypatch, on_divergence="go-on", sink=kept)
    assert outcome.verdict == stopped.verdict == "diverged"
    for name in ("member", "offset", "byte", "buffer", "channel"):
        assert outcome.detail.get(name) == stopped.detail.get(name), name
    steps = [row.step for row in kept.rows if row.kind == "diverge"]
    assert steps == [outcome.detail["step"], *(one["step"] for one in outcome.detail["further"])]
    assert len(steps) == outcome.detail["divergences"]
    assert outcome.detail["divergences"] > 1 or operator is planted.Fails
    assert [kept.rows[step].text.partition(":")[0] for step in steps[1:]] == [
        f"Divergence {n}" for n in range(2, len(steps) + 1)
    ]


def test_going_on_past_a_single_flipped_bit_finds_nothing_else(monkeypatch: Any) -> None:
    members = planted.recorded_with(planted.Sound, monkeypatch)
    name = "tasks/map-1.0/0/sent-0/1.buf"
    data = members.members[name]
    at = data.index(b"sound")
    damaged = members.with_(name, data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    outcome = replayed(damaged, planted.Sound, monkeypatch, on_divergence="go-on")
    others = {one.get("member") for one in outcome.detail["further"]}
    assert others <= {name}, outcome.detail["further"]
