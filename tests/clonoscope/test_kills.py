"""Random jobs, killed at random moments: what they were given is read back whole, gaps where they were."""

import copy

import pytest

from bench.recorder_kills import Told, faults_of, kill_once, run_and_kill

pytestmark = pytest.mark.slow

SEEDS_AT_ONCE = 12
ANSWERS = ("time", "time_ns", "random", "uuid4")


@pytest.mark.parametrize("begin", range(0, 80, SEEDS_AT_ONCE))
def test_a_killed_job_is_read_back_whole_and_answers_again(begin: int) -> None:
    for seed in range(begin, begin + SEEDS_AT_ONCE):
        _, faults, _ = kill_once(seed)
        assert not faults, f"seed {seed}: {faults[:3]}"


def test_the_check_catches_whatever_is_wrong(tmp_path) -> None:
    told = run_and_kill(tmp_path, seed=3)
    folder = tmp_path / "job"
    (key,) = list(told.lines)[:1]
    assert list(faults_of(folder, told)) == []
    # What was dropped, and records at the end, may have been or not: of those nothing can be wrong.
    kept = [number for number, (kind, _, recorded) in enumerate(told.lines[key]) if recorded and kind in ANSWERS]
    for number in (kept[0], kept[len(kept) // 2]):
        for change in ("value", "left out", "twice", "dropped"):
            assert list(faults_of(folder, _changed(told, key, number, change))), (number, change)


def _changed(told: Told, key: tuple[str, int], number: int, change: str) -> Told:
    changed = copy.deepcopy(told)
    lines = changed.lines[key]
    match change:
        case "value":
            lines[number][1] = "another"
        case "left out":
            del lines[number]
        case "twice":
            lines.insert(number, lines[number])
        case "dropped":
            lines[number][2] = False
    return changed
