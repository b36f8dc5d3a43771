"""What a sink really holds, where reading it takes more than the standard library: Parquet and PostgreSQL.

Called by commands alone, with places that their user names: nothing that comes from afar is opened or connected to.
"""

from __future__ import annotations

from ingest.lake.outside_parquet import open_parquet
from ingest.lake.outside_postgres import open_postgres
from replay.guarantees.outside.addresses import Reader, open_address
from replay.guarantees.outside.readers import READERS as PLAIN
from replay.guarantees.outside.rows import Outside

READERS: dict[str, Reader] = {"parquet": open_parquet, "postgresql": open_postgres, **PLAIN}


def open_outside(address: str) -> Outside:
    """What is there, ready to be read; raises `ReplayError` where there is nothing of the kind."""
    return open_address(address, READERS)
