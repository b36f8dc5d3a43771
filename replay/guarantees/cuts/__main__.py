"""`python -m replay.guarantees.cuts BUNDLE --from US --to US` prints the consistent cuts of a window, as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from replay.bundle.reader import open_bundle
from replay.errors import ReplayError
from replay.guarantees.cuts.cuts import Cuts

MOST_CUTS = 200
MOST_IN_FLIGHT = 100


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 with the cuts, or 1 with `{"error": sentence}`."""
    parser = argparse.ArgumentParser(prog="python -m replay.guarantees.cuts", description=__doc__)
    parser.add_argument("bundle")
    parser.add_argument("--from", dest="first_us", type=int, required=True)
    parser.add_argument("--to", dest="last_us", type=int, required=True)
    parser.add_argument("--cuts", type=int, default=MOST_CUTS)
    asked = parser.parse_args(arguments)
    try:
        with open_bundle(asked.bundle) as bundle:
            answer = cuts_between(Cuts.of(bundle), evenly(asked.first_us, asked.last_us, asked.cuts))
    except ReplayError as fault:
        print(json.dumps({"error": str(fault)}))
        return 1
    print(json.dumps(answer, separators=(",", ":")))
    return 0


def evenly(first_us: int, last_us: int, count: int) -> list[int]:
    """So many times from one to another, both among them, none of them twice."""
    steps = max(1, min(count, MOST_CUTS) - 1)
    return sorted({first_us + (last_us - first_us) * n // steps for n in range(steps + 1)})


def cuts_between(cuts: Cuts, times_us: Iterable[int]) -> dict[str, Any]:
    """Of each time the latest consistent cut that is nowhere past it; stands are (attempt, time), as tasks stand."""
    tasks = list(cuts.source.graph.order)
    found = []
    for t_us in times_us:
        cut = cuts.latest_before(t_us)
        flights = cuts.in_flight(cut)
        found.append(
            {
                "asked_us": t_us,
                "stands": [[cut.stands[task].attempt, cut.stands[task].t_us] for task in tasks],
                "in_flight": [one.to_json() for one in flights[:MOST_IN_FLIGHT]],
                "runs": len(flights),
                "buffers": sum(one.count for one in flights),
            }
        )
    faults = [str(one) for one in cuts.traffic.faults] + cuts.histories.faults
    return {"tasks": tasks, "cuts": found, "unknown": len(cuts.unknown), "faults": faults[:10]}


if __name__ == "__main__":
    sys.exit(main())
