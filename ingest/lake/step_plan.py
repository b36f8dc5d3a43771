"""How a search is answered: what SQL says of a stretch of steps by itself, and what is put together from that."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.lake.step_condition import Compiler, columns_of, is_sql
from replay.debugger.searching.conditions import All, AnyOf, Condition, Not, Related


@dataclass(frozen=True, slots=True)
class Asked:
    """The steps that meet a condition in SQL."""

    condition: str


@dataclass(frozen=True, slots=True)
class Listed:
    """The steps that a query gives."""

    query: str


@dataclass(frozen=True, slots=True)
class Both:
    """The steps of every part."""

    parts: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """The steps of any part."""

    parts: tuple[Plan, ...]


@dataclass(frozen=True, slots=True)
class Without:
    """All steps but these."""

    part: Plan


@dataclass(frozen=True, slots=True)
class Near:
    """A relation whose two sides are looked at side by side; `columns` hold what they must have in common."""

    one: Plan
    other: Plan
    columns: tuple[str, ...]
    related: Related


Plan = Asked | Listed | Both | Either | Without | Near


def planned(condition: Condition, compiler: Compiler) -> Plan:
    """As much as possible in one query."""
    if is_sql(condition):
        query = compiler.query(condition)
        return Asked(compiler.sql(condition)) if query is None else Listed(query)
    match condition:
        case All(parts):
            return Both(_of_parts(parts, All, compiler))
        case AnyOf(parts):
            return Either(_of_parts(parts, AnyOf, compiler))
        case Not(part):
            return Without(planned(part, compiler))
        case Related(one, other):
            columns = columns_of(condition)
            return Near(planned(one, compiler), planned(other, compiler), columns, condition)
        case _:
            return Asked(compiler.sql(condition))


def _of_parts(parts: tuple[Condition, ...], joined: type[All | AnyOf], compiler: Compiler) -> tuple[Plan, ...]:
    """Those that SQL answers go together, and come first: where they find nothing, others need not be looked at."""
    plain = tuple(part for part in parts if is_sql(part))
    first = (planned(plain[0] if len(plain) == 1 else joined(plain), compiler),) if plain else ()
    return (*first, *(planned(part, compiler) for part in parts if not is_sql(part)))
