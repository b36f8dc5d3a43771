"""docs/log-format.md says what the codec does: its tables are read as layouts, its examples are decoded."""

import json
import re
import struct
from dataclasses import fields
from pathlib import Path

import pytest

from replay.bundle import frames
from replay.bundle.frames import BufferFrame, ReceiptFrame, SendingFrame
from replay.bundle.members import parse_member
from replay.jobs.options import RecordOptions
from replay.jobs.record import record
from replay.log.codec import decode_at, encode
from replay.log.determinants import CALLBACKS, CHECKPOINT_TYPES, INTERNAL_CALLBACK, KINDS
from replay.model import Manifest
from replay.model import manifest_fields as manifest
from replay.protocols import PROTOCOLS
from tests.docs.pages import bare, code_words, page, sections, table

PAGE = "log-format.md"
STRUCT_CODES = {"int64": "q", "int32": "i", "uint32": "I", "uint8": "B"}
TAGS = table(PAGE, "tag", "kind", "payload")
EXAMPLES = table(PAGE, "bytes (hex)", "kind", "fields")


def test_every_tag_and_kind_is_documented() -> None:
    documented = dict(zip(TAGS.column("tag"), TAGS.column("kind"), strict=True))
    assert documented == {str(kind.TAG): kind.kind for kind in KINDS}


def test_every_field_of_a_determinant_is_documented() -> None:
    payloads = dict(zip(TAGS.column("kind"), (row[2] for row in TAGS.rows), strict=True))
    for kind in KINDS:
        named = {field.name for field in fields(kind)} - {"payload", "storage_ref"}
        assert named <= set(re.findall(r"\w+", payloads[kind.kind])), kind


@pytest.mark.parametrize("row", EXAMPLES.rows, ids=lambda row: f"{bare(row[1])}: {row[2]}")
def test_examples_decode_to_what_stands_beside_them(row: tuple[str, ...]) -> None:
    data = bytes.fromhex(bare(row[0]))
    determinant, end = decode_at(data, 0)
    assert (determinant.kind, end) == (bare(row[1]), len(data))
    shown = dict(part.split(" ", 1) for part in row[2].split(", "))
    values = {field.name: getattr(determinant, field.name) for field in fields(determinant)}
    assert shown == {name: _shown(value) for name, value in values.items() if value is not None}
    assert encode(determinant) == data


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES.column("kind")) == {kind.kind for kind in KINDS}


def test_callbacks_and_checkpoint_types_are_numbered_as_in_the_code() -> None:
    text = page(PAGE)
    for number, name in [*enumerate(CALLBACKS), (INTERNAL_CALLBACK, "internal:<name>"), *enumerate(CHECKPOINT_TYPES)]:
        assert f"{number} `{name}`" in text


@pytest.mark.parametrize(
    ("section", "name", "sample"),
    [
        ("Buffers (`.buf`)", "buffer", BufferFrame(1, 2, 3, 99, 4, 5, b"")),
        ("Sendings (`.dlt`)", "sending", SendingFrame(1, 2, 3, 4, 5, b"")),
        ("Receipts (`.rcv`)", "receipt", ReceiptFrame(1, 2, 3, 4, 5, 6, 7, 8)),
    ],
)
def test_frames_are_laid_out_as_documented(section: str, name: str, sample) -> None:
    layout = table(PAGE, "field", "type", "meaning", section=section)
    names = layout.column("field")
    values = struct.unpack(">" + "".join(STRUCT_CODES[one] for one in layout.column("type")), sample.to_bytes())
    expected = [len(b"") if field == "n" else getattr(sample, field) for field in names]
    assert list(values) == expected, name


def test_a_receipt_is_as_long_as_documented() -> None:
    assert f"Frames of {frames.RECEIPT_BYTES} bytes" in page(PAGE)


def test_documented_members_are_recognised() -> None:
    known = {"<task>": "join.3", "<attempt>": "0", "<epoch>": "2", "<checkpoint>": "2", "<k>": "1", "<i>": "0"}
    for pattern in table(PAGE, "member", "holds").column("member"):
        name = pattern
        for placeholder, value in known.items():
            name = name.replace(placeholder, value)
        assert parse_member(name).kind != "unknown", pattern


def test_the_manifest_of_the_page_is_read() -> None:
    example = re.search(r"```json\n(.*?)```", page(PAGE), re.DOTALL)
    assert example is not None
    read = Manifest.from_json(json.loads(example[1]))
    assert (read.job.name, read.protocol.sharing_depth, [task.id for task in read.tasks]) == (
        "orders",
        None,
        ["source.0", "sink.0"],
    )


def test_every_choice_of_the_manifest_is_documented() -> None:
    words = code_words(sections(PAGE)["job.json"])
    choices = (
        manifest.VERTEX_KINDS,
        manifest.CLOCK_KINDS,
        manifest.DETERMINANT_SETS,
        manifest.SHIPS,
        manifest.DELTA_LAYOUTS,
    )
    assert {one for group in choices for one in group} <= words


def test_the_version_is_the_codes() -> None:
    assert page(PAGE).startswith(f"# The causal log bundle, version {manifest.VERSION}\n")
    assert f'"format": "{manifest.FORMAT}", "version": {manifest.VERSION}' in page(PAGE)


EVENTS = table(PAGE, "type", "fields of its own")
FIELDS_OF_ANY_EVENT = {"n", "t_us", "type", "at", "attempt", "re", "failure"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recovery that the engine recorded, as a folder."""
    out = tmp_path_factory.mktemp("recorded") / "bundle"
    record(RecordOptions(seed=11, events=2000, kills=("map-1.0@500",)), out, protocols=PROTOCOLS)
    return out


def test_what_the_engine_records_is_documented(recorded: Path) -> None:
    fields_of = _documented_fields()
    for line in (recorded / "events.ndjson").read_text("utf-8").splitlines():
        event = json.loads(line)
        assert set(event) - FIELDS_OF_ANY_EVENT <= fields_of[event["type"]], line


def _documented_fields() -> dict[str, set[str]]:
    """A row may say that its fields are those of the row above."""
    found: dict[str, set[str]] = {}
    before: set[str] = set()
    for name, words in zip(EVENTS.column("type"), (row[1] for row in EVENTS.rows), strict=True):
        before = before if words.endswith("the same") else code_words(words)
        found[name] = before
    return found


def test_the_members_that_the_engine_records_are_documented(recorded: Path) -> None:
    documented = [re.sub(r"<\w+>", "[^/]+", re.escape(one)) for one in table(PAGE, "member", "holds").column("member")]
    for path in recorded.rglob("*"):
        if path.is_file():
            name = str(path.relative_to(recorded))
            assert any(re.fullmatch(pattern, name) for pattern in documented), name
