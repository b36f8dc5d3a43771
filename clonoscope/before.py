"""What attempts before this one hold of an epoch: which of them goes furthest, and its answers, one after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clonoscope.reading import RETRY_BEGAN, RETRY_ENDED, AttemptLog, Entry, attempt_in, meta_of
from clonoscope.redaction import said
from clonoscope.segments import segments_of
from clonoscope.words import UNFINISHED

Place = tuple[str, int]
_OF_RECORDS = ("take", "record", "seen", "hash")


def attempts_below(above: Path, attempt: int | None) -> list[int]:
    """The numbers of a task's attempts before one, the latest first; none where nobody can look."""
    try:
        found = (int(one.name) for one in above.iterdir() if one.name.isdecimal())
        return sorted((one for one in found if attempt is None or one < attempt), reverse=True)
    except OSError:
        return []


def furthest(above: Path, attempts: list[int]) -> int:
    """The last epoch that any of them was in; -1 where there is none. Every log says what it knew of those before."""
    most = -1
    for number in attempts:
        known, last = _ends_of(above / str(number))
        most = max(most, last, -1 if known is None else known)
        if known is not None:
            break
    return most


def reached_of(folder: Path) -> int | None:
    """What an attempt's last segment says of those before it; None where it says nothing."""
    metas = (meta_of(path) for _, path in reversed(segments_of(folder)))
    meta = next((one for one in metas if one is not None), {})
    return known if type(known := meta.get("reached")) is int else None


def _ends_of(folder: Path) -> tuple[int | None, int]:
    """What it says of those before it, and the last epoch that it was in."""
    for number, path in reversed(segments_of(folder)):
        meta = meta_of(path)
        if meta is not None:  # else the last was made and never begun
            log = AttemptLog(folder.parent.name, int(folder.name), folder, meta)
            epochs = (entry.epoch for entry in log.entries(number) if entry.epoch is not None)
            # Its writer may have been killed before it wrote more than who it is.
            begun = -1 if meta["epoch"] is None else int(meta["epoch"])
            return reached_of(folder), max(epochs, default=begun)
    return None, -1


def epoch_of(log: AttemptLog, epoch: int) -> Iterator[Entry]:
    """An epoch from its beginning to its end, and how the attempt ended, if that is within. Nothing, if it has none."""
    entries = log.entries(_first_segment(log.folder, epoch))
    for entry in entries:
        if entry.kind == "epoch" and entry.epoch == epoch:
            yield entry
            break
    for entry in entries:
        if entry.kind == "epoch":
            return
        yield entry
        if entry.kind == "epoch-end":
            return


def _first_segment(folder: Path, epoch: int) -> int:
    """The last segment that began before the epoch did."""
    found = segments_of(folder)
    for number, path in reversed(found):
        meta = meta_of(path)
        if meta is not None and (meta["epoch"] is None or meta["epoch"] < epoch):
            return number
    return found[0][0] if found else 0


@dataclass(slots=True)
class _Scan:
    """What of an attempt's epoch tells whether its answers are taken."""

    begun: bool = False
    calls: int = 0
    records: int = 0
    gap: bool = False
    unfinished: bool = False
    took_of: int | None = None
    lived: bool = False
    ended: bool = False
    cause: str | None = None
    raised: list[tuple[int, str]] = field(default_factory=list)

    @classmethod
    def of(cls, log: AttemptLog, epoch: int) -> _Scan:
        made = cls()
        for entry in epoch_of(log, epoch):
            made._add(entry)
        return made

    def _add(self, entry: Entry) -> None:
        fields = entry.fields
        # Nothing was answered behind the entry that its writer died of; that others went on is another matter.
        self.gap = self.gap or (self.unfinished and entry.kind not in _OF_RECORDS)
        match entry.kind:
            case "epoch":
                self.begun = True
            case "call":
                raised = fields.get("raised")
                if isinstance(raised, dict):
                    kind = str(raised.get("type")).rpartition(".")[2]
                    self.raised.append((self.calls, f"{kind}: {said(raised.get('message'))}"))
                self.calls += 1
            case "take":
                self.records += fields["records"]
            case "gap" if fields["why"] == UNFINISHED:
                self.unfinished = True
            case "gap":
                self.gap = True
            case "epoch-end":
                self.ended = True
            case "end" if fields.get("how") == "failed":
                self.cause = str(fields.get("cause"))
            case "event" if fields.get("type") == RETRY_BEGAN:
                self.took_of = fields.get("before")
            case "event" if fields.get("type") == RETRY_ENDED:
                self.lived = True


@dataclass(frozen=True, slots=True)
class Found:
    """Whose answers are taken, and how many of them at the most; `why` says what stops there."""

    log: AttemptLog
    upto: int | None = None
    why: str = ""


def find(above: Path, attempts: list[int], epoch: int) -> Found | None:
    """Among attempts, the latest first: the one that lived through the epoch last. Those that had only taken what an
    earlier one was given, and got no further than that, are passed over for it; what they failed of, it had died of
    before it could say so, where it is its last answer."""
    due, fatal = None, None
    for number in attempts:
        if due is not None and number > due:
            continue
        log = attempt_in(above / str(number))
        scan = _Scan() if log.meta.get("lost") else _Scan.of(log, epoch)
        if not scan.begun:
            continue
        if scan.took_of is not None and not scan.lived and not scan.gap:
            due, fatal = scan.took_of, fatal or _fatal_of(log, scan)
        elif scan.calls or scan.records or scan.lived:
            own = _fatal_of(log, scan)
            if own is None and fatal is not None and scan.cause is None and scan.calls == fatal[0] + 1:
                own = fatal  # it was killed before it could say that it had failed
            return Found(log) if own is None or scan.ended else Found(log, *own)
    return None


