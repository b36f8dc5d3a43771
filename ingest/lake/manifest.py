"""The manifest of one published lake version: schema version, files per table, and files that say where logs lie."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ingest.errors import IngestError
from ingest.lake.places import Place, put_json
from ingest.lake.publish import MANIFEST as NAME
from ingest.lake.schema import LAKE_TABLES, SCHEMA_VERSION
from ingest.lake.writers import FileSummary


class ManifestFault(IngestError):
    """A lake folder whose manifest is missing or not what was written."""


@dataclass(frozen=True, slots=True)
class LakeManifest:
    job: str
    files: tuple[FileSummary, ...]
    log_index: tuple[FileSummary, ...] = ()
    """Files that say where each log and epoch lies."""
    facts: dict[str, Any] = field(default_factory=dict)
    rejects: int = 0
    schema_version: int = SCHEMA_VERSION

    def paths(self, table: str) -> list[str]:
        """Files of a table, in the table's order, relative to the lake folder."""
        return [file.path for file in self.files if file.table == table]

    def rows(self, table: str) -> int:
        return sum(file.rows for file in self.files if file.table == table)

    def write(self, folder: Place) -> None:
        document = {
            "schema_version": self.schema_version,
            "job": self.job,
            "rejects": self.rejects,
            "facts": self.facts,
            "files": [file.to_json() for file in self.files],
            "log_index": [file.to_json() for file in self.log_index],
        }
        put_json(folder / NAME, document)

    @classmethod
    def read(cls, folder: Place) -> LakeManifest:
        try:
            document = json.loads((folder / NAME).read_bytes())
            return cls(
                job=document["job"],
                files=tuple(FileSummary(**file) for file in document["files"]),
                log_index=tuple(FileSummary(**file) for file in document["log_index"]),
                facts=document["facts"],
                rejects=document["rejects"],
                schema_version=document["schema_version"],
            )
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise ManifestFault(f"{folder / NAME} cannot be read ({fault}). Ingest the job anew.") from fault


def schema_version(folder: Place) -> int | None:
    """The schema version of a lake folder; None where there is none that can be read."""
    try:
        return LakeManifest.read(folder).schema_version
    except ManifestFault:
        return None


def in_table_order(files: Iterable[FileSummary]) -> tuple[FileSummary, ...]:
    """By table as the schema lists them, then as their tasks numbered them."""
    order = {name: n for n, name in enumerate(LAKE_TABLES)}
    return tuple(sorted(files, key=lambda file: order[file.table]))
