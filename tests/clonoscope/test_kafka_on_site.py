"""A job's function that takes messages and produces others, replayed as it is, with what a real consumer recorded."""

import os
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from clonoscope.publishing import publish
from replay.bundle.reader import open_bundle
from tests.clonoscope.engines import JOBS, ROOT, broker, engines_python
from tests.clonoscope.of_topics import Recovered

ORDERS = 120
READER = """
    import os
    from confluent_kafka import Consumer, TopicPartition
    from clonoscope.onsite.records import Fetched

    consumer = Consumer({"bootstrap.servers": os.environ["BROKER"], "group.id": "again", "enable.auto.commit": False,
                         "fetch.wait.max.ms": 10})

    def read(topic, partition, offset):
        consumer.assign([TopicPartition(topic, partition, offset)])
        message = consumer.poll(30)
        assert message.offset() == offset, message
        return Fetched([message.key().decode(), message.timestamp()[1], message.value().decode()], message.value())
"""


@pytest.mark.parametrize("changed", [False, True], ids=["the same code", "other code"])
def test_a_function_of_messages_is_replayed_as_it_is(tmp_path: Path, changed: bool) -> None:
    with broker(ORDERS) as running:
        recovered = Recovered.run(tmp_path / "prices", "kafka_prices.py", running.address, tmp_path)
        bundle = publish(recovered.recording, tmp_path / "prices.zip")
        (tmp_path / "reading.py").write_text(textwrap.dedent(READER))
        code = (JOBS / "kafka_prices.py").read_text()
        dearer = code.replace('found * order["count"]', 'found * order["count"] + 1')
        assert dearer != code
        (tmp_path / "kafka_prices.py").write_text(dearer if changed else code)
        said = {
            (task, attempt): replayed(tmp_path, running.address, bundle, task, attempt)
            for task, attempt in attempts_of(bundle)
        }
    # A kill right behind a commit begins no other attempt.
    assert {task for task, _ in said} == {"orders.0", "orders.1"}
    for done in said.values():
        assert done.returncode == (3 if changed else 0), done.stdout + done.stderr
        if changed:
            assert "is another than the recording holds" in done.stdout and "producer.produce(" in done.stdout
        else:
            assert "identical" in done.stdout and "has no hash of the records" in done.stdout


def attempts_of(bundle: Path) -> list[tuple[str, int]]:
    with open_bundle(bundle) as opened:
        return [(task, attempt) for task in ("orders.0", "orders.1") for attempt in opened.attempts(task)]


def replayed(folder: Path, address: str, bundle: Path, task: str, attempt: int) -> Any:
    arguments = [
        "--app",
        "kafka_prices:process",
        "--records",
        "reading:read",
        "--task",
        task,
        "--attempt",
        str(attempt),
    ]
    return subprocess.run(
        [engines_python(), "-m", "clonoscope", "replay", str(bundle), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "BROKER": address},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
