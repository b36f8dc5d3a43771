"""Reads recordings back: from their segments, and from the bundle that is made of them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clonoscope import Recording, start
from clonoscope.reading import attempts_of
from replay.bundle.reader import Bundle, open_bundle
from replay.log.determinants import Serializable, Take
from replay.services.external import call_fields


@contextlib.contextmanager
def recording(folder: Path, name: str = "orders", **settings: Any) -> Iterator[Recording]:
    with start(name, dir=folder, **settings) as made:
        yield made


def values_of(folder: Path, task: str, attempt: int = 0) -> list[Any]:
    """What calls gave, in the order of the log; what they raised as (type, message)."""
    log = next(one for one in attempts_of(folder) if (one.task, one.attempt) == (task, attempt))
    return [_value(entry.fields) for entry in log.entries() if entry.kind == "call"]


def _value(fields: dict[str, Any]) -> Any:
    raised = fields.get("raised")
    return fields["value"] if raised is None else (raised["type"], raised["message"])


def calls_in(bundle: Bundle, task: str, attempt: int, epoch: int) -> list[dict[str, Any]]:
    found = bundle.determinants(task, attempt, "main", epoch)
    return [call_fields(one) or {} for _, _, one in found if isinstance(one, Serializable)]


def takes_in(bundle: Bundle, task: str, attempt: int, epoch: int) -> list[Take]:
    return [one for _, _, one in bundle.determinants(task, attempt, "main", epoch) if isinstance(one, Take)]


@contextlib.contextmanager
def dumped(made: Recording, out: Path) -> Iterator[Bundle]:
    with open_bundle(made.dump(out)) as bundle:
        assert bundle.check_shape() == []
        yield bundle
