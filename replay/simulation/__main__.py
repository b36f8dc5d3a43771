"""`python -m replay.simulation --worlds N --seed S`: exit status 3 where a world shows a fault."""

from __future__ import annotations

import argparse
import sys

from replay import live
from replay.simulation.trial import failing, shrunk


def main() -> int:
    """Runs so many worlds, from that seed on."""
    parser = argparse.ArgumentParser(prog="python -m replay.simulation", description=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--keep-going", action="store_true", help="don't stop at the first fault")
    options = parser.parse_args()
    begun, bad = live.elapsed_s(), 0
    for verdict in failing(range(options.seed, options.seed + options.worlds)):
        bad += 1
        small = shrunk(verdict)
        print(f"seed {verdict.world.seed}: {verdict.world.describes}")
        print(f"  with {small.world.schedule}")
        for fault in small.faults[:5]:
            print(f"  {fault}")
        print(f"  again: {verdict.world.reproduce_with}", flush=True)
        if not options.keep_going:
            break
    print(f"{options.worlds} worlds from seed {options.seed}, {bad} with a fault, {live.elapsed_s() - begun:.1f} s")
    return 3 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
