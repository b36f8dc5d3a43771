"""The error tree of `ingest`. Standard library only: the process that submits imports it too."""


class IngestError(Exception):
    """Something that a user or an operator can act on; reads as one sentence."""


class IngestFailed(IngestError):
    """The job could not be ingested, and trying again would end the same way."""


class DriverDied(IngestError):
    """The Spark driver ended without an answer; nothing was published, and a retry may succeed."""


class IngestCancelled(IngestError):
    """The ingest was cancelled."""


class ReplayChildDied(IngestError):
    """A replay's child process ended without an outcome; a retry may succeed."""


class ReplayFailed(IngestError):
    """A replay could not be done; the sentence says why."""
