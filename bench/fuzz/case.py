"""One case: a seed, and the bundle that it makes of the real recordings, at a path of its container's suffix."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from bench.fuzz import folders, tars, zips
from bench.fuzz.bases import Content, narrowed
from bench.fuzz.members import mutated_member
from bench.fuzz.names import hostile_name
from bench.fuzz.values import mutated_bytes

CONTAINERS = ("dir", "zip", "tar", "tar.gz", "tar.zst")
UNTOUCHED = 0.03
"""So many cases are left as they were: these must be taken whole, and come out again as they went in."""


@dataclass
class Case:
    """The whole reproduction is the seed. `did` says in words what was done."""

    seed: int
    container: str = ""
    untouched: bool = False
    did: list[str] = field(default_factory=list)

    def write(self, bases: list[Content], folder: Path) -> Path:
        rng = random.Random(self.seed)
        base = rng.randrange(len(bases))
        content = narrowed(rng, bases[base])
        self.container = rng.choice(CONTAINERS)
        self.untouched = rng.random() < UNTOUCHED
        self.did.append(f"base {base}, {len(content)} members")
        lies = 0
        if not self.untouched:
            what = rng.randrange(10)
            if what < 7:
                content = self._members(rng, content)
            if what in (6, 7, 8, 9):
                lies = rng.choice((1, 1, 2))
                self.did.append(f"{lies} lies of the {self.container}")
        path = folder / ("bundle" if self.container == "dir" else f"bundle.{self.container}")
        self._contain(rng, path, content, lies)
        return path

    def _members(self, rng: random.Random, content: Content) -> Content:
        content = list(content)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            at = rng.randrange(len(content))
            name, data = content[at]
            match rng.randrange(12):
                case 0:
                    content[at] = hostile_name(rng, name), data
                    self.did.append(f"{name!r} is called {content[at][0][:80]!r}")
                case 1:
                    content.insert(rng.randrange(len(content)), (hostile_name(rng, name), data))
                    self.did.append(f"{name!r} is there under another name too")
                case 2:
                    content.append(rng.choice(content))
                    self.did.append(f"{content[-1][0]!r} is there twice")
                case 3:
                    content[at] = name, content[rng.randrange(len(content))][1]
                    self.did.append(f"{name!r} holds another member")
                case 4:
                    content[at] = content[at][0], rng.choice((b"", b"\n", b"\0" * 300_000, b"\xff" * 5000))
                    self.did.append(f"{name!r} is blank")
                case _:
                    content[at] = name, mutated_member(rng, name.decode("utf-8", "replace"), data)
                    self.did.append(f"{name!r} is changed inside")
        return content

    def _contain(self, rng: random.Random, path: Path, content: Content, lies: int) -> None:
        if self.container == "dir":
            folders.write_folder(rng, path, content, lies)
            return
        if self.container == "zip":
            data = zips.zip_of(rng, content, lies)
        else:
            of_tar = rng.randrange(lies + 1)
            data = tars.squeezed(rng, self.container, tars.tar_of(rng, content, of_tar), lies - of_tar)
        if lies and rng.random() < 0.25:
            data = mutated_bytes(rng, data)
            self.did.append("bytes of the file are changed")
        path.write_bytes(data)
