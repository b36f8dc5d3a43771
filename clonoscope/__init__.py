"""Clonoscope's recorder: makes ordinary stream jobs record what they chose, so that they can be replayed."""

from clonoscope.errors import Diverged, EndOfRecording, RecordedFault, WrongUse
from clonoscope.interception import intercept, intercepting
from clonoscope.recording import Recording, start
from clonoscope.services import external, random, time, time_ns, urandom, uuid4
from clonoscope.tasks import Task

__version__ = "0.1.0"
__all__ = [
    "Diverged",
    "EndOfRecording",
    "RecordedFault",
    "Recording",
    "Task",
    "WrongUse",
    "external",
    "intercept",
    "intercepting",
    "random",
    "start",
    "time",
    "time_ns",
    "urandom",
    "uuid4",
]
