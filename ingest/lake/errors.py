"""What can be wrong when the lake is asked."""

from ingest.errors import IngestError


class NotPublished(IngestError):
    """The lake holds no published version of this job, or of this replay."""


class OutOfReach(IngestError):
    """A bucket does not answer, or refuses; what lies in it is not known."""


class LakeOutOfReach(OutOfReach):
    """The bucket that the lake lies in."""


class UnknownTable(IngestError):
    """The lake has no table of this name."""


class QueryTooLong(IngestError):
    """A query passed its time limit."""


class QueryTooLarge(IngestError):
    """A query needed more memory than its limit."""


class HiddenValues(IngestError):
    """A search asks for what is hidden from who asks."""


class NotWritten(IngestError):
    """A search needs what the steps of an older version do not hold."""


class QuestionRefused(IngestError):
    """A question in SQL that is none, or that asks for what it may not have."""
