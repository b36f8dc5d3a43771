"""Failed logins slow down further ones, per account and per address; whether an account exists makes no difference."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from dashboard.models import LoginFailure

WINDOW = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Slowing:
    """After `free` failures within the window each further one doubles the wait, up to `most_s`."""

    free: int
    most_s: int

    def wait_s(self, failures: int) -> int:
        return 0 if failures < self.free else min(2 ** (failures - self.free + 1), self.most_s)


# An account waits a minute at most, or anybody could lock its owner out; an address is the attacker's own to lose.
ACCOUNT = Slowing(free=5, most_s=60)
ADDRESS = Slowing(free=20, most_s=900)


class SlowDown(Exception):
    """Too many failures; nothing was looked at."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"Too many failed attempts. Wait {wait_s} seconds, then try again.")
        self.wait_s = wait_s


def begin(name: str, address: str) -> LoginFailure:
    """Counts an attempt as failed before the password is looked at: attempts made at once cannot outrun the count."""
    now = timezone.now()
    LoginFailure.objects.filter(at__lt=now - 4 * WINDOW).delete()
    attempt = LoginFailure.objects.create(name=_same(name), address=address[:64])
    earlier = LoginFailure.objects.filter(id__lt=attempt.id, at__gt=now - WINDOW)
    wait_s = max(
        _left_s(ACCOUNT, list(earlier.filter(name=attempt.name).values_list("at", flat=True)), now),
        _left_s(ADDRESS, list(earlier.filter(address=attempt.address).values_list("at", flat=True)), now),
    )
    if wait_s:
        attempt.delete()
        raise SlowDown(wait_s)
    return attempt


def succeeded(attempt: LoginFailure) -> None:
    """A person who got in starts anew; the address keeps what it did to other accounts."""
    LoginFailure.objects.filter(name=attempt.name).delete()


def _left_s(slowing: Slowing, failures: list[datetime], now: datetime) -> int:
    wait = slowing.wait_s(len(failures))
    if not wait:
        return 0
    return max(0, round((max(failures) + timedelta(seconds=wait) - now).total_seconds()))


def _same(name: str) -> str:
    return name.strip().casefold()[:150]
