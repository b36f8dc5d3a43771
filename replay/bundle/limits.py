"""How much of a hostile container is read before it is refused."""

from __future__ import annotations

from dataclasses import dataclass

from replay.errors import BundleError

MIB = 1 << 20
SPLIT = "Split the recording, or raise the limit"
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on a container. The ratio holds for members that unpack past `ratio_from_bytes`.

    It holds for a whole archive past `archive_ratio_from_bytes`: of members that are each small enough, of headers
    and of padding there may be any number.
    """

    max_bytes: int = 256 * GIB
    max_members: int = 2_000_000
    max_member_bytes: int = 64 * GIB
    max_manifest_bytes: int = 16 * MIB
    max_name_bytes: int = 1024
    max_names_bytes: int = 256 * MIB
    max_ratio: int = 200
    ratio_from_bytes: int = 64 * MIB
    archive_ratio_from_bytes: int = GIB

    def check_ratio(self, name: str, unpacked_bytes: int, packed_bytes: int) -> None:
        """Refuses a member that is past the size where the ratio counts, and expands more than it."""
        if unpacked_bytes > self.ratio_from_bytes and unpacked_bytes > self.max_ratio * packed_bytes:
            raise BundleError(
                f"the member expands more than {self.max_ratio}:1 past {self.ratio_from_bytes // MIB} MiB",
                path=name,
                remedy="Store such members with less compression, or as a directory",
            )

    def check_archive_ratio(self, path: str, unpacked_bytes: int, packed_bytes: int) -> None:
        """Refuses an archive that as a whole expands more than the ratio."""
        if unpacked_bytes > self.archive_ratio_from_bytes and unpacked_bytes > self.max_ratio * packed_bytes:
            raise BundleError(
                f"the archive expands more than {self.max_ratio}:1 past {self.archive_ratio_from_bytes // MIB} MiB",
                path=path,
                remedy="Pack it with less compression, or as a directory",
            )

    def check_size(self, name: str, size: int) -> None:
        """Refuses a member that declares more bytes than one member may have."""
        bound = self.max_manifest_bytes if name == "job.json" else self.max_member_bytes
        if size > bound:
            raise BundleError(
                f"the member declares {size} bytes, and at most {bound} are allowed",
                path=name,
                remedy=SPLIT,
            )
