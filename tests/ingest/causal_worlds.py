"""`holders` and `frontiers` of random worlds with failures, at all sharing depths, against plain Python.

`python -m tests.ingest.causal_worlds --worlds 2000 --first 100000`; with `--few` so few rows are followed at once that
each world takes many turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import tempfile
import time
from pathlib import Path

from tests.ingest.test_causal_tables import at_once, check


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--first", type=int, default=100_000)
    parser.add_argument("--few", action="store_true")
    asked = parser.parse_args()
    rows = 0
    for seed in range(asked.first, asked.first + asked.worlds):
        if asked.few:
            at_once(random.Random(seed), _put)
        with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
            rows += check(seed, Path(folder))
    print(json.dumps({"worlds": asked.worlds, "rows": rows, "apart": 0, "cpu_s": round(time.process_time(), 1)}))


def _put(name: str, value: int) -> None:
    module, _, constant = name.rpartition(".")
    setattr(importlib.import_module(module), constant, value)


if __name__ == "__main__":
    main()
