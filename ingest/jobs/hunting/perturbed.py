"""One execution of an attempt in surroundings of its own: the request on standard input, notes into a file."""

from __future__ import annotations

import sys

from ingest.jobs.hunting import surroundings


def main() -> int:
    """The surroundings come first: what is imported after them finds them in place."""
    surroundings.put_in_place(sys.argv[1])
    from ingest.jobs.hunting import noted

    return noted.main()


if __name__ == "__main__":
    sys.exit(main())
