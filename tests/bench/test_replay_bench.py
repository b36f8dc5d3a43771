"""The bench of replays, a short run: what it records comes out identical, and every question is answered."""

import argparse
import random
from pathlib import Path

from bench.replay import JOBS, measured
from bench.replay_moving import SEARCHES


def test_every_replay_comes_out_and_every_question_is_asked(tmp_path: Path) -> None:
    options = argparse.Namespace(steps=6_000, speed_steps=3_000, rounds=1, times=2, seed=random.randrange(1 << 16))
    result = measured(tmp_path, options)
    assert set(result["speed"]) == set(JOBS), f"seed {options.seed}"
    assert all(one["steps"] > 2_500 for one in result["speed"].values())
    large = result["child"]["large"]
    assert large["steps"] > 5_500
    assert large["resident_mib"]["most"] > 0
    assert set(result["ask"]["scan_ms"]) == set(SEARCHES)
    assert result["ask"]["scan_ms"]["frequent"]["hits"] > 1_000
