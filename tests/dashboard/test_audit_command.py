"""`audit` on a bundle's path: what it says, writes and ends with; it needs no data folder."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import call_command

from tests.clonoscope.test_side_by_side import run
from tests.ingest.test_causal_tables import packed
from tests.replay.guarantees.observed.worlds import World

HOSTILE = "alert(document.cookie)"
SEED_GIVEN_TWICE = 0


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An epoch that was executed twice, and gave its outputs again."""
    return run(tmp_path_factory.mktemp("recorded"), (4.5, 19.9), (4.5, 24.9))


def audited(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any], str]:
    """The exit status, the object of the last line, and what was said beside it."""
    status = 0
    try:
        call_command("audit", *options, "--json")
    except SystemExit as ended:
        status = int(ended.code or 0)
    said = capsys.readouterr()
    *lines, last = said.out.splitlines()
    return status, json.loads(last), "\n".join(lines) + said.err


def test_outputs_that_went_out_twice_are_named_with_their_lines(twice: Path, capsys: Any, tmp_path: Path) -> None:
    status, told, said = audited(capsys, str(twice), "--expect", "delivery=exactly-once")
    assert (status, told["delivery"], told["unmet"]) == (3, "at least once", ["delivery"])
    assert told["verdict"] == "at least once" and "1 twice: 19.9 and 24.9" in told["sentence"]
    section = next(one for one in told["sections"] if one["name"] == "delivery")
    proofs = [one["evidence"] for one in section["claims"] if "19.9" in one["sentence"]]
    assert proofs and all(one.startswith("sink:p.0/") for proof in proofs for one in proof)
    assert told["sentence"] in said and "not met by delivery" in said


def test_a_weaker_expectation_is_met(twice: Path, capsys: Any) -> None:
    status, told, _ = audited(capsys, str(twice), "--expect", "delivery=at-least-once", "--only", "delivery")
    assert (status, told["good"], [one["name"] for one in told["sections"]]) == (0, True, ["delivery"])


def test_documents_are_written_beside_the_verdict(twice: Path, capsys: Any, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("junit", "html", "markdown")}
    options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
    assert audited(capsys, str(twice), "--expect", "exactly-once", *options)[0] == 3
    assert ElementTree.parse(files["junit"]).getroot().findall(".//testcase[@classname='delivery']/failure")
    assert "19.9 and 24.9" in files["html"].read_text() and "19\\.9" not in files["markdown"].read_text()
    assert "1 twice: 19.9 and 24.9" in files["markdown"].read_text()


def test_names_in_a_recording_are_words_in_every_document(capsys: Any, tmp_path: Path) -> None:
    """A job, a task and keys that are markup."""
    world = World.random(SEED_GIVEN_TWICE)
    for lines in world.lines.values():
        for line in lines:
            line["record"][0] = f"<script>{HOSTILE}</script>"
    bundle = world.write(tmp_path / "bundle")
    manifest = json.loads((bundle / "job.json").read_text())
    manifest["job"]["name"] = f"</title><script>{HOSTILE}</script>"
    (bundle / "job.json").write_text(json.dumps(manifest))
    files = {name: tmp_path / name for name in ("junit", "html", "markdown")}
    _, told, said = audited(
        capsys, str(bundle), *(part for name, path in files.items() for part in (f"--{name}", str(path)))
    )
    assert HOSTILE in told["sentence"] and HOSTILE in said
    for name in ("html", "markdown"):
        assert "<script" not in files[name].read_text() and "&lt;script&gt;" in files[name].read_text()
    assert "<script" not in files["junit"].read_text() and ElementTree.parse(files["junit"]).getroot() is not None


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["--expect", "twice"], 2, "no guarantee that can be expected"),
        (["--only", "guesses"], 2, "no section “guesses”"),
        (["--expect", "exactly-once", "--only", "delivery"], 2, "processing is expected to hold, and is left out"),
    ],
)
def test_what_cant_be_meant_so_is_wrong_usage(
    twice: Path, capsys: Any, options: list[str], status: int, says: str
) -> None:
    found, told, said = audited(capsys, str(twice), *options)
    assert found == status and says in told["error"] and says in said


def test_what_is_no_bundle_is_an_error(capsys: Any, tmp_path: Path) -> None:
    assert "neither a job's id nor a path" in audited(capsys, str(tmp_path / "gone.zip"))[1]["error"]
    (tmp_path / "text.zip").write_bytes(b"no bundle")
    assert audited(capsys, str(tmp_path / "text.zip"))[0] == 1


