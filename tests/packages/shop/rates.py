"""A module beside the operators."""

import time


def rate() -> float:
    return time.time()  # reads: clock, for InAnotherModule