def _fatal_of(log: AttemptLog, scan: _Scan) -> tuple[int, str] | None:
    """What an attempt raised and failed of, it would fail of for ever: which of its answers, and that in words."""
    if scan.cause is None or scan.ended:
        return None
    at = next((at for at, raised in reversed(scan.raised) if raised == scan.cause), None)
    return None if at is None else (at, f"attempt {log.attempt} failed of the answer that comes next: {scan.cause}")


@dataclass(frozen=True, slots=True)
class Answer:
    """One that was given. `records`: how many of the epoch's had been taken."""

    fields: dict[str, Any]
    site: dict[str, Any]
    records: int


class Before:
    """The answers of an attempt's epoch, read while they are taken, and the records that it took between them."""

    def __init__(self, found: Found, epoch: int):
        self.attempt = found.log.attempt
        self.folder = found.log.folder
        # Why nothing more can be taken, once that is known: in a word, and in a sentence.
        self.how, self.stop = "", ""
        self._found = found
        self._entries = epoch_of(found.log, epoch)
        self._began = next(self._entries, None)
        self._over = self._began is None
        # An attempt that is handed on has several.
        self.process = found.log.process
        self._calls = 0
        self._next: Answer | None = None
        self._runs: deque[list[Any]] = deque()
        self._seen: dict[int, bytes] = {}
        self._hashes: dict[tuple[Place, int, int], str] = {}
        self._outputs: deque[dict[str, Any]] = deque()
        self._records = self.hashed = 0

    def ahead(self) -> Answer | None:
        """The next answer."""
        while self._next is None and not self._over:
            entry = next(self._entries, None)
            if entry is None:
                self._end("used-up", f"attempt {self.attempt} got no further")
            else:
                self._add(entry)
        return self._next

    def taken(self) -> None:
        """It is; what comes behind it is looked for when it is asked for."""
        self._next = None

    def left(self) -> int:
        """How many answers nobody has taken. Nothing can be taken afterwards."""
        count = 0
        while self.ahead() is not None:
            count, self._next = count + 1, None
        return count

    def _end(self, how: str, why: str) -> None:
        self._over, self.how, self.stop = True, how, why

    def _add(self, entry: Entry) -> None:
        fields, began = entry.fields, self._began.taken if self._began else 0
        match entry.kind:
            case "call" if self._calls == self._found.upto:
                self._end("failed", self._found.why)
            case "call":
                self._calls += 1
                site = self._found.log.sites.get(fields.get("site"), {})
                self._next = Answer(fields, site, entry.taken - began)
            case "take":
                self._runs.append([self._place(fields["input"]), fields["first"], fields["records"]])
            case "seen":
                self._seen[entry.taken - began] = fields
            case "hash" if "until" in fields:
                sha256 = fields.get("sha256") or fields.get("keyed")
                self._hashes[self._place(fields["input"]), fields["first"], fields["until"]] = sha256
            case "output":
                self._outputs.append(fields)
            case "gap":
                self._end("gap", f"a gap in attempt {self.attempt}: {fields['why']}")
            case "epoch-end":
                self._end("whole", f"attempt {self.attempt} asked for nothing more")

    def _place(self, number: int) -> Place:
        place = self._found.log.inputs.get(number, {"topic": "", "partition": number})
        return place["topic"], place["partition"]

    # --- the same inputs ---

    def took(self, place: Place, first: int, until: int, *, data: bytes | None = None, sha256: str = "") -> str:
        """Records are taken here: why they are not those of that attempt, or nothing. `data`: a hash of the record."""
        asks = self.ahead()
        named = _named(place, first, until)
        if until - first > 1 or sha256:
            logged = self._hashes.pop((place, first, until), "")
            if (self._runs or asks is not None) and logged != sha256:
                return f"{named} have another hash than those of attempt {self.attempt}"
            self.hashed += until - first if sha256 and self._runs else 0
        while first < until and self._runs:
            run = self._runs[0]
            if run[0] != place or run[1] != first:
                return f"{named} came where attempt {self.attempt} took {_named(run[0], run[1], run[1] + 1)}"
            count = min(run[2], until - first)
            run[1], run[2], first = run[1] + count, run[2] - count, first + count
            if (data is not None or self._seen) and self._seen.pop(self._records, None) != data:
                return f"{named} is another record than that of attempt {self.attempt}, by its hash"
            self._records += count
            self.hashed += count if data is not None else 0
            if not run[2]:
                self._runs.popleft()
        if first < until and asks is not None:
            return f"{named} came where attempt {self.attempt} asked for {asks.fields.get('call')}"
        self._records += until - first
        return ""

    @property
    def records(self) -> int:
        """How many were taken here."""
        return self._records

    # --- the same outputs ---

    def gave(self, fields: dict[str, Any]) -> bool:
        """Whether an output is what that attempt gave here, as far as it got."""
        self.ahead()
        if not self._outputs:
            return self._over
        logged = self._outputs.popleft()
        return all(logged.get(key) == fields.get(key) for key in ("record", "topic", "text", "id"))


def _named(place: Place, first: int, until: int) -> str:
    of = f"{place[0]}[{place[1]}]"
    return f"record {first} of {of}" if until == first + 1 else f"records {first} to {until - 1} of {of}"
