"""The recorder's bench measures what it says, and what does not depend on the machine keeps its goal."""

from pathlib import Path

from bench.recorder import questions, sample_job


def test_a_record_costs_less_than_ten_bytes(tmp_path: Path) -> None:
    found = sample_job(tmp_path, 5, records=4_000, rounds=2)
    assert 8 <= found["bytes_a_record"] <= 10 and found["faults"] == []
    assert found["plain_us_a_record"] > 0 and found["throughput_left"] > 0


def test_questions_are_asked_beside_what_they_stand_for(tmp_path: Path) -> None:
    found = questions(tmp_path, calls=500, repeats=2)
    assert set(found) == {"time.time", "time", "time.time_ns", "time_ns", "random", "uuid4", "take"}
    assert min(found.values()) > 0
