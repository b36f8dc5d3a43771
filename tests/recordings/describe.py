"""Says what a recording holds, by the independent reader: what later releases must still find in it."""

import hashlib
import json
import sys
import tarfile
import tempfile
from collections import Counter
from pathlib import Path

from tests.oracle_reader import Recording, complaints


def described(archive):
    """What is in the recording, and what contradicts the format."""
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as tar:
        tar.extractall(folder)
        recording = Recording(folder)
        kinds = Counter(
            kind
            for task, attempt, thread, suffix in recording.members
            if suffix == "det"
            for _, _, kind, _ in recording.determinants(task, attempt, thread)
        )
        frames = Counter()
        for task, attempt, channel, suffix in recording.members:
            if suffix in ("buf", "dlt", "rcv"):
                frames[suffix] += len(recording.frames(task, attempt, channel, suffix))
        digests = {
            file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in recording.files
        }
        return {
            "determinants": dict(sorted(kinds.items())),
            "frames": dict(sorted(frames.items())),
            "events": len(recording.events),
            "members": digests,
            "complaints": complaints(folder),
        }


if __name__ == "__main__":
    for name in sys.argv[1:]:
        text = json.dumps(described(name), indent=1)
        Path(name.replace(".tar.gz", ".json")).write_text(text + "\n", "utf-8")
