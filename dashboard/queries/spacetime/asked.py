"""Lists of names in an address, with commas between them."""

from __future__ import annotations


def named(text: str) -> set[str]:
    """Names that nobody bears are kept: they fold and hide nothing."""
    return {one for one in text.split(",") if one}
