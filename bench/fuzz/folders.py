"""Bundles as folders: what a file system can hold, with links, pipes and sockets where files should be."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from pathlib import Path

Content = list[tuple[bytes, bytes]]


def write_folder(rng: random.Random, path: Path, content: Content, lies: int) -> None:
    """What of the content can be named there; the rest is left out."""
    root = os.fsencode(path)
    os.makedirs(root)
    written = []
    for name, data in content:
        if b"\0" in name or b".." in name.split(b"/") or name.startswith(b"/"):
            continue  # would lead elsewhere, here and now
        at = os.path.join(root, name)
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(at), exist_ok=True)
            with open(at, "wb") as file:
                file.write(data)
            written.append(at)
    for _ in range(lies):
        if written:
            _replace(rng, rng.choice(written), root)


def _replace(rng: random.Random, at: bytes, root: bytes) -> None:
    with contextlib.suppress(OSError):
        match rng.randrange(7):
            case 0:
                os.unlink(at)
                os.symlink(rng.choice((b"/etc/passwd", b"/", b"..", b"nowhere", at)), at)
            case 1:
                os.unlink(at)
                os.mkfifo(at)
            case 2:
                os.unlink(at)
                with contextlib.closing(socket.socket(socket.AF_UNIX)) as one:
                    one.bind(os.fsdecode(at)[:100])
            case 3:
                os.link(at, at + b".again")
            case 4:
                os.unlink(at)
                os.mkdir(at)
            case 5:
                os.truncate(at, rng.choice((0, 1, 1 << 20, 1 << 40)))
            case _:
                os.symlink(root, os.path.join(root, b"loop"))
