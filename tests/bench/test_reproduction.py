"""The experiments of docs/reproduction.md: small ones have the page's shapes, and page and bench name the same ones."""

import re
from dataclasses import replace

from bench.reproduction.__main__ import FIGURES
from bench.reproduction.bandwidth import bandwidth
from bench.reproduction.failures import SYSTEMS, recovery_of
from bench.reproduction.intervals import mean_of
from bench.reproduction.services import throughput
from tests.docs.pages import code_words, page

SMALL = {"parallelism": 2, "depth": 3, "interval_ms": 2000, "state_mib": 1.0, "flush_ms": 50}
KILLS = [[("map-1.0", 7300.0)]]


def test_clonos_recovers_sooner_than_the_whole_graph_does_and_repeats_nothing() -> None:
    local = recovery_of(replace(SYSTEMS["clonos"], lasts_s=16, **SMALL), 1, KILLS)
    whole = recovery_of(replace(SYSTEMS["coordinated"], lasts_s=32, **SMALL), 1, KILLS)
    assert 0 < local["recovery_s"] < whole["recovery_s"]
    assert local["duplicates"] == 0 < whole["duplicates"]


def test_while_one_of_two_tasks_recovers_half_of_the_throughput_is_left_and_of_the_whole_graph_none() -> None:
    found = {name: recovery_of(replace(one, lasts_s=16, **SMALL), 1, KILLS) for name, one in SYSTEMS.items()}
    assert 0.4 < found["clonos"]["throughput_meanwhile"] < 0.6
    assert found["coordinated"]["throughput_meanwhile"] < 0.1


def test_without_determinants_a_recovery_repeats_what_it_gave() -> None:
    setting = replace(SYSTEMS["clonos"], sharing_depth=0, lasts_s=16, **SMALL)
    assert recovery_of(setting, 1, KILLS)["duplicates"] > 0


def test_what_a_sink_is_sent_grows_with_the_sharing_depth() -> None:
    none, near, full = (bandwidth("event", 0, depth, 1, parallelism=2)[0] for depth in (0, 1, None))
    assert none == 0 < near < full


def test_a_reading_of_the_clock_for_each_record_costs_throughput_and_a_periodic_one_hardly_any() -> None:
    without, each, periodic = (throughput(one, 1) for one in ({}, {"time": "call"}, {"time": "periodic:1"}))
    rate, size = "million_records_per_s", "determinants_mib_per_s"
    assert each[rate] < 0.85 * without[rate] < periodic[rate]
    assert without[size] == 0 < periodic[size] < each[size] / 10


def test_a_mean_says_what_it_leaves_out() -> None:
    assert mean_of([1.0, None, 3.0]) == {"mean": 2.0, "plus_minus": 12.71, "runs": 3, "missing": 1}
    assert mean_of([None]) == {"mean": None, "plus_minus": None, "runs": 1, "missing": 1}


def test_the_page_tells_of_every_experiment_and_of_no_other() -> None:
    named = {one for one in code_words(page("reproduction.md")) if re.match(r"(figure|equation|throughput)-", one)}
    assert named == set(FIGURES)
