"""A folder that a recording is written into piece by piece, cut anywhere."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tests.ingest.made import Made


class Growth:
    """Members of a recording on their way into a folder; what is written when is the seed's choice."""

    def __init__(self, made: Made, folder: Path, rng: random.Random, *, epochwise: bool) -> None:
        self.folder = folder
        self.rng = rng
        self.manifest = made.manifest
        self.left = dict(made.members)
        self.epochwise = epochwise
        self._bytes = sum(map(len, self.left.values()))
        self.write_manifest(complete=False)

    def write_manifest(self, *, complete: bool) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "job.json").write_text(json.dumps(self.manifest | {"complete": complete}))

    def grow(self, share: float) -> None:
        """Writes pieces that are about so much of the whole."""
        goal = sum(map(len, self.left.values())) - share * self._bytes
        while self.left and sum(map(len, self.left.values())) > goal:
            name = self._next()
            data = self.left[name]
            size = self.rng.randrange(len(data) + 1) if self.rng.random() < 0.7 else len(data)
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(data[:size])
            if size == len(data):
                del self.left[name]
            else:
                self.left[name] = data[size:]

    def _next(self) -> str:
        """Any member, or one of the epochs that are first."""
        if not self.epochwise:
            return self.rng.choice(sorted(self.left))
        epochs = {name: name.rpartition("/")[2].partition(".")[0] for name in self.left}
        first = min((epoch for epoch in epochs.values() if epoch.isdigit()), default="")
        return self.rng.choice(sorted(name for name, epoch in epochs.items() if epoch == first or not epoch.isdigit()))
