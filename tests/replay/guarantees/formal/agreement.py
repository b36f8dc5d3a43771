"""Random worlds for which definition 6 is decided, beside what the ledger says of the same recording."""

from __future__ import annotations

from dataclasses import dataclass

from replay.guarantees.audit import PARTS
from replay.guarantees.formal.on_recording import Definitions, definitions
from tests.replay.debugger.worlds import bundle_of, world_of


@dataclass(frozen=True)
class Beside:
    found: Definitions
    delivery: str | None

    @property
    def agrees(self) -> bool:
        """A run without failures gives everything once."""
        if self.found.holds is None or self.delivery == "undecided":
            return True
        return self.found.holds == (self.delivery == "exactly once")


def beside(seed: int) -> Beside:
    _, members = world_of(seed)
    found = definitions(bundle_of(members))
    verdict = None if found.holds is None else PARTS["delivery"].make(bundle_of(members)).verdict
    return Beside(found, verdict)
