"""How quantities are written: counts with separators, bytes in KiB and MiB, times with units.

static/js/state/format.js writes the same; tests/js/format-cases.json holds the two together.
"""

from __future__ import annotations

NOTHING = "–"
_BYTE_UNITS = ("KiB", "MiB", "GiB", "TiB")


def count(value: float | None) -> str:
    """1204 -> 1,204."""
    return NOTHING if value is None else f"{value:,.0f}"


def byte_size(value: float | None) -> str:
    """41310 -> 40.3 KiB: three digits that count, never more."""
    if value is None:
        return NOTHING
    if abs(value) < 1024:
        return f"{value:,.0f} B"
    size, power = value / 1024, 0
    while abs(size) >= 1023.5 and power + 1 < len(_BYTE_UNITS):
        size, power = size / 1024, power + 1
    return f"{_three_digits(size)} {_BYTE_UNITS[power]}"


def duration(value_us: float | None) -> str:
    """5200000 -> 5.2 s, 930 -> 930 µs, 212000 -> 212 ms, 75000000 -> 1 min 15 s."""
    if value_us is None:
        return NOTHING
    size_us = abs(value_us)
    if size_us < 1000:
        return f"{value_us:.0f} µs"
    if size_us < 999_500:
        return f"{_three_digits(value_us / 1000)} ms"
    if size_us < 59_950_000:
        return f"{_three_digits(value_us / 1e6)} s"
    minutes, seconds = divmod(round(size_us / 1e6), 60)
    hours, minutes = divmod(minutes, 60)
    sign = "-" if value_us < 0 else ""
    return f"{sign}{hours} h {minutes} min" if hours else f"{sign}{minutes} min {seconds} s"


def moment(t_us: float | None) -> str:
    """A point in time since the job's start, always in seconds, so that points can be compared: 5.204 s."""
    return NOTHING if t_us is None else f"{t_us / 1e6:,.3f} s"


def share(part: float, whole: float) -> str:
    """38 % of something; almost nothing is not 0 %, and almost all not 100 %."""
    if not whole:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 1:
        return "under 1 %"
    if 99 < percent < 100:
        return "over 99 %"
    return f"{percent:.0f} %"


def _three_digits(value: float) -> str:
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
