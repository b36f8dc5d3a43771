"""A folder that a recording is written into piece by piece, cut anywhere: for benches and tests."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.bundle.members import MANIFEST


class Growth:
    """Members of a recording on their way into a folder; what is written when is the seed's choice."""

    def __init__(
        self, manifest: dict[str, Any], members: dict[str, bytes], folder: Path, rng: random.Random, *, epochwise: bool
    ) -> None:
        self.folder = folder
        self.rng = rng
        self.manifest = manifest
        self.left = dict(members)
        self.epochwise = epochwise
        self._bytes = self._left_bytes = sum(map(len, members.values()))
        self.write_manifest(complete=False)

    def write_manifest(self, *, complete: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / MANIFEST).write_text(json.dumps(self.manifest | {"complete": complete}))

    def grow(self, share: float) -> None:
        """Writes pieces that are about so much of the whole."""
        goal = self._left_bytes - share * self._bytes
        while self.left and self._left_bytes > goal:
            name = self._next()
            data = self.left[name]
            size = self.rng.randrange(len(data) + 1) if self.rng.random() < 0.7 else len(data)
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(data[:size])
            self._left_bytes -= size
            if size == len(data):
                del self.left[name]
            else:
                self.left[name] = data[size:]

    @contextmanager
    def growing(self, share: float, every_s: float) -> Iterator[threading.Thread]:
        """In a thread, so much at a time, until all of it is written or the block is left."""
        stop = threading.Event()

        def write() -> None:
            while self.left and not stop.wait(self.rng.uniform(0, 2 * every_s)):
                self.grow(self.rng.uniform(0, 2 * share))

        writer = threading.Thread(target=write, name="growing")
        writer.start()
        try:
            yield writer
        finally:
            stop.set()
            writer.join()

    def _next(self) -> str:
        """Any member, or one of the epochs that are first."""
        if not self.epochwise:
            return self.rng.choice(sorted(self.left))
        epochs = {name: name.rpartition("/")[2].partition(".")[0] for name in self.left}
        first = min((int(epoch) for epoch in epochs.values() if epoch.isdigit()), default=-1)
        within = [name for name, epoch in epochs.items() if not epoch.isdigit() or int(epoch) == first]
        return self.rng.choice(sorted(within))


def members_of(recording: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest of a recording that is a folder, and its other members."""
    found = {str(path.relative_to(recording)): path.read_bytes() for path in recording.rglob("*") if path.is_file()}
    return json.loads(found.pop(MANIFEST)), found
