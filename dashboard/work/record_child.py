"""Records in a process of its own that ends when its standard input closes, that is with its parent."""

from __future__ import annotations

import os
import sys
import threading


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    from dashboard.recording import record_from_command_line

    threading.Thread(target=_end_with_parent, daemon=True).start()
    record_from_command_line(sys.argv[1:])


if __name__ == "__main__":
    main()
