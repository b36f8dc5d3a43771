"""`python -m replay.causality BUNDLE --task T --attempt K` prints a causal path as one line of JSON; with `--sharing`,
what it cost to share those logs, and what another sharing depth would have done."""

from __future__ import annotations

import argparse
import json
import sys

from replay.bundle.reader import open_bundle
from replay.causality.paths import causal_path
from replay.causality.sharing import sharing
from replay.errors import ReplayError


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 with the answer, or 1 with `{"error": sentence}`."""
    parser = argparse.ArgumentParser(prog="python -m replay.causality", description=__doc__)
    parser.add_argument("bundle")
    parser.add_argument("--task", required=True)
    parser.add_argument("--attempt", type=int, default=0)
    parser.add_argument("--sharing", action="store_true")
    asked = parser.parse_args(arguments)
    try:
        with open_bundle(asked.bundle) as bundle:
            answer = (sharing if asked.sharing else causal_path)(bundle, asked.task, asked.attempt)
    except ReplayError as fault:
        print(json.dumps({"error": str(fault)}))
        return 1
    print(json.dumps(answer, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
