"""Numbers of sections as tables and strips: all of them, with units, and what is not shown counted."""

from typing import Any

from replay.guarantees.reporting.heat import strips
from replay.guarantees.reporting.tables import tables
from replay.guarantees.reporting.words import numbers


def section(**given: Any) -> dict[str, Any]:
    return {"name": "recoverability", "title": "Recoverability", "numbers": given}


def test_rows_and_rows_by_name_have_a_table_each() -> None:
    told = section(
        recoveries=[{"task": "map.0", "actual_us": 16_400, "parts": {"start": 1, "load": None}}, {"task": "map.1"}],
        channels={"a>b": {"cut": 1_234, "lost": 0}},
        by_failures={"task": [{"f": 1, "holds": False}], "host": []},
        smallest={"task": None, "host": 2},
        depths=[{"depth": 1, "smallest": {"task": [1, 1], "host": [1, None]}}],
        nothing=[],
        plain=7,
    )
    found = {one.title: one for one in tables(told, 10)}
    assert list(found) == ["recoveries", "channels", "by failures", "smallest", "depths"]
    assert found["recoveries"].columns == ("task", "actual", "parts: start")
    assert found["recoveries"].rows == (("map.0", "16.4 ms", "1"), ("map.1", "–", "–"))
    assert found["channels"].rows == (("a>b", "1,234", "0"),)
    assert found["by failures"].rows == (("task", "1", "no"),)
    assert found["smallest"].rows == (("task", "–"), ("host", "2"))
    assert found["depths"].rows == (("1", "1", "1 to –"),)


def test_rows_beyond_the_most_are_counted() -> None:
    (found,) = tables(section(rows=[{"n": n} for n in range(12)]), 5)
    assert (len(found.rows), found.more) == (5, 7)


def test_single_numbers_have_their_unit_behind_them() -> None:
    told = section(
        end_us=5_535_683,
        most_bytes=2_048,
        sent_bytes=1_024,
        tasks=6,
        ratio=1.45831,
        listened=True,
        counted_here=False,
        job="exactly once",
        lost_left_out=0,
    )
    assert dict(numbers(told)) == {
        "end": "5,535.7 ms",
        "logs looked at up to": "2,048 bytes",
        "sent": "1,024 bytes",
        "tasks": "6",
        "ratio": "1.458",
        "operators listened to": "yes",
        "counted here": "no",
    }


def test_a_strip_has_a_stretch_for_each_run_of_one_size_and_covers_the_whole_job() -> None:
    sizes = [None, None, 3, 3, 1, 0, 9]
    told = section(heat={"ends_us": [10, 20, 30, 40, 50, 60, 100], "task": sizes})
    (strip,) = strips(told)
    assert [one.size for one in strip.stretches] == [None, 3, 1, 0, 9]
    assert [one.level for one in strip.stretches] == ["any", "3", "1", "0", "4"]
    edges = [(one.from_us, one.to_us) for one in strip.stretches]
    assert edges == [(0, 20), (20, 40), (40, 50), (50, 60), (60, 100)]
    assert abs(sum(one.width for one in strip.stretches) - 100) < 1e-9
    assert "0.000 s to 0.000 s: no set of failures" in strip.stretches[0].words


def test_without_a_time_there_is_no_strip() -> None:
    assert strips(section()) == strips(section(heat={"ends_us": [0], "task": [1]})) == []
