"""Replays all of many random recordings: `python -m bench.replays`; one JSON object on the last line."""

import argparse
import json
import sys
import time
from collections import Counter

from replay.simulation.replays import all_replays


def main() -> int:
    options = _options()
    began = time.monotonic()
    seeds = range(options.seed, options.seed + options.recordings)
    recoveries: Counter[str] = Counter()
    attempts: Counter[str] = Counter()
    together: Counter[str] = Counter()
    snapshots, bad = 0, []
    for found in all_replays(seeds, processes=options.jobs):
        recoveries += found.verdicts
        attempts += found.attempts
        together += found.together
        snapshots += found.snapshots
        if found.faults:
            bad.append(found.seed)
            print(f"seed {found.seed}: {found.command}")
            for fault in found.faults:
                print(f"  {fault}", flush=True)
    report = {
        "recordings": options.recordings,
        "first_seed": options.seed,
        "seconds": round(time.monotonic() - began, 1),
        "recoveries": dict(recoveries),
        "attempts": dict(attempts),
        "together": dict(together),
        "snapshots": snapshots,
        "faults": len(bad),
        "seeds": bad,
    }
    print(json.dumps(report, separators=(",", ":")))
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first recording")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
