"""docs/jobs.md names every job as the catalogue does, and options that exist."""

from dataclasses import fields

import pytest

from replay.jobs.catalogue import JOBS
from replay.jobs.option_fields import flag_of, option_of
from replay.jobs.options import RecordOptions
from replay.jobs.registry import OPERATORS
from tests.docs.pages import CODE_WORD, bare, page, tables

FLAGS = {flag_of(one): one.name for one in fields(RecordOptions) if option_of(one)}


def test_the_page_says_of_every_job_what_the_catalogue_says():
    (table,) = [one for one in tables("jobs.md") if one.header[0] == "job"]
    told = {
        bare(job): (what, int(depth), tuple(bare(one) for one in times.split(",")))
        for job, what, depth, times in table.rows
    }
    assert told == {one.name: (one.description, one.depth, one.times) for one in JOBS.values()}


def test_the_page_names_only_options_that_exist():
    named = {word.split()[0] for word in CODE_WORD.findall(page("jobs.md")) if word.startswith("--")}
    assert named <= set(FLAGS)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_has_one_sink_and_sources_named_so_and_operators_that_can_be_had_by_name(name):
    vertices, edges = JOBS[name].shape(RecordOptions(job=name))
    kinds = {one.id: one.kind for one in vertices}
    assert [one for one, kind in kinds.items() if kind == "sink"] == ["sink"]
    assert all((kind == "source") == one.startswith("source") for one, kind in kinds.items())
    assert {one.operator for one in vertices} <= set(OPERATORS)
    assert {end for edge in edges for end in (edge.source, edge.target)} == set(kinds)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_is_as_deep_as_it_says_and_deeper_where_asked(name):
    for asked in (JOBS[name].depth, 7):
        _, edges = JOBS[name].shape(RecordOptions(job=name, depth=asked))
        into = {edge.target: edge.source for edge in edges}
        at, length = "sink", 1
        while at in into:
            at, length = into[at], length + 1
        assert length == asked
