"""What holds for every job that takes orders from partitions, commits now and then, was killed, and recovered."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from replay.bundle.reader import Bundle
from replay.guarantees.observed.delivery import delivery
from replay.guarantees.outside import How, outside
from replay.guarantees.outside.addresses import open_address
from replay.guarantees.outside.readers import READERS
from tests.clonoscope.adapted import answers, dumped, gaps, place_of, shown, side_by_side
from tests.clonoscope.engines import kill_after, run_to_the_end, start, start_paced
from tests.clonoscope.recorded import takes_in

KILLED_AT = 27
COMMIT_EVERY = 10


@dataclass(frozen=True)
class Recovered:
    """What a job said up to its kill, and what it said when it ran once more: partition, offset, time, rate."""

    recording: Path
    before: list[list[Any]]
    after: list[list[Any]]

    @classmethod
    def run(cls, recording: Path, job: str, *arguments: Any) -> "Recovered":
        killed = start_paced(job, *arguments)
        before = kill_after(killed, KILLED_AT)
        return cls(recording, before, run_to_the_end(start(job, *arguments)))

    def said(self, which: list[list[Any]], partition: int) -> list[float]:
        return [value for one, _, *values in which if one == partition for value in values]

    def offsets(self, which: list[list[Any]], partition: int) -> list[int]:
        return [offset for one, offset, *_ in which if one == partition]

    def commits(self, partition: int) -> list[int]:
        """The partition's offset at each commit that the job had come to by what it said; 0 is the first."""
        batches = range(0, len(self.before) + 1, COMMIT_EVERY)
        return sorted({sum(one == partition for one, *_ in self.before[:batch]) for batch in batches})

    # --- what holds ---

    def check_delivery(self, topic: Path, key: str, out: Path, outputs: int = 1) -> None:
        """What the broker holds is the truth. The job's own lines say as much as was seen to leave, and no more."""
        rows = Counter(place for place, _ in self.places_in(topic))
        assert set(rows) == {(n % 2, n // 2) for n in range(len(rows))}, "no order is without its price"
        twice = sum(count > 1 for count in rows.values())
        with dumped(self.recording, out) as bundle:
            how = How.parse(key=key, source_key="partition,offset")
            found = outside(bundle, open_address(f"kafka-dump:{topic}", READERS), how)
            told = delivery(bundle)
        assert found.verdict == ("at least once" if twice else "exactly once"), found
        assert (found.numbers["twice"], found.numbers["lost"], found.numbers["made_up"]) == (twice, 0, 0)
        # The kill came behind a commit: of what was handed over since, nobody saw the client send it.
        assert told is not None and told["verdict"] == "undecided", told
        assert any("over to be sent" in why for why in told["missing"]), told["missing"]
        handed = sum(int(why.split(" handed ")[1].split()[0]) for why in told["missing"] if " handed " in why)
        assert twice <= handed <= (KILLED_AT % COMMIT_EVERY + 1) * outputs

    def places_in(self, topic: Path) -> list[tuple[tuple[int, int], Any]]:
        """Of which order each message is, by the rule that made the orders."""
        values = [json.loads(json.loads(line)["payload"]) for line in topic.read_text().splitlines()]
        return [((one["order"] % 2, one["order"] // 2), one) for one in values]

    def check_answers(self, partition: int) -> None:
        """All that a killed job was given is there, and all that its recovery was."""
        assert gaps(self.recording) == []
        task, said = f"orders.{partition}", self.said(self.before, partition)
        if said:
            found = answers(self.recording, task, 0)
            # Between an answer and the job's word about it there is a moment.
            assert [value for *_, value in found][: len(said)] == said and len(found) - len(said) <= 2
            assert {epoch for epoch, *_ in found} <= {*self.commits(partition)}
        again = [value for *_, value in answers(self.recording, task, 1 if said else 0)]
        assert again == self.said(self.after, partition) != []

    def check_second_attempt(self, partition: int, out: Path) -> None:
        """It begins where the broker had the last commit, and takes all from there."""
        task, offsets = f"orders.{partition}", self.offsets(self.after, partition)
        with dumped(self.recording, out) as bundle:
            assert sorted(one.id for one in bundle.manifest.tasks) == ["orders.0", "orders.1"]
            *_, last = bundle.attempts(task)
            epochs = bundle.epochs(task, last, "main")
            assert min(epochs) == offsets[0]
            taken = [one for epoch in epochs for one in takes_in(bundle, task, last, epoch)]
            found = [at for one in taken for at in range(one.first_offset, one.first_offset + one.records)]
            assert sorted(found) == offsets
            started = [one for one in bundle.events() if (one["type"], one.get("task")) == ("attempt-started", task)]
            assert [one["checkpoint"] for one in started] == ([0, offsets[0]] if last else [0])
            commits = self.commits(partition)
            if last:
                # Of the last commit, only the broker knows whether it came about.
                known = [at for at in acknowledged(bundle, task, 0) if at < commits[-1]]
                assert offsets[0] in commits and commits[1:-1] == known

    def check_page(self, job: str, line: str, folder: Path) -> None:
        """The job's page has partitions as tasks; side by side, its attempts name the first line that differs."""
        partition = self.before[-1][0]
        task, first = f"orders.{partition}", self.offsets(self.after, partition)[0]
        with dumped(self.recording, folder / "out.zip") as bundle:
            report = side_by_side(bundle, task)
        page = shown(folder / "out.zip", folder)
        killed = {f"orders.{one}" for one, *_ in self.before}
        assert page.attempts == {one: 2 if one in killed else 1 for one in ("orders.0", "orders.1")}
        assert {(failure.task, failure.attempt) for failure in page.failures} == {(one, 0) for one in killed}
        (lane,) = [one for one in page.lanes if one["task"] == task]
        spans = [(one["state"], one["attempt"]) for one in lane["spans"]]
        assert spans == [("Running", 0), ("Failed", 0), ("Running", 1)]
        refs = {(row["task"], row["attempt"], row["ref_offset"]) for row in page.rows["sources"]}
        assert {(task, 0, first), (task, 1, first)} <= refs
        difference = report["differences"][0]
        assert report["since_epoch"] == first and difference["number"] == 1
        assert difference["first"]["line"] == difference["second"]["line"] == place_of(job, line)
        assert difference["first"]["record_count"] == 1


def acknowledged(bundle: Bundle, task: str, attempt: int) -> list[int]:
    of_attempt = [one for one in bundle.events() if (one.get("task"), one.get("attempt")) == (task, attempt)]
    return [one["checkpoint"] for one in of_attempt if one["type"] == "checkpoint-acknowledged"]
