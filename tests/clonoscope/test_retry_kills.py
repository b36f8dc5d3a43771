"""Random jobs, killed at random moments and begun again: an idempotent sink ends exactly once."""

import pytest

from bench.retry_kills import Seen, faults_of, kill_once, run_with_kills

pytestmark = pytest.mark.slow

SEEDS_AT_ONCE = 20


@pytest.mark.parametrize("begin", range(0, 40, SEEDS_AT_ONCE))
def test_a_killed_job_gives_the_same_once_more(begin: int) -> None:
    duplicates = 0
    for seed in range(begin, begin + SEEDS_AT_ONCE):
        seen, faults, _ = kill_once(seed)
        assert not faults, f"seed {seed}: {faults[:3]}"
        duplicates += seen.duplicates
    assert duplicates > 0  # else nothing was executed once more


def test_without_retries_it_gives_other_values(tmp_path) -> None:
    seen = Seen()
    for seed in range(5):
        one = run_with_kills(tmp_path_of(tmp_path, seed), seed, retry=False)
        seen.writes += [(f"{seed} {id_}", value) for id_, value in one.writes]
    assert seen.duplicates and len(seen.torn) > seen.duplicates / 10


def tmp_path_of(folder, seed):
    (folder / str(seed)).mkdir()
    return folder / str(seed)


def test_the_check_catches_a_value_that_differs(tmp_path) -> None:
    seen = run_with_kills(tmp_path, 5, retry=True)
    assert list(faults_of(tmp_path, seen)) == [] and seen.duplicates
    id_, _ = seen.writes[0]
    seen.writes.append((id_, "another"))
    assert list(faults_of(tmp_path, seen)) == [f"{id_} was written with values that differ"]
    without = run_with_kills(tmp_path_of(tmp_path, 6), 5, retry=False)
    assert any("entry" in one for one in faults_of(tmp_path / "6", without))
