"""Which code an operator is: a digest of the classes that it is made of, by which a recording can tell it again."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace

from replay.jobs.registry import new_operator
from replay.model import Manifest
from replay.runtime.operators import Operator


def operator_digest(operator: type[Operator]) -> str | None:
    """SHA-256 over the source of the class and of its bases; None where no source is there to be read."""
    whole = hashlib.sha256()
    for one in operator.__mro__:
        if not issubclass(one, Operator) or one is Operator:
            continue
        try:
            whole.update(inspect.getsource(one).encode() + b"\0")
        except (OSError, TypeError):
            return None
    return whole.hexdigest()


def naming_its_code(manifest: Manifest) -> Manifest:
    """The manifest with `code.operators`: of each operator that its vertices name, the digest of its code."""
    digests: dict[str, str] = {}
    for vertex in manifest.vertices:
        digest = operator_digest(type(new_operator(vertex)))
        if digest is not None:
            digests[vertex.operator] = digest
    return replace(manifest, raw={**manifest.raw, "code": {"operators": digests}})
