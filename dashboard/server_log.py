"""What the server's own log leaves out."""

from __future__ import annotations

import logging


class WithoutTraceback(logging.Filter):
    """Keeps the sentence and drops the stack: for what a stranger's request caused, and no code of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = record.stack_info = None
        return True
