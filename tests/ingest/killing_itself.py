"""The replay's child, which kills itself with -9 at the so-many-th line that it executes of what writes the steps.

`python -m tests.ingest.killing_itself LINE`; at line 0 it lives, and says on its standard error how many there were.
Chunks are written every few hundred steps: what takes minutes in a long replay is all there in a short one.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

from ingest.jobs import replay as child
from ingest.lake import manifest, steps, writers

WATCHED = {module.__file__ for module in (manifest, steps, writers)}
CHUNK_STEPS = 500


class Fate:
    """Counts lines of the files that are watched, in the thread that replays."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.executed = 0

    def called(self, frame: FrameType, event: str, arg: Any) -> Any:
        return self.executing if frame.f_code.co_filename in WATCHED else None

    def executing(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.executed += 1
            if self.executed == self.line:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.executing


def main() -> int:
    steps.CHUNK_STEPS = CHUNK_STEPS
    fate = Fate(int(sys.argv[1]))
    sys.settrace(fate.called)
    status = child.main()
    sys.settrace(None)
    print(f"executed {fate.executed} lines", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