@pytest.mark.parametrize(
    ("file", "says"),
    [("", "is a folder. Name a file"), (".", "is a folder"), ("gone/report", "there is no folder")],
)
def test_a_document_that_can_be_written_nowhere_is_said_before_anything_is_asked(
    twice: Path, capsys: Any, tmp_path: Path, file: str, says: str
) -> None:
    path = str(tmp_path / file) if file else ""
    status, told, said = audited(capsys, str(twice), "--html", path)
    assert status == 2 and says in told["error"] and "--html" in said and "sections" not in told
    assert not [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")]


def test_an_empty_name_is_no_bundle(capsys: Any) -> None:
    """And not the folder in which the command is given."""
    status, told, _ = audited(capsys, "")
    assert status == 1 and "neither a job's id nor a path" in told["error"]


# --- the outside ---


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """What a sink holds of the two records that the job took twice: the first one once, the second twice."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as data:
        data.execute("CREATE TABLE orders (number INTEGER, price REAL)")
        data.executemany("INSERT INTO orders VALUES (?, ?)", [(0, 4.5), (1, 19.9), (1, 24.9)])
        data.commit()
    return tmp_path / "shop.db"


def looked_at(shop: Path) -> list[str]:
    return ["--outside", f"sqlite:{shop}?table=orders", "--key", "number", "--source-key", "offset"]


def test_what_the_outside_holds_is_the_verdict_on_delivery(twice: Path, shop: Path, capsys: Any) -> None:
    only = ["--only", "delivery", "--expect", "delivery=exactly-once"]
    status, told, said = audited(capsys, str(twice), *looked_at(shop), *only)
    assert (status, told["delivery"], [one["name"] for one in told["sections"]]) == (
        3,
        "at least once",
        ["delivery", "outside"],
    )
    (claim,) = told["sections"][1]["claims"]
    assert claim["sentence"].startswith("1 twice: price 19.9 and 24.9; the job says that it was given by attempt 0")
    assert {"outside:orders#2", "outside:orders#3"} <= set(claim["evidence"])
    assert "1 twice: price 19.9 and 24.9" in told["sentence"] and told["sentence"] in said
    with closing(sqlite3.connect(shop)) as data:
        data.execute("DELETE FROM orders WHERE price = 24.9")
        data.commit()
    status, told, _ = audited(capsys, str(twice), *looked_at(shop), *only)
    # The job gave it twice, and its sink has it once.
    assert (status, told["delivery"], told["unmet"]) == (0, "exactly once", [])
    assert [one["verdict"] for one in told["sections"]] == ["at least once", "exactly once"]


@pytest.mark.parametrize("expect", [[], ["--expect", "delivery=exactly-once"]])
def test_an_outside_that_cant_be_read_to_its_end_is_not_passed_over(
    tmp_path: Path, capsys: Any, expect: list[str]
) -> None:
    """Whatever the job itself says: who asks for the outside does not take its word."""
    bundle, lines = run(tmp_path, (4.5, 19.9)), tmp_path / "orders.jsonl"
    options = [str(bundle), "--only", "delivery", *expect]
    asked = [*options, "--outside", f"jsonl:{lines}", "--key", "number", "--source-key", "offset"]
    assert audited(capsys, *options)[0] == 0
    lines.write_text('{"number": 0}\n{"number": 1}\n')
    assert audited(capsys, *asked)[0] == 0
    lines.write_text('{"number": 0}\n{"number": 1')
    status, told, said = audited(capsys, *asked)
    assert (status, told["delivery"], told["good"]) == (3, "undecided", False)
    assert "can't be told from what was read outside" in said and "can't be read to its end" in said
    lines.unlink()
    assert audited(capsys, *asked)[0] == 1


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (["--key", "order"], 2, "need --outside"),
        (["--outside", "ftp:x"], 2, "“ftp” is nothing that can be read"),
        (["--outside", "sqlite:{shop}?table=gone"], 1, "there is no table gone"),
        (["--outside", "sqlite:{shop}?table=orders", "--per-record", "many"], 2, "rows that a record may have"),
        (["--outside", "sqlite:{shop}?table=orders", "--source", "q"], 2, "no vertex q. Name it with --source: p"),
    ],
)
def test_an_outside_that_cant_be_looked_at_so_is_said(
    twice: Path, shop: Path, capsys: Any, options: list[str], status: int, says: str
) -> None:
    found, told, said = audited(capsys, str(twice), *(one.format(shop=shop) for one in options))
    assert found == status and says in told["error"] and says in said


def test_a_set_of_failures_and_a_time_to_recover_in_are_asked_besides(tmp_path: Path, capsys: Any) -> None:
    bundle = packed(1, tmp_path).with_name("bundle")
    status, told, said = audited(
        capsys, str(bundle), "--only", "recovery-time", "--failing", "map-2.1@380", "--target-ms", "50"
    )
    sections = {one["name"]: one for one in told["sections"]}
    assert list(sections) == ["recovery-time", "failing"]
    assert sections["failing"]["verdict"] == "orphaned" and "sink.1" in said and status == 3
    assert "target" in json.dumps(sections["recovery-time"])
    assert audited(capsys, str(bundle), "--failing", "map-2.1")[0] == 2
    assert audited(capsys, str(bundle), "--target-ms", "-1")[0] == 2
