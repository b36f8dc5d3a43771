"""What keeps something from being said of the outside: each with the part that would decide it."""

from __future__ import annotations

from dataclasses import dataclass

from replay.guarantees.claims import Section

RECORDING_WHOLE = "a recording of the job from its first record to its end, without gaps"


@dataclass(slots=True)
class Doubts:
    """Of a loss, and of more than there should be: whether it can be ruled out, and whether it can be proven.

    What can't be proven can't be ruled out either.
    """

    section: Section
    lost_open: bool = False
    more_open: bool = False
    no_proof_of_lost: bool = False
    no_proof_of_more: bool = False

    def unproven_losses(self, why: str, wants: str, about: str = "job") -> None:
        """What seems lost may not be, and there may be more of what there is."""
        self.lost_open = self.more_open = self.no_proof_of_lost = True
        self.section.lack(about, why, wants)

    def records(self, why: str, wants: str = RECORDING_WHOLE, about: str = "job") -> None:
        """Sources had records that nothing is known of: any row may be one of theirs, and any of them may be lost."""
        self.lost_open = self.more_open = self.no_proof_of_more = True
        self.section.lack(about, why, wants)

    def everything(self, why: str, wants: str, about: str = "job") -> None:
        """Nothing can be said."""
        self.unproven_losses(why, wants, about)
        self.records(why, wants, about)
