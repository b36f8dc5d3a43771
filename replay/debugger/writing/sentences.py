"""Sentences with gaps: what steps say, before anybody has put it into words.

A replay says a few sentences millions of times. So a step keeps which one it is and what goes into its gaps; whoever
reads the step has it put into words, and whoever writes millions down does so for thousands of one sentence at once.
"""

from __future__ import annotations

from string import Formatter

Values = tuple[str | int, ...]

WORDS, NUMBER, LARGE_NUMBER = "", "d", ","
"""What a gap takes, as it stands in it: `{}` words, `{:d}` a number, `{:,}` one whose thousands are set apart."""


class Sentence:
    """Made once for all steps that say it."""

    __slots__ = ("template",)

    def __init__(self, template: str) -> None:
        self.template = template

    def of(self, values: Values) -> str:
        """In words."""
        return self.template.format(*values)

    @property
    def parts(self) -> list[tuple[str, str | None]]:
        """What stands before each gap and what the gap takes; None where what stands there ends the sentence."""
        return [
            (before, takes if gap is not None else None) for before, gap, takes, _ in Formatter().parse(self.template)
        ]


AS_IT_IS = Sentence("{}")
"""Said by no other step, or hardly."""


def fixed(text: str) -> str:
    """Words from a recording that every step of a sentence says: braces in them are no gaps."""
    return text.replace("{", "{{").replace("}", "}}")
