"""The example of the tour: its driver is killed when the shop has the orders, before Spark commits the batch."""

import json
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from docs.examples.shop import JOB, KILLED_AT, ORDERS, night
from replay.bundle.reader import open_bundle
from replay.guarantees.observed.delivery import delivery
from tests.clonoscope.adapted import dumped, gaps, shown, side_by_side
from tests.clonoscope.engines import ROOT
from tests.clonoscope.replayed_here import replayed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
Told = tuple[Path, list[dict[str, Any]]]
LINE = next(
    f"orders.py:{number} `{line.strip()}`"
    for number, line in enumerate(JOB.read_text().splitlines(), 1)
    if "clonoscope.external(ask" in line
)


def tour() -> list[str]:
    """What the README tells people to type, of this example."""
    lines = (line.strip() for line in (ROOT / "README.md").read_text("utf-8").splitlines())
    return [line for line in lines if line.startswith(".venv/bin/python ") and "/tmp/night" in line]


def typed(command: str, folder: Path) -> str:
    """What comes of a line of the tour; an audit says by its status that a verdict is not good."""
    line = command.replace("/tmp/night", str(folder)).replace(".venv/bin/python", sys.executable)
    ended = subprocess.run(shlex.split(line), cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == (3 if " audit " in command else 0), f"{line}\n{ended.stdout}{ended.stderr}"[-6000:]
    return ended.stdout


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A night, and what the shop holds in the morning."""
    folder = tmp_path_factory.mktemp("orders") / "night"
    first, second, *_ = tour()
    assert "The shop holds 16 orders of 12 numbers; 1207 went out for 19.9 and 24.9." in typed(first, folder)
    typed(second, folder)
    with closing(sqlite3.connect(folder / "shop.db")) as data:
        data.row_factory = sqlite3.Row
        return folder, [dict(row) for row in data.execute('SELECT "order", sku, price FROM orders')]


def test_the_tour_can_be_typed(told: Told) -> None:
    folder, _ = told
    compared, audited, replayed_here = (typed(line, folder) for line in tour()[2:])
    assert "the call ask gave 19.9 at 4 records of epoch 1, by " + LINE in compared and "gave 24.9" in compared
    assert audited.count("1207 twice: price 19.9 and 24.9") >= 2 and "Outside: At least once" in audited
    assert "identical: " in replayed_here and "8 results, of 8 records and 8 answers" in replayed_here


def test_the_shop_has_the_orders_of_the_batch_twice(told: Told) -> None:
    folder, orders = told
    again = [(one["order"], one["price"]) for one in orders if one["order"] in ORDERS[KILLED_AT]]
    assert [price for order, price in again if order == 1207] == [19.9, 24.9] and len(again) == 8
    assert len(orders) == 16 and gaps(folder / "recordings" / "orders") == []


def test_the_recording_shows_order_1207_twice_with_two_prices_and_names_the_line(
    told: Told,
) -> None:
    folder, _ = told
    with open_bundle(folder / "orders.zip") as bundle:
        looked_up, written = (side_by_side(bundle, f"orders-{name}.0") for name in ("price", "write"))
    (only,) = looked_up["differences"]
    assert only["stream"] == "determinant" and (only["first"]["line"], only["second"]["line"]) == (LINE, LINE)
    assert [only[side]["said"] for side in ("first", "second")] == [
        "the call ask gave 19.9",
        "the call ask gave 24.9",
    ]
    assert LINE in looked_up["sentence"]
    differing = {one["stream"]: one for one in written["differences"]}
    assert set(differing) == {"input", "output"} and differing["output"]["number"] == 3
    for side, price in (("first", 19.9), ("second", 24.9)):
        record = differing["output"][side]
        assert "1207" in record["said"] and str(price) in record["said"] and record["record_count"] == 4
    assert "output" in written["compared"] and "differ in output too" in written["sentence"]


def test_the_recording_says_at_least_once_with_order_1207_and_both_prices_and_the_line(
    told: Told,
) -> None:
    folder, held = told
    with open_bundle(folder / "orders.zip") as bundle:
        verdict = delivery(bundle)
    assert verdict is not None and verdict["verdict"] == "at least once", verdict
    assert "orders-write.0 gave the outputs of 4 source records to the outside more than once" in verdict["sentence"]
    # What the shop holds says the same.
    orders = [one["order"] for one in held]
    assert verdict["outputs"] == len(orders) and verdict["count"] == sum(orders.count(one) > 1 for one in set(orders))
    first, *others = verdict["twice"]
    assert first["said"] == "1207 twice: price 19.9 and 24.9" and (first["epoch"], first["attempts"]) == (1, [0, 1])
    assert {one["said"] for one in others} == {f"{order} twice, the same" for order in (1204, 1205, 1206)}
    (choice,) = verdict["choices"]
    assert (choice["task"], choice["line"]) == ("orders-price.0", LINE)
    assert choice["said"] == ["the call ask gave 19.9", "the call ask gave 24.9"]


def audited(bundle: Path, orders: Iterable[dict[str, Any]], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """With what the shop holds, from a database of its own; the outside's section, and the exit status."""
    path = bundle.with_suffix(".db")
    with closing(sqlite3.connect(path)) as data:
        data.execute('CREATE TABLE orders ("order" INTEGER, sku TEXT, price REAL)')
        data.executemany("INSERT INTO orders VALUES (:order, :sku, :price)", orders)
        data.commit()
    keys = ["--key", "order", "--source-key", "order", "--only", "delivery", "--expect", "delivery=exactly-once"]
    status = 0
    try:
        call_command("audit", str(bundle), "--outside", f"sqlite:{path}?table=orders", *keys, "--json")
    except SystemExit as ended:
        status = int(ended.code or 0)
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    (section,) = [one for one in told["sections"] if one["name"] == "outside"]
    return section | {"status": status, "delivery": told["delivery"]}


def test_the_shop_itself_says_at_least_once_order_1207_twice(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    folder, held = told
    found = audited(folder / "orders.zip", held, capsys)
    assert (found["status"], found["verdict"], found["delivery"]) == (3, "at least once", "at least once"), found
    assert found["numbers"] | {"twice": 4, "differing": 1, "lost": 0, "made_up": 0, "rows": 16} == found["numbers"]
    first, *others = found["claims"]
    given = "the job says that it was given by attempt 0 of orders-write.0, attempt 1 of orders-write.0, in 2 lines."
    assert first["sentence"] == f"1207 twice: price 19.9 and 24.9; {given}" and found["lacks"] == []
    assert [one["sentence"].split(",")[0] for one in others] == ["1204 twice", "1205 twice", "1206 twice"]
    assert {one.partition(":")[0] for one in first["evidence"]} == {"outside", "source", "sink"}


def test_attempts_are_batches_that_ran_again(told: Told, tmp_path: Path) -> None:
    folder, _ = told
    with open_bundle(folder / "orders.zip") as bundle:
        for task in ("orders-price.0", "orders-write.0"):
            logs = [list(bundle.epochs(task, attempt, "main")) for attempt in bundle.attempts(task)]
            assert logs == [[0, 1], [1, 2]], task
        failed = {one["task"]: one["cause"] for one in bundle.events() if one["type"] == "task-failed"}
    assert failed["orders-write.0"] == "its process ended without a word"
    assert failed["orders-price.0"].startswith("Spark executed batch 1 again: run ")
    seen = shown(folder / "orders.zip", tmp_path)
    assert seen.attempts == {"orders-price.0": 2, "orders-write.0": 2}
    twice = [row for row in seen.rows["sinks"] if row["key"] == "1207"]
    prices = [(row["attempt"], row["epoch"], json.loads(row["value"])["price"]) for row in twice]
    assert prices == [(0, 1, 19.9), (1, 1, 24.9)]


@pytest.mark.parametrize("attempt", [0, 1])
def test_prices_are_looked_up_again_without_spark_and_without_a_shop(told: Told, attempt: int, tmp_path: Path) -> None:
    folder, _ = told
    code = JOB.read_text()
    (tmp_path / "orders.py").write_text(code)
    called = ("--attempt", attempt, "--", folder, "http://no.shop")
    found = replayed(tmp_path, folder / "orders.zip", "orders-price.0", *called)
    assert found["verdict"] == "identical" and "8 results, of 8 records and 8 answers" in found["sentence"], found
    (tmp_path / "orders.py").write_text(code.replace("return found", "return found * 2"))
    found = replayed(tmp_path, folder / "orders.zip", "orders-price.0", *called)
    assert found["verdict"] == "diverged" and found["detail"]["line"]["text"] == "return found * 2", found


def test_with_precise_retries_and_a_sink_that_knows_orders_the_same_kill_ends_exactly_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = night(tmp_path, "replay")
    # The batch was written twice, and every order is what it was.
    assert len(shop.orders) == 16
    assert all(shop.by_number[order["order"]] == order for order in shop.orders)
    assert sorted(shop.by_number) == [order for orders in ORDERS.values() for order in orders]
    assert shop.by_number[1207]["price"] == 19.9
    recording = tmp_path / "recordings" / "orders"
    with dumped(recording, tmp_path / "orders.zip") as bundle:
        assert gaps(recording) == []
        for task in ("orders-price.0", "orders-write.0"):
            report = side_by_side(bundle, task)
            assert report["only_longer"] == "second", report["sentence"]
        verdict = delivery(bundle)
        assert verdict is not None and verdict["verdict"] == "exactly once", verdict
        assert (verdict["outputs"], verdict["once_by_id"], verdict["twice"]) == (16, 4, [])
        (ended,) = [
            event for event in bundle.events() if event["type"] == "retry-ended" and event["task"] == "orders-price.0"
        ]
        assert (ended["epoch"], ended["answers"], ended["how"]) == (1, 4, "whole")
    found = audited(tmp_path / "orders.zip", shop.by_number.values(), capsys)
    assert (found["status"], found["verdict"], found["numbers"]["records"]) == (0, "exactly once", 12), found
