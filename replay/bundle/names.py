"""Which names of members are admitted: hostile names never get past here."""

from __future__ import annotations

from replay.bundle.limits import SPLIT, Limits
from replay.errors import BundleError, printable

_REMEDY = "Pack the bundle's own tree again, with plain relative names"


class NameBook:
    """Admits names one by one, and refuses the second of a kind."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._last_folder = ""
        self._names_bytes = 0

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def admit_file(self, raw: bytes) -> str:
        """The member's name, if a file of that name may stand beside those before it."""
        name = self._checked(raw)
        if name in self._files:
            raise refusal(name, "two members have this name")
        if name in self._folders:
            raise refusal(name, "this name is a file here and a folder elsewhere")
        self._admit_folders(name)
        self._files.add(name)
        self._count(name)
        if len(self._files) > self.limits.max_members:
            raise one_too_many(name, self.limits)
        return name

    def admit_folder(self, raw: bytes) -> str:
        """A folder's own entry carries nothing, but its name obeys the same rules."""
        raw = raw.rstrip(b"/")
        if raw in (b"", b"."):
            return ""
        name = self._checked(raw)
        if name in self._files:
            raise refusal(name, "this name is a folder here and a file elsewhere")
        self._admit_folders(f"{name}/")
        return name

    def _admit_folders(self, name: str) -> None:
        folder = name.rpartition("/")[0]
        if folder == self._last_folder:
            return
        self._last_folder = folder
        while folder and folder not in self._folders:
            if folder in self._files:
                raise refusal(folder, "this name is a file here and a folder elsewhere")
            self._folders.add(folder)
            self._count(folder)
            folder = folder.rpartition("/")[0]

    def _count(self, name: str) -> None:
        """Names are held in memory, and each of a thousand levels of a deep one is a name of its own."""
        self._names_bytes += len(name)
        if self._names_bytes > self.limits.max_names_bytes:
            raise BundleError(
                f"with this one, the names of members and folders have more than {self.limits.max_names_bytes} bytes",
                path=printable(name),
                remedy=SPLIT,
            )

    def _checked(self, raw: bytes) -> str:
        if len(raw) > self.limits.max_name_bytes:
            raise refusal(raw, f"the name is longer than {self.limits.max_name_bytes} bytes")
        while raw.startswith(b"./"):
            raw = raw[2:]
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise refusal(raw, "the name is not UTF-8") from None
        fault = name_fault(name)
        if fault:
            raise refusal(name, fault)
        return name


def name_fault(name: str) -> str | None:
    """Why a name may not be a member's, or None."""
    if not name:
        return "the name is empty"
    if name.startswith("/"):
        return "the name is absolute"
    if "\\" in name:
        return "the name has a backslash"
    if any(ord(c) < 32 or ord(c) == 127 for c in name):
        return "the name has control characters"
    parts = name.split("/")
    if ".." in parts:
        return "the name leads out of the bundle by .."
    if "" in parts or "." in parts:
        return "the name has an empty part"
    if len(parts[0]) == 2 and parts[0][1] == ":":
        return "the name begins with a drive"
    return None


def one_too_many(name: str, limits: Limits) -> BundleError:
    """A member beyond what a bundle may have."""
    return BundleError(
        f"this is one member more than the {limits.max_members} that are allowed",
        path=printable(name),
        remedy=SPLIT,
    )


def refusal(name: str | bytes, why: str) -> BundleError:
    """A refused name, shown whatever its bytes."""
    shown = name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else name
    return BundleError(why, path=printable(shown) or '""', remedy=_REMEDY)
