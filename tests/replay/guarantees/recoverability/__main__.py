"""`python -m tests.replay.guarantees.recoverability --tables 5000 --worlds 200`: what the tests check, and more."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from tests.replay.guarantees.recoverability import test_sweep, test_worlds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--first", type=int, default=10_000)
    asked = parser.parse_args()
    told = {
        "first": asked.first,
        "tables": _checked(test_sweep.check, range(asked.first, asked.first + asked.tables)),
        "worlds": _checked(test_worlds.check, range(asked.first, asked.first + asked.worlds)),
    }
    print(json.dumps(told))
    return 1 if told["tables"]["wrong"] or told["worlds"]["wrong"] else 0


def _checked(check: Callable[[int], int], seeds: range) -> dict[str, int]:
    compared, wrong, asked = 0, 0, 0
    for seed in seeds:
        try:
            answers = check(seed)
            compared, asked = compared + answers, asked + bool(answers)
        except AssertionError as fault:
            wrong += 1
            print(str(fault).splitlines()[0], flush=True)
    return {"asked": asked, "compared": compared, "wrong": wrong}


if __name__ == "__main__":
    sys.exit(main())
