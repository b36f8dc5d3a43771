"""Many random worlds side by side: `python -m bench.worlds --worlds 20000`; one JSON object on the last line."""

import argparse
import json
import sys
import time

from replay.simulation.fleet import failing_seeds


def main() -> int:
    options = _options()
    began = time.monotonic()
    seeds = range(options.seed, options.seed + options.worlds)
    found = []
    for seed in failing_seeds(seeds, processes=options.jobs):
        found.append(seed)
        print(f"a fault: python -m replay.simulation --worlds 1 --seed {seed}", flush=True)
    report = {
        "worlds": options.worlds,
        "first_seed": options.seed,
        "processes": options.jobs,
        "seconds": round(time.monotonic() - began, 1),
        "faults": len(found),
        "seeds": found,
    }
    print(json.dumps(report, separators=(",", ":")))
    return 1 if found else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
