"""Loaded by every Python that has this folder on its path when it starts: begins to listen, and steps aside."""

import contextlib
import importlib
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _step_aside() -> None:
    """One of the same name may stand behind this one, and means something to the job."""
    sys.path[:] = [one for one in sys.path if os.path.abspath(one) != _HERE]
    mine = sys.modules.pop("sitecustomize", None)
    with contextlib.suppress(ImportError):
        importlib.import_module(__name__)
    if mine is not None:
        sys.modules.setdefault("sitecustomize", mine)


def _listen(path: str) -> None:
    try:
        hearing = importlib.import_module("clonoscope.onsite.hearing")
    except ImportError:  # started from a checkout, which this Python knows nothing of
        sys.path.append(os.path.dirname(os.path.dirname(_HERE)))
        hearing = importlib.import_module("clonoscope.onsite.hearing")
    hearing.begin(path)


_step_aside()
if os.environ.get("CLONOSCOPE_COVERAGE"):
    _listen(os.environ["CLONOSCOPE_COVERAGE"])
