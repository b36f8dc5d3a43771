"""Looking at steps from the command line: where words lead, what a search hits, and what cannot be looked at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import call_command

from replay.debugger.replay import replay
from tests.replay.debugger.recordings import one_failure
from tests.replay.debugger.worlds import Kept, bundle_of


@pytest.fixture(scope="module")
def kept() -> Kept:
    kept = Kept()
    replay(bundle_of(one_failure()), failure=0, sink=kept)
    return kept


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("looking") / "bundle"
    for name, data in one_failure().members.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return str(folder)


def looked(capsys: pytest.CaptureFixture[str], bundle: str, *arguments: str) -> tuple[str, dict[str, Any]]:
    call_command("replay", bundle, *arguments, "--json")
    text, _, line = capsys.readouterr().out.rstrip("\n").rpartition("\n")
    return text, json.loads(line)


def test_a_step_is_shown_with_what_it_follows_from_and_what_follows(
    bundle: str, kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    held = next(row for row in kept.rows if row.kind == "hold-back")
    text, said = looked(capsys, bundle, "--at", "kind = hold-back")
    assert said["verdict"] == "identical" and said["at"]["step"] == held._asdict()
    assert f"step {held.step:,} of {len(kept.rows):,}: map-1.0 out-0" in text and held.text in text
    refs = [hop["ref"] for hop in said["at"]["chains"][0]]
    cut, taken = held.step - 1, held.step - 2
    assert refs[:3] == [f"step:{held.step}", f"step:{cut}", f"step:{taken}"]
    assert [ref.partition(":")[0] for ref in refs[3:]] == ["det", "step", "step", "event", "delta"]
    causes = {one["ref"]: one["text"] for one in said["at"]["causes"]}
    assert "says that a buffer of" in causes[refs[3]] and "determinants-received" in causes[refs[-2]]
    assert all(causes[ref] and f"because {ref}" in text and causes[ref] in text for ref in refs[1:])


def test_effects_and_changes_of_state_are_told_too(bundle: str, kept: Kept, capsys: pytest.CaptureFixture[str]) -> None:
    step = next(row.step for row in kept.rows if row.kind == "deliver-record")
    text, said = looked(capsys, bundle, "--at", str(step))
    effects = sorted({at for at, cause in kept.causes if cause == f"step:{step}"})
    assert [row["step"] for row in said["at"]["effects"]] == effects[:5]
    assert said["at"]["effects_left_out"] == max(0, len(effects) - 5)
    changes = sorted((key, before, after) for at, _, key, before, after in kept.changes if at == step)
    assert sorted((one["key"], one["before"], one["after"]) for one in said["at"]["changes"]) == changes != []
    assert all(f"state {key}: {before or 'nothing'} to {after}" in text for key, before, after in changes)


@pytest.mark.parametrize("ending", ["", " hit 2", " every 7", " from hit 99999"])
def test_all_hits_of_a_search_are_counted_and_the_first_are_shown(
    ending: str, bundle: str, kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    hits = [row.step for row in kept.rows if row.kind == "append" and row.epoch >= 1]
    wanted = {"": hits, " hit 2": hits[1:2], " every 7": hits[::7]}.get(ending, [])
    text, said = looked(capsys, bundle, "--find", f"kind = append and epoch >= 1{ending}")
    assert said["find"]["hits"] == len(wanted) and [row["step"] for row in said["find"]["steps"]] == wanted[:1000]
    assert said["find"]["left_out"] == max(0, len(wanted) - 1000)
    assert text.count("    step ") == min(20, len(wanted))
    assert (f"and {len(wanted) - 20:,} more." in text) == (len(wanted) > 20)


def test_where_words_lead_nowhere_that_is_said_and_the_verdict_stands(
    bundle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text, said = looked(capsys, bundle, "--at", "state Nowhere")
    assert said["verdict"] == "identical" and said["at"] == {"step": None, "why": text.splitlines()[-1].strip()}
    assert "does not enter Nowhere" in text


@pytest.mark.parametrize("words", ["99,999,999", "+99999999", "step 99999999"])
def test_past_the_end_the_last_step_is_shown_and_said_to_stand_for_another(
    words: str, bundle: str, kept: Kept, capsys: pytest.CaptureFixture[str]
) -> None:
    text, said = looked(capsys, bundle, "--at", words)
    assert said["at"]["step"]["step"] == len(kept.rows) - 1
    assert said["at"]["instead"] == f"This replay has no step 99,999,999: its last one is step {len(kept.rows) - 1:,}."
    assert said["at"]["instead"] in text
    text, said = looked(capsys, bundle, "--at", str(len(kept.rows) - 1))
    assert said["at"]["instead"] == "" and "has no step" not in text


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--find", "knid = 3"], "--find can't be read. column 1: 'knid' is no field of a step"),
        (["--find", ""], "--find can't be read. column 1"),
        (["--at", "nonsense"], "--at can't be read. column 1: 'nonsense' is no field"),
        (["--at", "3", "--hunt"], "--at and --find do not go with"),
        (["--at", "3", "--shrink", "x"], "--at and --find do not go with"),
        (["--find", "sent", "--fail-on-divergence"], "--at and --find do not go with"),
        (["--at", "3", "--fork", "3", "--change", '{"change": "lost"}'], "--at and --find do not go with"),
    ],
)
def test_what_cannot_be_looked_at_is_wrong_use(
    arguments: list[str], why: str, bundle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as status:
        call_command("replay", bundle, *arguments)
    assert status.value.code == 2 and why in capsys.readouterr().err
