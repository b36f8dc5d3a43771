"""Where a lake lies: a folder, or a prefix in a bucket of S3. Files are made beside and appear whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from ingest.lake.errors import OutOfReach

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

SCHEME = "s3://"
ENDPOINT = "AWS_ENDPOINT_URL"
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class InBucket:
    """A place in a bucket; what it offers is called as it is of a `Path`."""

    key: str
    """Bucket and key, without a slash at the end."""

    def __str__(self) -> str:
        return SCHEME + self.key

    def __truediv__(self, name: object) -> InBucket:
        return InBucket(f"{self.key}/{name}")

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> InBucket:
        return InBucket(self.key.rpartition("/")[0])

    def open_file(self) -> Any:
        """For reading anywhere in it, by ranges."""
        return _missing_is_not_found(bucket_files().open_input_file, self.key)

    def read_bytes(self) -> bytes:
        with self.open_file() as file:
            found: bytes = file.read()
        return found

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            bucket_files().delete_file(self.key)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def info(self) -> Any:
        return bucket_files().get_file_info(self.key)


Place: TypeAlias = Path | InBucket


def place_of(address: str | Path | InBucket) -> Place:
    """Of a folder's path, or `s3://bucket/prefix`."""
    if isinstance(address, str) and address.startswith(SCHEME):
        return InBucket(address.removeprefix(SCHEME).strip("/"))
    return address if isinstance(address, InBucket) else Path(address)


@cache
def bucket_files() -> FileSystem:
    """Of this process; who it is and which server it asks, `AWS_…` variables say."""
    from pyarrow.fs import S3FileSystem

    endpoint = os.environ.get(ENDPOINT, "")
    scheme, separator, host = endpoint.rpartition("://")
    own = {"endpoint_override": host.rstrip("/"), "scheme": scheme if separator else "https"} if endpoint else {}
    return S3FileSystem(allow_delayed_open=True, **own)


def _missing_is_not_found(ask: Any, key: str) -> Any:
    try:
        return ask(key)
    except OSError as fault:
        if isinstance(fault, FileNotFoundError) or "NO_SUCH_KEY" in str(fault).upper():
            raise FileNotFoundError(2, "there is no such object", SCHEME + key) from fault
        raise


@contextmanager
def reaching(place: Place, error: type[OutOfReach] = OutOfReach) -> Iterator[None]:
    """A server that is away must not be taken for a bucket that holds nothing."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as fault:
        raise error(f"{place} can't be reached: {fault}. Try again when it can.") from fault


def readable(place: Place) -> Any:
    """What pyarrow reads a file from."""
    return place.open_file() if isinstance(place, InBucket) else place


def size_of(place: Place) -> int | None:
    """In bytes; None where there is no file."""
    if isinstance(place, InBucket):
        info = place.info()
        return int(info.size) if info.is_file else None
    try:
        return place.stat().st_size
    except FileNotFoundError:
        return None


def names_in(place: Place) -> list[str]:
    """Of the files and folders right in it, in order; none where it is missing."""
    if isinstance(place, InBucket):
        from pyarrow.fs import FileSelector

        found = bucket_files().get_file_info(FileSelector(place.key, allow_not_found=True))
        return sorted({info.base_name for info in found if info.base_name})
    return sorted(os.listdir(place)) if place.is_dir() else []


def remove(place: Place) -> None:
    """With all that is below it; what is gone already is well."""
    if isinstance(place, InBucket):
        with suppress(FileNotFoundError):
            bucket_files().delete_dir(place.key)
    else:
        shutil.rmtree(place, ignore_errors=True)


def put(place: Place, content: bytes) -> None:
    """Whoever looks sees what was there before, or this; it is kept before it is seen."""
    if isinstance(place, InBucket):
        with bucket_files().open_output_stream(place.key) as out:
            out.write(content)
        return
    temporary = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, place)


def put_file(place: InBucket, path: Path) -> None:
    """What it raises for, the caller removes: an error of the disk may leave an object that is cut short."""
    with open(path, "rb") as file:
        _send(file, place)
    if size_of(place) != path.stat().st_size:
        raise OSError(f"{place} has not the size of what was put there")


def _send(file: IO[bytes], place: InBucket) -> None:
    with bucket_files().open_output_stream(place.key) as out:
        shutil.copyfileobj(file, out, _COPY_BYTES)


def put_json(place: Place, document: Any) -> None:
    put(place, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


class Landing:
    """A file while it is made: beside its place in a folder, and on this machine's disk, without a name, for a bucket.

    The folder that it lies in is made, the one above never: what was taken away must not come back.
    """

    def __init__(self, folder: Place, name: str) -> None:
        self._path: Path | None = None
        self._file: IO[bytes] | None = None
        if isinstance(folder, InBucket):
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  closed when it has landed
            return
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
        self._path = folder / f".{name}.{uuid.uuid4().hex}.tmp"

    @property
    def sink(self) -> Any:
        """What pyarrow writes it into."""
        return self._file if self._file is not None else self._path

    def land(self, place: Place) -> int:
        """Gives it its name; how large it is."""
        if isinstance(place, InBucket):
            return self._upload(place)
        if self._path is not None:
            os.replace(self._path, place)
        return place.stat().st_size

    def _upload(self, place: InBucket) -> int:
        if self._file is None:
            raise ValueError(f"{place} is in a bucket, and what is to be put there is not")
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        _send(self._file, place)
        self._file.close()
        return size

    def abandon(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()
