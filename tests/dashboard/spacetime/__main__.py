"""`python -m tests.dashboard.spacetime --worlds 100`: causes and effects of buffers against a closure step by step."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from tests.dashboard.spacetime.test_cone import check


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--marks", type=int, default=40, help="buffers of each world")
    asked = parser.parse_args()
    compared = 0
    for seed in range(asked.first, asked.first + asked.worlds):
        with tempfile.TemporaryDirectory(prefix="clonoscope-bench-") as folder:
            compared += check(seed, Path(folder), most=asked.marks)
    print(json.dumps({"worlds": asked.worlds, "buffers": compared, "apart": 0, "cpu_s": round(time.process_time(), 1)}))


if __name__ == "__main__":
    main()
