"""What an audit says: sections of claims, each with what in the recording proves it, and what could not be decided.

Evidence is named as causes of steps are, so that a page makes a link of it:

    event:<n>                                      a line of events.ndjson
    det:<task>/<attempt>/<thread>/<epoch>#<seq>    a determinant
    log:<task>/<attempt>/<thread>/<epoch>@<offset> a place in a log
    buffer:<channel>/<attempt>#<seq>               a buffer of the sender's attempt
    sending:<channel>/<attempt>#<seq>/<sending>    one sending of it
    receipt:<channel>/<attempt>#<seq>/<sending>    its receipt; the attempt and the sending are the sender's
    source:<task>/<attempt>#<offset>               a record that a source read
    sink:<task>/<attempt>/<epoch>#<n>              a line of what a sink gave to the outside
    state:<task>/<attempt>/<checkpoint>            a snapshot
    outside:<name>#<row>                           what was found outside
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

MOST_CLAIMS = 1_000
MOST_EVIDENCE = 20


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that is so. `about`: `job`, `task:<id>`, `channel:<id>`, `sink:<vertex>`, `failure:<n>`, …"""

    about: str
    verdict: str
    sentence: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that can't be decided. `wants` names the missing part that would decide it, as a member or a field."""

    about: str
    sentence: str
    wants: str


@dataclass(slots=True)
class Section:
    """One question and its answer. `good`: whether the answer is a good one; None: it can't be said, or has no such.

    No list grows past `MOST_CLAIMS`; what is left out is counted.
    """

    name: str
    title: str
    verdict: str = ""
    sentence: str = ""
    good: bool | None = None
    claims: list[Claim] = field(default_factory=list)
    lacks: list[Lack] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)
    claims_left_out: int = 0
    lacks_left_out: int = 0

    def claim(self, about: str, verdict: str, sentence: str, evidence: Iterable[str] = ()) -> None:
        """Adds one, or counts it."""
        if len(self.claims) < MOST_CLAIMS:
            self.claims.append(Claim(about, verdict, sentence, tuple(evidence)[:MOST_EVIDENCE]))
        else:
            self.claims_left_out += 1

    def lack(self, about: str, sentence: str, wants: str) -> None:
        """Adds one, or counts it; the same one is said once."""
        one = Lack(about, sentence, wants)
        if one in self.lacks:
            return
        if len(self.lacks) < MOST_CLAIMS:
            self.lacks.append(one)
        else:
            self.lacks_left_out += 1

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Section:
        """What `to_json` made."""
        claims = [Claim(**{**one, "evidence": tuple(one["evidence"])}) for one in told["claims"]]
        return cls(**{**told, "claims": claims, "lacks": [Lack(**one) for one in told["lacks"]]})

    def to_json(self) -> dict[str, Any]:
        """Plain values, in the order of the fields."""
        fields = asdict(self)
        for claim in fields["claims"]:
            claim["evidence"] = list(claim["evidence"])
        return fields
