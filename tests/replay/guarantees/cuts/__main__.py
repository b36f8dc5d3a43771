"""`python -m tests.replay.guarantees.cuts --worlds 1000`: cuts of random recordings, and faults in their snapshots."""

from __future__ import annotations

import argparse
import json
from collections import Counter

from replay.guarantees.cuts.section import consistent_cuts
from tests.replay.debugger.worlds import bundle_of, world_of
from tests.replay.guarantees.cuts.planting import binds, planted
from tests.replay.guarantees.cuts.test_cuts import (
    test_orphans_and_what_is_in_flight_are_what_the_frames_say,
    test_the_latest_consistent_cut_is_the_latest_of_all_that_are,
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[int] = []
    for seed in range(asked.first, asked.first + asked.worlds):
        test_orphans_and_what_is_in_flight_are_what_the_frames_say(seed)
        test_the_latest_consistent_cut_is_the_latest_of_all_that_are(seed)
        if not binds(seed):
            continue
        world_verdict = consistent_cuts(bundle_of(world_of(seed)[1])).verdict
        counts[world_verdict] += 1
        found = planted(seed)
        if found is not None:
            counts["planted"] += 1
            counts["found"] += found[1].good is False
        if world_verdict != "consistent" or (found is not None and found[1].good is not False):
            wrong.append(seed)
            print(f"seed {seed}: {world_verdict}; {found and found[0]}")
    print(json.dumps({"recordings": asked.worlds, "wrong": wrong, "counts": dict(counts)}))


if __name__ == "__main__":
    main()
