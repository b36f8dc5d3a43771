"""Where Spark's tasks run, as `SPARK_MASTER` says it. Standard library only."""

from __future__ import annotations

import re
import socket

from ingest.errors import IngestError

FORMS = "local, local[4], spark://host:7077, yarn or k8s://https://host:443"
_KNOWN = re.compile(r"local(\[[^\]]+\])?|spark://[^/:,]+:\d+(,[^/:,]+:\d+)*|yarn|k8s://(https?://)?[^/:,]+(:\d+)?")
_PORTS = {"https": 443, "http": 80, "": 443}
REACHED_WITHIN_S = 3.0


def is_known(master: str) -> bool:
    return bool(_KNOWN.fullmatch(master))


def is_cluster(master: str | None) -> bool:
    return bool(master) and not str(master).startswith("local")


def places_of(master: str) -> list[tuple[str, int]]:
    """Host and port of every master that the address names; `yarn` names none: Hadoop's own settings do."""
    if master == "yarn" or not is_cluster(master):
        return []
    scheme, _, hosts = master.removeprefix("k8s://").rpartition("://")
    found = []
    for one in hosts.split(","):
        host, colon, port = one.rpartition(":")
        found.append((host, int(port)) if colon else (one, _PORTS[scheme]))
    return found


def address_towards(master: str) -> str | None:
    """This machine's address on the way to the master, by which it can be reached from there; nothing is sent."""
    for place in places_of(master)[:1]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
            try:
                way.connect(place)
            except OSError as fault:
                raise IngestError(f"{master} can't be reached: {fault}. Correct SPARK_MASTER.") from fault
            return str(way.getsockname()[0])
    return None


def silent(master: str) -> str:
    """Why no master that the address names takes a connection; empty where one does, or none is named."""
    why = ""
    for place in places_of(master):
        try:
            socket.create_connection(place, REACHED_WITHIN_S).close()
        except OSError as fault:
            why = f"{place[0]}:{place[1]} does not answer: {fault}"
        else:
            return ""
    return why
