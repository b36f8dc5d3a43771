"""Recovery types of many random worlds against what they gave: `python -m bench.recovery_types --worlds 5000`."""

import argparse
import json
import sys
import time
from collections import Counter

from replay.simulation.recoveries import all_recoveries


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    asked = parser.parse_args()
    began_s, faults, types = time.monotonic(), 0, Counter()  # type: ignore[var-annotated]
    for one in all_recoveries(range(asked.seed, asked.seed + asked.worlds), processes=asked.jobs):
        types.update(one.types)
        faults += len(one.faults)
        for fault in one.faults:
            print(f"seed {one.seed}: {fault}", flush=True)
    seconds = round(time.monotonic() - began_s, 1)
    found = {"worlds": asked.worlds, "first_seed": asked.seed, "seconds": seconds, "faults": faults}
    print(json.dumps({**found, "types": dict(types.most_common())}, separators=(",", ":")))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
