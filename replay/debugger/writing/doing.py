"""What the operator was given last, and what it has read of its log since: why it does what it does."""

from __future__ import annotations

# Of what an operator has read while it does one thing, so much is told as causes of what it writes.
MOST_READ = 16


class Doing:
    """`given` is the step of a record, a timer or a watermark; None before the first.

    It is the cause of what the operator `asks` for, and with what it has read the causes of what it `writes`.
    """

    __slots__ = ("asks", "given", "writes")

    def __init__(self) -> None:
        self.begins(None)

    def begins(self, step: int | None) -> None:
        """The operator is given something else."""
        self.given = step
        self.asks: tuple[int, ...] = () if step is None else (step,)
        self.writes: tuple[int, ...] = self.asks

    def read(self, step: int) -> None:
        """The clock, a random number or an answer from outside: it may stand in what is written next."""
        if len(self.writes) < MOST_READ:
            self.writes = (*self.writes, step)
        else:
            self.writes = (*self.asks, *(*self.writes[len(self.asks) :], step)[-MOST_READ:])
