"""Results of the jobs that `record` knows: what the outside counts, against what follows from the source records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from replay.simulation.checks import queries
from replay.simulation.checks.outside import counted
from replay.simulation.checks.queries import Result
from replay.simulation.recording import Recording


def _outputs(recording: Recording) -> list[Result]:
    """Key, timestamp, value and names of all that counts."""
    return [_result(line) for _, line in counted(recording)]


def _result(line: dict[str, Any]) -> Result:
    key, at_ms, value = line["record"]
    return Result(key, at_ms, value, tuple(sorted((task, offset) for task, offset in line["source"])))


def results_follow_from_the_sources(recording: Recording) -> Iterator[str]:
    """Where nothing that was chosen shows: each result as it must be, exactly once."""
    job, reads = recording.manifest.job.name, recording.source_records
    if job not in queries.EXPECTED or (job not in queries.WHENEVER and _time(recording) != "event"):
        return
    timed = job not in queries.WHENEVER
    got = Counter(one.content(timed) for one in _outputs(recording))
    due = Counter(one.content(timed) for one in queries.EXPECTED[job](recording, reads))
    if got != due:
        yield f"too often came out {_some(got - due)}, and never {_some(due - got)}"


def _some(found: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(found.items())[:3]


def _time(recording: Recording) -> str:
    return next(str(one.options.get("time")) for one in recording.manifest.vertices if one.kind == "source")


def _named(recording: Recording) -> Counter[tuple[str, int]]:
    return Counter(name for one in _outputs(recording) for name in one.names)


def each_record_is_named_as_often_as_it_must(recording: Recording) -> Iterator[str]:
    """Where chance, time or order decide what comes out: of each source record as much as of any other."""
    job = recording.manifest.job.name
    if job not in _NAMED:
        return
    named, due = _named(recording), Counter(dict(_NAMED[job](recording)))
    if named != due:
        yield f"too often are named {_some(_words(named - due))}, and too seldom {_some(_words(due - named))}"


def _words(found: Mapping[tuple[str, int], int]) -> dict[str, int]:
    return {str(name): count for name, count in found.items()}


def _once(recording: Recording) -> Iterator[tuple[tuple[str, int], int]]:
    return ((name, 1) for name in recording.source_records)


def _every_bid_once(recording: Recording) -> Iterator[tuple[tuple[str, int], int]]:
    return ((name, 1) for name, _, _ in queries.bids(recording.source_records))


def _in_every_window(recording: Recording) -> Iterator[tuple[tuple[str, int], int]]:
    windows = queries.option(recording, "size_ms") // queries.option(recording, "slide_ms")
    return ((name, windows) for name in recording.source_records)


def _every_word(recording: Recording) -> Iterator[tuple[tuple[str, int], int]]:
    return ((name, len(value["text"].split())) for name, (_, _, value) in recording.source_records.items())


_NAMED: dict[str, Callable[[Recording], Iterator[tuple[tuple[str, int], int]]]] = {
    "windowed": _in_every_window,
    "word-count": _every_word,
    "random-load-balance": _once,
    "enrich": _once,
    "nexmark-q11": _every_bid_once,
    "nexmark-q12": _every_bid_once,
}


def results_agree_with_what_they_name(recording: Recording) -> Iterator[str]:
    """What a result says of the records that it names is so."""
    job, reads = recording.manifest.job.name, recording.source_records
    says = _AGREES.get(job)
    for one in _outputs(recording) if says else ():
        values = [reads[name][2] for name in one.names if name in reads]
        if len(values) != len(one.names) or not (says is not None and says(one, values)):
            yield f"{one.key}: {one.value} came out of {one.names}"


def _holds_all(one: Result, values: list[Any]) -> bool:
    return all(one.value.get(name) == held for name, held in values[0].items())


_AGREES: dict[str, Callable[[Result, list[Any]], bool]] = {
    "windowed": lambda one, values: Counter(one.value["contents"]) == Counter(value["amount"] for value in values),
    "word-count": lambda one, values: one.value["word"] in values[0]["text"].split(),
    "random-load-balance": _holds_all,
    "enrich": _holds_all,
    "concat": lambda one, values: Counter(one.value["text"]) == Counter(value["letter"] for value in values),
    "nexmark-q5": lambda one, values: (
        all(value["auction"] == one.value["auction"] for value in values) and one.value["num"] == len(values)
    ),
    "nexmark-q7": lambda one, values: all(value["price"] == one.value["price"] for value in values),
    "nexmark-q11": lambda one, values: one.value["bid_count"] == len(values),
    "nexmark-q12": lambda one, values: one.value["bid_count"] == len(values),
}


def counts_go_up_by_one(recording: Recording) -> Iterator[str]:
    """Where results number what came before them: from 1 on, each number once. A state that counts twice shows."""
    job = recording.manifest.job.name
    if job not in _NUMBERED:
        return
    numbers: dict[Any, list[int]] = defaultdict(list)
    for one in _outputs(recording):
        of, number = _NUMBERED[job](one.value)
        numbers[of].append(number)
    for of, found in numbers.items():
        if sorted(found) != list(range(1, len(found) + 1)):
            yield f"{of} was counted {sorted(found)}"


_NUMBERED: dict[str, Callable[[Any], tuple[Any, int]]] = {
    "word-count": lambda value: (value["word"], value["count"]),
    "random-load-balance": lambda value: ((value["dispatcher"], value["server"]), value["nth"]),
}


def letters_make_one_row(recording: Recording) -> Iterator[str]:
    """`concat`: of each key every letter is the second of one result, and the first of another one but for the last."""
    if recording.manifest.job.name != "concat":
        return
    due: Counter[str] = Counter(record[0] for record in recording.source_records.values())
    results: dict[str, list[tuple[tuple[str, int], ...]]] = defaultdict(list)
    for one in _outputs(recording):
        results[one.key].append(one.names)
    for key, count in due.items():
        found = results.get(key, [])
        named = Counter(name for names in found for name in names)
        ends = sum(times == 1 for times in named.values())
        # Every letter with the one before it: the last one once, all others twice, as the first comes alone as well.
        if (len(found), len(named), ends) != (count, count, 1) or max(named.values()) > 2:
            yield f"key {key}: {len(found)} results name {len(named)} letters of {count}, {ends} of them once"


EXACT = (
    results_follow_from_the_sources,
    each_record_is_named_as_often_as_it_must,
    results_agree_with_what_they_name,
    counts_go_up_by_one,
    letters_make_one_row,
)


def _all_outputs(recording: Recording) -> Iterator[Result]:
    """Also what was given to the outside by attempts that failed."""
    for task in recording.tasks_of("sink"):
        for attempt in range(recording.attempts(task)):
            for _, line in recording.sink_lines(task, attempt):
                yield _result(line)


def nothing_that_went_in_is_lost(recording: Recording) -> Iterator[str]:
    """Without determinants: all that must show does, however often."""
    job = recording.manifest.job.name
    if job not in _SHOWN:
        return
    named = {name for one in _all_outputs(recording) for name in one.names}
    if lost := {name for name, _ in _SHOWN[job](recording)} - named:
        yield f"nothing came out of {sorted(lost)[:5]}"


_SHOWN = {**_NAMED, "concat": _once}


def each_result_comes_out(recording: Recording) -> Iterator[str]:
    """Where no time decides: a window may have closed before what is sent again another way."""
    job = recording.manifest.job.name
    if job not in queries.WHENEVER:
        return
    due = {one.content(False) for one in queries.EXPECTED[job](recording, recording.source_records)}
    if lost := due - {one.content(False) for one in _all_outputs(recording)}:
        yield f"never came out {sorted(lost)[:3]}"


DIVERGENT = (nothing_that_went_in_is_lost, each_result_comes_out)
