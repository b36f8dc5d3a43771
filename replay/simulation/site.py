"""Where a world's tasks run: hosts and their slots."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from replay.model import Manifest


@dataclass(frozen=True, slots=True)
class Site:
    """As a run is given them: None is as many as are needed. `local_copies`: hosts keep snapshots of their tasks."""

    hosts: int | None = None
    slots: int | None = None
    local_copies: bool = False


@dataclass(frozen=True, slots=True)
class Hosting:
    """What checks have to know of a site and is in no recording. `state_bytes`: what each state is said to weigh."""

    names: tuple[str, ...] = ()
    slots: int | None = None
    local_copies: bool = False
    loses_hosts: bool = True
    state_bytes: int | None = None


def random_site(draw: Random, manifest: Manifest) -> Site:
    """Without bounds in some worlds, and so narrow in others that tasks have to wait for one another."""
    tasks = len(manifest.tasks)
    hosts = draw.choice((None, 2, 3, 4, 6))
    if hosts is None:
        return Site(local_copies=draw.random() < 0.3)
    full = -(-tasks // hosts)
    slots = draw.choice((None, full, full + draw.choice((1, 2, full))))
    return Site(hosts, slots, draw.random() < 0.3)


def host_names(site: Site, manifest: Manifest) -> list[str]:
    """The hosts that a run on that site has."""
    widest = max(vertex.parallelism for vertex in manifest.vertices)
    count = max(2, manifest.protocol.standby + 1, widest + 1) if site.hosts is None else site.hosts
    return [f"host-{number}" for number in range(count)]
