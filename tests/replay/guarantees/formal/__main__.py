"""`python -m tests.replay.guarantees.formal --worlds 1000 --first 0`: definition 6 beside the ledger's verdict."""

from __future__ import annotations

import argparse
import json
from collections import Counter

from tests.replay.guarantees.formal.agreement import beside


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    counts: Counter[str] = Counter()
    apart: list[int] = []
    for seed in range(asked.first, asked.first + asked.worlds):
        one = beside(seed)
        counts[f"{one.found.holds}, {one.delivery}"] += 1
        if not one.agrees:
            apart.append(seed)
            print(f"seed {seed}: definition 6 {one.found.how}; delivery {one.delivery}")
    print(json.dumps({"worlds": asked.worlds, "apart": apart, "counts": dict(counts)}))


if __name__ == "__main__":
    main()
