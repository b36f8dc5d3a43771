"""What a job is told: only of wrong use, when it begins, and of a replay that parts from its recording."""

from __future__ import annotations

from replay.errors import ReplayError


class WrongUse(ReplayError):
    """An argument that can't be meant so."""


def message_of(fault: BaseException | str) -> str:
    """What an exception says; one of a job's own may fail of being asked."""
    try:
        return str(fault)
    except Exception as failed:
        return f"it can't be said: {type(failed).__qualname__}"


class RecordedFault(Exception):
    """What an external call raised when it was recorded, where a replay may not make that very exception."""

    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}")
        self.type = kind
        self.message = message


class Diverged(BaseException):
    """A replay asked for one thing and the recording holds another.

    No `Exception`, as a job that catches those would go on with what was never recorded.
    """

    def __init__(self, asked: str, logged: str, place: str, epoch: int, position: int, lacking: str = ""):
        """`lacking`: why the recording can't say more here (`redacted`, `gap`), where that may be all that is wrong."""
        super().__init__(f"{place} asked for {asked}; the recording holds {logged} (epoch {epoch}, entry {position}).")
        self.lacking = lacking
        self.asked = asked
        self.logged = logged
        self.place = place
        self.epoch = epoch
        self.position = position


class EndOfRecording(Diverged):
    """A replay came to where the recording ends: to the last that is known of an attempt that was killed."""

    def __init__(self, asked: str, place: str, epoch: int, position: int):
        super().__init__(asked, "nothing more of this epoch", place, epoch, position)


class Refused(Diverged):
    """A replay reached for what no recording answers: the network, another process."""

    def __init__(self, asked: str, place: str, epoch: int, position: int):
        super().__init__(asked, "no such answer, and a replay goes nowhere itself", place, epoch, position)
