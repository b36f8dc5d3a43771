"""Verdicts on random worlds against what is so, and faults planted into their recordings: how each was named.

`python -m bench.guarantees_worlds --worlds 3000 --plants 2`; one JSON object on the last line.
"""

import argparse
import itertools
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial

from bench.truths.trials import Trial, trial
from bench.truths.worlds import promises_less
from replay.simulation.fleet import side_by_side


def main() -> int:
    options = _options()
    began = time.monotonic()
    every = itertools.count(options.seed)
    seeds = list(itertools.islice(filter(promises_less, every) if options.inexact else every, options.worlds))
    said: dict[str, Counter[str]] = defaultdict(Counter)
    named: dict[str, Counter[str]] = defaultdict(Counter)
    faults = worlds = 0
    trials = partial(_trials, plants=options.plants, wider=options.wider, ends=options.ends)
    for one in side_by_side(trials, seeds, processes=options.jobs):
        faults, worlds = faults + _tell(one), worlds + 1
        for what in one.said:
            said[what.question][f"{what.truth or 'unknown'}: {what.verdict}"] += 1
        for plant in one.plants:
            named[plant.kind][plant.how] += 1
            named["all"][plant.how] += 1
            for what in plant.said:
                said[f"{what.question} with a fault"][f"{what.truth or 'unknown'}: {what.verdict}"] += 1
        if time.monotonic() - began > options.seconds:
            break
    report = {"worlds": worlds, "first_seed": options.seed, "seconds": round(time.monotonic() - began, 1)}
    report |= {"faults": faults, "said": said, "named": named}
    print(json.dumps(report, separators=(",", ":")))
    return 1 if faults else 0


def _trials(seeds: Sequence[int], plants: int, *, wider: bool, ends: bool) -> list[Trial]:
    return [trial(seed, plants, wider=wider, ends=ends) for seed in seeds]


def _tell(one: Trial) -> int:
    for fault in one.faults:
        print(f"world {one.seed} ({one.setting}): {fault}", flush=True)
    for what in one.said:
        if what.verdict == "undecided":
            print(f"world {one.seed} ({one.setting}): {what.question} is undecided: {what.why}", flush=True)
    wrong = [plant for plant in one.plants if plant.wrong]
    for plant in wrong:
        print(f"world {one.seed} ({one.setting}), {plant.kind} in {plant.member}: wrongly exactly once", flush=True)
    for plant in one.plants:
        if plant.how != "precisely":
            where = f"world {one.seed} ({one.setting}), {plant.kind} in {plant.member}"
            print(f"{where}: {plant.how}{': ' if plant.why else ''}{plant.why}", flush=True)
    return len(one.faults) + len(wrong)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--plants", type=int, default=2, help="faults planted into each recording")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--wider", action="store_true", help="faults of more than one frame, determinant or line")
    kinds.add_argument(
        "--ends", action="store_true", help="faults at the ends of attempts that others followed, 8 kinds"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no world is begun after so many")
    parser.add_argument("--inexact", action="store_true", help="only worlds that do not promise exactly once of states")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
