"""The language of searches and breakpoints, read by recursive descent into a `Search`; docs/search.md describes it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import cast

from replay.debugger.searching.conditions import (
    All,
    AnyOf,
    Changes,
    Comparison,
    Condition,
    Differs,
    Enters,
    Hits,
    How,
    Missing,
    Not,
    OneOf,
    OpenOrder,
    Related,
    Search,
    Value,
    WrongSearch,
)
from replay.debugger.searching.fields import ALIASES, FIELDS, IN_CHANGE, SCOPES, Field, member_of_change
from replay.debugger.searching.tokens import Token, tokens_of
from replay.errors import printable

MOST_DEPTH = 16
MOST_PARTS = 100
MOST_RELATIONS = 8
LARGEST = 2**63 - 1
SIGNS = ("=", "!=", "<", "<=", ">", ">=")
_KIND = FIELDS["kind"]

SHORT: dict[str, Condition] = {
    "anything": All(()),
    "held-back": Comparison(_KIND, "=", "hold-back"),
    "sent": Comparison(_KIND, "=", "send-buffer"),
    "divergence": Comparison(_KIND, "=", "diverge"),
    "differs": Differs(),
    "open-order": OpenOrder(),
}
"""Words that are conditions by themselves."""


def parsed(text: str) -> Search:
    """What the text asks for. Raises `WrongSearch` with the column where it cannot be understood."""
    return _Reader(tokens_of(text)).search()


class _Reader:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._parts = 0
        self._relations = 0
        self._fields = FIELDS | ALIASES

    # --- tokens ---

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _taken(self) -> Token:
        token = self._next
        self._at += token.kind != "end"
        return token

    def _has(self, *words: str) -> bool:
        """Takes these words or signs if they come next, all of them or none."""
        coming = self._tokens[self._at : self._at + len(words)]
        if [one.value for one in coming if one.kind in ("word", "sign")] != list(words):
            return False
        self._at += len(words)
        return True

    def _must(self, word: str, after: str) -> None:
        if not self._has(word):
            raise WrongSearch(f"{word!r} must follow {after}, not {self._next.shown}", column=self._next.column)

    # --- grammar ---

    def search(self) -> Search:
        condition = self._any()
        hits = self._hits()
        if self._next.kind != "end":
            raise WrongSearch(
                f"the search goes on with {self._next.shown} where it could end",
                column=self._next.column,
                remedy="Join conditions by and, or, preceded by, followed by",
            )
        return Search(condition, hits)

    def _any(self) -> Condition:
        parts = [self._all()]
        while self._has("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _all(self) -> Condition:
        parts = [self._one()]
        while self._has("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _one(self) -> Condition:
        with_column = self._next.column
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise WrongSearch(f"the search has more than {MOST_PARTS} parts", column=with_column)
        if self._has("not"):
            return Not(self._deeper(self._one, with_column))
        found = self._basic()
        while (before := self._relation()) is not None:
            found = self._related(found, *before)
        return found

    def _deeper(self, read: Callable[[], Condition], column: int) -> Condition:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise WrongSearch(f"the search nests deeper than {MOST_DEPTH} times", column=column)
        found = read()
        self._depth -= 1
        return found

    def _relation(self) -> tuple[bool, bool] | None:
        """(before, negated) of the relation that comes next, if one does."""
        for before, word in ((True, "preceded"), (False, "followed")):
            for negated in (False, True):
                if self._has(*(["not"] if negated else []), word, "by"):
                    return before, negated
        return None

    def _related(self, one: Condition, before: bool, negated: bool) -> Condition:
        if self._fields is IN_CHANGE:
            raise WrongSearch(
                "inside change( … ) only key, before and after are compared", column=self._tokens[self._at - 1].column
            )
        self._relations += 1
        if self._relations > MOST_RELATIONS:
            raise WrongSearch(
                f"the search has more than {MOST_RELATIONS} relations", column=self._tokens[self._at - 1].column
            )
        other = self._basic()
        scopes: list[str] = []
        if self._has("in"):
            self._has("the")
            self._must("same", "'in'")
            scopes.append(self._scope())
            while self._has(","):
                scopes.append(self._scope())
        within = None
        if self._has("within"):
            within = self._whole("within")
            if not (self._has("steps") or self._has("step")):
                raise WrongSearch(f"'steps' must follow the number, not {self._next.shown}", column=self._next.column)
        return Related(one, other, before, negated, tuple(dict.fromkeys(scopes)), within)

    def _scope(self) -> str:
        token = self._taken()
        if token.kind != "word" or token.value not in SCOPES:
            raise WrongSearch(
                f"steps have no {token.shown} in common", column=token.column, remedy=f"Say one of {', '.join(SCOPES)}"
            )
        return token.value

    def _basic(self) -> Condition:
        token = self._taken()
        if token.kind == "sign" and token.value == "(":
            found = self._deeper(self._any, token.column)
            self._must(")", "what is in brackets")
            return found
        if token.kind != "word":
            raise WrongSearch(f"a condition must stand here, not {token.shown}", column=token.column)
        if self._fields is IN_CHANGE:
            return self._of_field(token)
        if token.value in SHORT:
            return SHORT[token.value]
        if token.value == "enters":
            return Enters(self._text_value())
        if token.value == "change":
            return self._change(token)
        return self._of_field(token)

    def _change(self, token: Token) -> Condition:
        if not self._has("("):
            return Changes(All(()))
        if self._has(")"):
            return Changes(All(()))
        self._fields, outside = IN_CHANGE, self._fields
        found = Changes(self._deeper(self._any, token.column))
        self._fields = outside
        self._must(")", "what is in brackets")
        return found

    def _of_field(self, token: Token) -> Condition:
        field = self._fields.get(token.value)
        if field is None and self._fields is IN_CHANGE:
            field = member_of_change(token.value)
        if field is None:
            raise self._no_field(token)
        if self._has("is", "missing"):
            return Missing(field)
        if self._has("is", "not", "missing"):
            return Not(Missing(field))
        if self._has("not", "in"):
            return Not(OneOf(field, self._values(field)))
        if self._has("in"):
            return OneOf(field, self._values(field))
        for words in (("contains",), ("starts", "with")):
            at = self._next.column
            if self._has(*words):
                if field.holds == "number":
                    raise WrongSearch(f"{field.name} is a number: it {words[0]} nothing", column=at)
                return Comparison(field, cast(How, " ".join(words)), self._text_value())
        sign = self._taken()
        if sign.kind != "sign" or sign.value not in SIGNS:
            raise WrongSearch(
                f"{field.name} must be compared, not followed by {sign.shown}",
                column=sign.column,
                remedy="Say =, !=, <, <=, >, >=, in ( … ), contains, starts with, or is missing",
            )
        return Comparison(field, cast(How, sign.value), self._value(field))

    def _no_field(self, token: Token) -> WrongSearch:
        if self._fields is IN_CHANGE:
            return WrongSearch(
                f"{token.shown} is nothing that a change has",
                column=token.column,
                remedy="Inside change( … ) compare key, before and after, or a member of these: after.price",
            )
        if token.value in IN_CHANGE:
            return WrongSearch(
                f"{token.value} belongs to a change of state", column=token.column, remedy="Write change(key = …)"
            )
        known = ", ".join(FIELDS)
        return WrongSearch(f"{token.shown} is no field of a step", column=token.column, remedy=f"Fields are {known}")

    # --- values ---

    def _values(self, field: Field) -> tuple[Value, ...]:
        self._must("(", "'in'")
        found = [self._value(field)]
        while self._has(","):
            found.append(self._value(field))
            self._parts += 1
            if self._parts > MOST_PARTS:
                raise WrongSearch(f"the search has more than {MOST_PARTS} parts", column=self._next.column)
        self._must(")", "the values")
        return tuple(found)

    def _value(self, field: Field) -> Value:
        token = self._next
        if field.holds == "number":
            return self._number(field)
        if field.holds == "json" and token.kind == "number":
            self._taken()
            return float(token.value)
        return self._text_value()

    def _text_value(self) -> str:
        token = self._taken()
        if token.kind not in ("word", "text", "number"):
            raise WrongSearch(f"a name or a text in quotes must stand here, not {token.shown}", column=token.column)
        return token.value

    def _number(self, field: Field) -> int:
        token = self._taken()
        if token.kind != "number":
            raise WrongSearch(f"{field.name} takes numbers, not {token.shown}", column=token.column)
        value = Decimal(token.value)
        units = dict(field.units)
        if units and self._next.kind == "word" and self._next.value in units:
            value *= units[self._taken().value]
        elif field.needs_unit:
            raise WrongSearch(
                f"{field.name} needs a unit", column=self._next.column, remedy=f"Say {', '.join(units)}: 5.2 s"
            )
        if value != value.to_integral_value():
            raise WrongSearch(f"{field.name} takes whole numbers", column=token.column)
        if abs(value) > LARGEST:
            raise WrongSearch(f"{printable(token.value, 40)} is larger than any number of a step", column=token.column)
        return int(value)

    def _whole(self, after: str) -> int:
        token = self._taken()
        if token.kind != "number" or not token.value.isdigit() or not 1 <= int(token.value) <= LARGEST:
            raise WrongSearch(f"a whole number from 1 must follow {after!r}, not {token.shown}", column=token.column)
        return int(token.value)

    def _hits(self) -> Hits:
        first, every, last = 1, 1, None
        if self._has("hit"):
            first = last = self._whole("hit")
        elif self._has("from", "hit"):
            first = self._whole("hit")
        if last is None and self._has("every"):
            every = self._whole("every")
            self._has("hits")
        return Hits(first, every, last)
