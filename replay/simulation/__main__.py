"""`python -m replay.simulation --worlds N --seed S`: exit status 3 where a world shows a fault."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from replay import live
from replay.errors import ReplayError
from replay.simulation.fleet import failing_seeds
from replay.simulation.plan import changed
from replay.simulation.trial import Verdict, shrunk, trial, trial_of
from replay.simulation.world import random_plan


def main() -> int:
    """Runs so many worlds, from that seed on."""
    options = _options()
    begun, bad = live.elapsed_s(), 0
    try:
        for verdict in _verdicts(options):
            bad += 1
            _tell(verdict, shrink=not options.quick)
            if not options.keep_going:
                break
    except ReplayError as fault:
        print(fault, file=sys.stderr)
        return 2
    print(f"{options.worlds} worlds from seed {options.seed}, {bad} with a fault, {live.elapsed_s() - begun:.1f} s")
    return 3 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m replay.simulation", description=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run worlds side by side")
    parser.add_argument("--with", dest="changes", metavar="JSON", help="changes to the plan of that one seed")
    parser.add_argument("--keep-going", action="store_true", help="don't stop at the first fault")
    parser.add_argument("--quick", action="store_true", help="don't make failing worlds smaller")
    return parser.parse_args()


def _verdicts(options: argparse.Namespace) -> Iterator[Verdict]:
    if options.changes is not None:
        verdict = trial_of(changed(random_plan(options.seed), options.changes))
        if verdict.faults:
            yield verdict
        return
    for seed in failing_seeds(range(options.seed, options.seed + options.worlds), processes=options.jobs):
        yield trial(seed)


def _tell(verdict: Verdict, *, shrink: bool) -> None:
    print(f"seed {verdict.world.seed}: {verdict.world.describes}")
    for fault in verdict.faults[:5]:
        print(f"  {fault}")
    print(f"  again: {verdict.world.reproduce_with}", flush=True)
    if not shrink:
        return
    small = shrunk(verdict)
    print(f"  smaller: {small.world.describes}")
    for fault in small.faults[:5]:
        print(f"  {fault}")
    print(f"  again: {small.world.reproduce_with}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
