"""`python -m replay.guarantees.recovery_time BUNDLE` prints the anatomy of its recoveries as one line of JSON."""

from __future__ import annotations

import argparse
import json
import sys

from replay.bundle.reader import open_bundle
from replay.errors import ReplayError
from replay.guarantees.recovery_time.anatomy import anatomy


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0 with the anatomy, or 1 with `{"error": sentence}`."""
    parser = argparse.ArgumentParser(prog="python -m replay.guarantees.recovery_time", description=__doc__)
    parser.add_argument("bundle")
    asked = parser.parse_args(arguments)
    try:
        with open_bundle(asked.bundle) as bundle:
            answer = anatomy(bundle)
    except ReplayError as fault:
        print(json.dumps({"error": str(fault)}))
        return 1
    print(json.dumps(answer, separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
