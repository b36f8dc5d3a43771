"""Whether what a task chose is all in its log: by task, attempt and epoch."""

from replay.guarantees.coverage.section import MOST_BYTES, coverage

__all__ = ["MOST_BYTES", "coverage"]
