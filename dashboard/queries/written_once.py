"""What is the same at every step of a replay that has come to its end: asked of its steps once, and kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from ingest.lake.step_reader import StepReader

MOST_KEPT = 512

Answer = TypeVar("Answer")
_lock = threading.Lock()
_kept: OrderedDict[Hashable, object] = OrderedDict()


def once_written(written: StepReader, question: Hashable, ask: Callable[[], Answer]) -> Answer:
    """The answer where the steps do not change any more; of a replay that is being written it is asked anew."""
    if not written.complete:
        return ask()
    known = written.content, question
    with _lock:
        if known in _kept:
            _kept.move_to_end(known)
            return cast(Answer, _kept[known])
    answer = ask()
    with _lock:
        _kept[known] = answer
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return answer
