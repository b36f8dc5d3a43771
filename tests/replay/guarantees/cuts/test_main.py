"""The cuts that a page drags: each consistent and as late as can be, by the oracle that goes through all frames."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.guarantees.cuts.__main__ import cuts_between, evenly, main
from replay.guarantees.cuts.cuts import Cuts
from tests.replay.guarantees.cuts.oracle import Oracle
from tests.replay.guarantees.cuts.test_cuts import recorded


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_taken_in_a_cut_that_is_not_sent_in_it(seed: int) -> None:
    bundle, _ = recorded(seed)
    oracle, cuts = Oracle(bundle), Cuts.of(bundle)
    told = cuts_between(cuts, evenly(0, cuts.end_us, 7))
    for one in told["cuts"]:
        places = dict(zip(told["tasks"], map(tuple, one["stands"]), strict=True))
        assert all(t_us <= one["asked_us"] for _, t_us in places.values())
        flying = 0
        for channel in bundle.graph.channels:
            sender, receiver = places[channel.source], places[channel.target]
            assert oracle.orphans(channel, sender, receiver) == [], (seed, one["asked_us"])
            flying += len(oracle.in_flight(channel, sender, receiver))
        assert one["buffers"] == flying, (seed, one["asked_us"])


def test_times_are_even_and_none_twice() -> None:
    assert evenly(0, 100, 5) == [0, 25, 50, 75, 100]
    assert evenly(7, 8, 100) == [7, 8]
    assert evenly(3, 3, 9) == [3]


def test_what_is_no_bundle_is_an_error_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nothing.pack"), "--from=0", "--to=1"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]
