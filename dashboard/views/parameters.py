"""Reading the cursor out of an address: whole numbers and names, never an error page for a bent link."""

from __future__ import annotations

from collections.abc import Collection

from django.http import HttpRequest

from replay.errors import printable

LARGEST = (1 << 63) - 1


def whole(request: HttpRequest, name: str, default: int | None = None) -> int | None:
    """A number from 0 on; anything else counts as absent."""
    return whole_of(request.GET.get(name, ""), default)


def whole_of(text: str, default: int | None = None) -> int | None:
    """The same of a text that stands elsewhere."""
    text = text.replace(",", "").strip()
    return min(int(text), LARGEST) if text.isascii() and text.isdigit() and len(text) < 20 else default


def integer(request: HttpRequest, name: str) -> int | None:
    """A whole number of either sign; anything else counts as absent."""
    text = request.GET.get(name, "").replace("−", "-").strip()
    size = whole_of(text.removeprefix("-"))
    return -size if size is not None and text.startswith("-") else size


def measure(request: HttpRequest, name: str, most: float) -> float | None:
    """A number of any kind from 0 on; anything else counts as absent, and what is beyond `most` as that."""
    try:
        value = float(request.GET.get(name, "").replace(",", ""))
    except ValueError:
        return None
    return min(value, most) if value >= 0 else None


def one_of(request: HttpRequest, name: str, allowed: list[str], default: str = "") -> str:
    given = request.GET.get(name, "")
    return given if given in allowed else default


def not_there(request: HttpRequest, *, instead: str = "here is another", **there: Collection[object]) -> list[str]:
    """In words, by name, what an address asks for that a recording does not have, and what the page shows instead."""
    words = []
    for name, known in there.items():
        given = request.GET.get(name, "").strip()
        number = whole_of(given)
        if given and given not in known and (number is None or number not in known):
            words.append(
                f"The address asks for {name} {printable(given, 60)}. This recording has none such; {instead}."
            )
    return words


def none_of(request: HttpRequest, name: str, known: Collection[str], *, instead: str) -> list[str]:
    """The same of a parameter that lists names with commas between them: which of them nobody bears."""
    unknown = [one for one in dict.fromkeys(request.GET.get(name, "").split(",")) if one and one not in known]
    if not unknown:
        return []
    more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
    names = ", ".join(printable(one, 60) for one in unknown[:3])
    return [f"The address asks for {name} {names}{more}. This recording has none such; {instead}."]


def no_number(request: HttpRequest, *names: str) -> list[str]:
    """In words, which of these an address gives as what no whole number is: they count as absent."""
    given = {name: text for name in names if (text := request.GET.get(name, "").strip())}
    return [
        f"The address asks for {name} {printable(text, 60)}, no whole number of up to 19 digits; it is left out."
        for name, text in given.items()
        if integer(request, name) is None
    ]
