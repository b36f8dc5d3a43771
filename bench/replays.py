"""Replays all of many random recordings: `python -m bench.replays`; one JSON object on the last line."""

import argparse
import json
import sys
import time
from collections import Counter

from replay.simulation.replays import Replayed, all_replays

TOLD_EVERY = 100


def main() -> int:
    options = _options()
    total = _Total(options.recordings, options.seed)
    for done, found in enumerate(all_replays(total.seeds, processes=options.jobs), 1):
        total.add(found)
        if found.faults:
            print(f"seed {found.seed}: {found.command}")
            for fault in found.faults:
                print(f"  {fault}", flush=True)
        if done % TOLD_EVERY == 0:
            # A run that is cut off has said how far it came.
            print(f"{done} done: {total.to_json()}", file=sys.stderr, flush=True)
    print(total.to_json())
    return 1 if total.bad else 0


class _Total:
    def __init__(self, recordings: int, seed: int):
        self.seeds = range(seed, seed + recordings)
        self.began = time.monotonic()
        self.recoveries: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self.together: Counter[str] = Counter()
        self.snapshots = 0
        self.bad: list[int] = []

    def add(self, found: Replayed) -> None:
        self.recoveries += found.verdicts
        self.attempts += found.attempts
        self.together += found.together
        self.snapshots += found.snapshots
        if found.faults:
            self.bad.append(found.seed)

    def to_json(self) -> str:
        report = {
            "recordings": len(self.seeds),
            "first_seed": self.seeds.start,
            "seconds": round(time.monotonic() - self.began, 1),
            "recoveries": dict(self.recoveries),
            "attempts": dict(self.attempts),
            "together": dict(self.together),
            "snapshots": self.snapshots,
            "faults": len(self.bad),
            "seeds": self.bad,
        }
        return json.dumps(report, separators=(",", ":"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first recording")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
