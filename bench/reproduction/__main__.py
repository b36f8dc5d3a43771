"""Runs the experiments that are named, or all; the last line is one JSON object. Nothing is written."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench.reproduction.anatomy import figure_411
from bench.reproduction.bandwidth import figure_44b
from bench.reproduction.equations import equation_31, equation_32
from bench.reproduction.failures import figure_49, figure_410, throughput_loss
from bench.reproduction.pools import figure_43
from bench.reproduction.prior import figure_412, figure_413
from bench.reproduction.services import figure_42

FIGURES: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "equation-3.1": equation_31,
    "equation-3.2": equation_32,
    "throughput-loss": throughput_loss,
    "figure-4.2": figure_42,
    "figure-4.3": figure_43,
    "figure-4.4b": figure_44b,
    "figure-4.9": figure_49,
    "figure-4.10": figure_410,
    "figure-4.11": figure_411,
    "figure-4.12": figure_412,
    "figure-4.13": figure_413,
}
"""Each is given how many seeds, which are 1 and up."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.reproduction", description=__doc__)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--seeds", type=int, default=5, help="how many runs of each kind")
    asked = parser.parse_args()
    unknown = [one for one in asked.figures if one not in FIGURES]
    if unknown:
        parser.error(f"there is no {unknown[0]}: there are {', '.join(FIGURES)}")
    found = {}
    for name in asked.figures or FIGURES:
        began_s = time.monotonic()
        found[name] = FIGURES[name](asked.seeds)
        print(f"{name}: {time.monotonic() - began_s:.0f} s", file=sys.stderr)
    print(json.dumps({"seeds": asked.seeds, "figures": found}))


if __name__ == "__main__":
    main()
