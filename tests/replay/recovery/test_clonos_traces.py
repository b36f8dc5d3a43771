"""The events that Clonos' real recovery classes were given: ours agrees, but for the faults that are listed here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from replay.log.causal_log import Copy
from replay.model import MAIN, ChannelId, LogId, TaskId
from replay.recovery import (
    ChannelReconnected,
    DeterminantsReturned,
    EpochStarted,
    Event,
    Logs,
    MainLogUsedUp,
    RecoveryManager,
    RecoveryStarted,
    RequestDeterminants,
    RequestReplay,
    RestoreStarted,
    Setting,
    StateRestored,
)

TRACES = json.loads((Path(__file__).parents[2] / "vectors" / "recovery_traces.json").read_text())
US = TaskId("t.5")

# (trace, step) -> what Clonos does there and we don't.
FAULTS = {
    ("duplicate-response", 8): "answers are counted, not told apart: a duplicate completes the wait",
    ("async-first", 7): "an async determinant at the head of the log never fires: the sync one that follows throws",
}


def channel_in(i: int) -> ChannelId:
    return ChannelId(f"up.{i}>{US}")


def channel_out(k: int) -> ChannelId:
    return ChannelId(f"{US}>down.{k}")


def events_of(trace: dict[str, Any]) -> list[list[Event]]:
    """The manager's events per step; a record being processed is none, unless it uses up the main log."""
    found: list[list[Event]] = []
    answered = -1
    before = "Standby"
    for step in trace["steps"]:
        text, after = step["event"], step["state_after"]
        events: list[Event] = []
        if text == "start_recovery":
            events = [RecoveryStarted()]
        elif match := re.match(r"state_restoration_(start|complete)\((\d+)\)", text):
            kind = RestoreStarted if match[1] == "start" else StateRestored
            events = [kind(int(match[2]))]
        elif match := re.match(r"new_input_channel\(in(\d+), buffers_removed=(\d+)\)", text):
            events = [ChannelReconnected(channel_in(int(match[1])), "input", int(match[2]))]
        elif match := re.match(r"new_output_channel\(out(\d+)\)", text):
            events = [ChannelReconnected(channel_out(int(match[1])), "output")]
        elif text.startswith("determinant_response(self"):
            answered = answered + 1 if "again" not in text else answered
            events = [answer_of(trace, text, min(answered, trace["config"]["subpartitions"] - 1))]
        elif match := re.match(r"start_new_epoch\((\d+)\)", text):
            events = [EpochStarted(int(match[1]))]
        elif before == "Replaying" and after == "Running":
            events = [EpochStarted(step["epoch"]), MainLogUsedUp()]
        found.append(events)
        before = after
    return found


def answer_of(trace: dict[str, Any], text: str, k: int) -> DeterminantsReturned:
    main = re.search(r"main=([0-9a-f]+)", text)
    # the trace "source" also returns one buffer of its output thread
    out = re.search(r"buildAndLogBuffer\((\d+)\)", json.dumps(trace["steps"])) if main else None
    copies = []
    if main:
        copies.append(Copy(f"down.{k}", LogId(US, MAIN), 0, bytes.fromhex(main[1])))
    if out:
        copies.append(Copy(f"down.{k}", LogId(US, f"out-{k}"), 0, b"\7" + int(out[1]).to_bytes(4, "big")))
    return DeterminantsReturned(channel_out(k), US, "held" if main else "failed-too", Logs(tuple(copies)))


def requests_of(step: dict[str, Any]) -> list[tuple[str, str, int]]:
    found = []
    for action in step["actions"]:
        if match := re.match(r"send in(\d+) InFlightLogRequest\(subpartition=\d+, epoch=(\d+), skip=(\d+)\)", action):
            found.append((channel_in(int(match[1])), f"replay skip {match[3]}", int(match[2])))
    for name, actions in (step.get("subpartition_actions") or {}).items():
        for action in actions:
            if match := re.match(r"DeterminantRequest\(vertex=5, startEpoch=(\d+)", action):
                found.append((channel_out(int(name[3:])), "determinants", int(match[1])))
    return found


@pytest.mark.parametrize("trace", TRACES, ids=[trace["name"] for trace in TRACES])
def test_agrees_with_clonos_but_for_its_faults(trace: dict[str, Any]) -> None:
    config = trace["config"]
    inputs = tuple(channel_in(i) for i in range(config["input_channels"]))
    outputs = tuple(channel_out(k) for k in range(config["subpartitions"]))
    one = RecoveryManager(Setting(US, inputs, outputs))
    differing = set()
    for n, (step, events) in enumerate(zip(trace["steps"], events_of(trace), strict=True)):
        effects = [effect for event in events for effect in one.handle(event)]
        asked = [
            (e.channel, f"replay skip {e.skip}", e.epoch)
            if isinstance(e, RequestReplay)
            else (e.channel, "determinants", e.epoch)
            for e in effects
            if isinstance(e, RequestReplay | RequestDeterminants)
        ]
        same = one.state.name == step["state_after"] and asked == requests_of(step)
        if "THROWS" in json.dumps(step) or not same:
            differing.add((trace["name"], n))
    expected = {key for key in FAULTS if key[0] == trace["name"]}
    assert differing == expected, "differences are exactly the listed faults"
