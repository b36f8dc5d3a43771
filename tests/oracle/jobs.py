"""What each sample job's sinks must hold, recomputed from a recording's source records. Knows nothing of the product.

At sharing depth 0 a recovery is divergent: nothing is lost, but what was lost of the choices is chosen anew and what
was sent may be sent again. What is promised then is checked then: all of the input shows, and nothing that never was.
Gap recovery promises the opposite: what shows was there, and no record's result shows twice.
"""

from collections import Counter

from tests.oracle import chosen, determined
from tests.oracle.outside import chosen_anew, compare, read_records, rolled_back, untimed, written_records

STATELESS = ("nexmark-q1", "nexmark-q2", "nexmark-q3")
"""What comes out of these is the same whatever was chosen, and however often it came in."""

ONE_BY_ONE = ("pass-through", "word-count", "random-load-balance", "enrich")
"""Each record gives its results by itself, when it comes."""


def sink_complaints(recording):
    """Everything in the sinks that is wrong, in words."""
    name = recording.manifest["job"]["name"]
    reads, complaints = read_records(recording)
    yield from complaints
    complete = sum(determined.option(recording, "records", [len(reads)]))
    if len(reads) != complete:
        yield f"{len(reads)} of {complete} source records were read"
    written, again = written_records(recording)
    failed = any(event["type"] == "task-failed" for event in recording.events)
    if failed and recording.protocol == "none":
        yield from _lossy(recording, name, reads, written)
        return
    if failed and (recording.diverged or (recording.protocol == "clonos" and not recording.shares)):
        yield from _divergent(recording, name, reads, [*written, *again])
        return
    if not rolled_back(recording) and not chosen_anew(recording):
        other = {one.identity for one in again} - {one.identity for one in written}
        if other:
            yield f"given before a failure, and never again: {sorted(other)[:2]}"
    yield from _exact(recording, name, reads, written)


def _exact(recording, name, reads, written):
    time = determined.option(recording, "time", "event")
    if name in determined.EXPECTED and time == "event":
        yield from compare([one.identity for one in written], determined.EXPECTED[name](recording, reads))
    elif name in STATELESS:  # the time that a source stamped shows in the timestamp, and nowhere else
        expected = map(untimed, determined.EXPECTED[name](recording, reads))
        yield from compare([untimed(one.identity) for one in written], expected)
    else:
        yield from chosen.CHECKS[name](recording, reads, written)


def _lossy(recording, name, reads, written):
    """A state that went back may give its windows again; what each record gives by itself comes at most once."""
    named = Counter(name for one in written for name in one.names)
    if set(named) - set(reads):
        yield f"what never went in came out: {sorted(set(named) - set(reads))[:5]}"
    if name in STATELESS:
        expected = Counter(map(untimed, determined.EXPECTED[name](recording, reads)))
        for one, times in (Counter(untimed(one.identity) for one in written) - expected).items():
            yield f"{times} too many of {one[:200]}"
    elif name in ONE_BY_ONE:
        for one, times in named.items():
            if times > (len(reads[one].value["text"].split()) if name == "word-count" else 1):
                yield f"record {one} came out {times} times"


def _divergent(recording, name, reads, written):
    named = {one for output in written for one in output.names}
    if named - set(reads):
        yield f"what never went in came out: {sorted(named - set(reads))[:5]}"
    if name in STATELESS:
        expected = set(map(untimed, determined.EXPECTED[name](recording, reads)))
        yield from compare({untimed(one.identity) for one in written}, expected)
        return
    if name in ("nexmark-q5", "nexmark-q7", "nexmark-q8"):  # most of the input shows nowhere
        return
    wanted = dict(determined.bids(reads)) if name in ("nexmark-q11", "nexmark-q12") else reads
    if set(wanted) - named:
        yield f"lost: {sorted(set(wanted) - named)[:5]}"
