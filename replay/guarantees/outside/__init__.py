"""The outside looked at from outside: what a sink really holds, joined with the sources by the job's key or offset."""

from replay.guarantees.outside.mapping import How, Key, PerRecord
from replay.guarantees.outside.rows import Held, Outside, Row
from replay.guarantees.outside.verdict import TITLE, outside

__all__ = ["TITLE", "Held", "How", "Key", "Outside", "PerRecord", "Row", "outside"]
