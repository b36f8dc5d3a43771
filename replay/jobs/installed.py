"""Operators of packages that the server's owner installed: found by entry point, never by what a recording says.

A package lists its operators in the group `clonoscope.operators`. An entry point stands for the operator that it is
named after, and for the class that it points to. A recording's name is only ever compared with these.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from replay.errors import ReplayError, printable
from replay.runtime.operators import Operator

GROUP = "clonoscope.operators"


class UnknownOperator(ReplayError):
    """The recording's operator isn't one that can be had here: it can be looked at, but not executed again."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An entry point of one installed package."""

    entry_point: EntryPoint

    @property
    def package(self) -> str:
        """The package and its version."""
        package = self.entry_point.dist
        return "" if package is None else f"{package.name} {package.version}"

    @property
    def target(self) -> str:
        """`module:Class`."""
        return _target(self.entry_point)

    def load(self) -> type[Operator]:
        """An edge: imports the package's module, which may do anything, and fail in any way."""
        where = f"the entry point {printable(self.entry_point.name)} of {self.package}"
        try:
            found = self.entry_point.load()
        except Exception as fault:
            raise UnknownOperator(
                f"{where} can't be loaded: {type(fault).__name__}: {printable(str(fault))}",
                remedy="Mend the package, or remove it",
            ) from fault
        if not (isinstance(found, type) and issubclass(found, Operator)):
            raise UnknownOperator(
                f"{where} points to {printable(self.target)}, which is no operator",
                remedy="It must be a class below replay.runtime.operators:Operator",
            )
        return found


def installed_names() -> tuple[str, ...]:
    """The names of all installed operators; nothing is imported for it."""
    return tuple(sorted({one.name for one in entry_points(group=GROUP)}))


def find_installed(name: str) -> Installed | None:
    """The installed operator of that name; None where no package has it."""
    everyone = entry_points(group=GROUP)
    named = [one for one in everyone if one.name == name] or [one for one in everyone if _target(one) == name]
    targets = sorted({_target(one) for one in named})
    if len(targets) > 1:
        raise UnknownOperator(
            f"several installed packages have an entry point {printable(name)} in the group {GROUP}: "
            f"{', '.join(map(printable, targets))}",
            remedy="Keep one of them",
        )
    return Installed(named[0]) if named else None


def _target(entry_point: EntryPoint) -> str:
    """Without extras."""
    return "".join(entry_point.value.partition("[")[0].split())
