"""The ledger of a recording and its verdicts: did each record count once, and was what came of it delivered once?"""

from replay.guarantees.ledger.buffers import ledger
from replay.guarantees.ledger.delivering import delivery
from replay.guarantees.ledger.processing import processing

__all__ = ["delivery", "ledger", "processing"]
