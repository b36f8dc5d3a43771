"""What each sample job's sinks must hold, recomputed from a recording's source records. Knows nothing of the product.

At sharing depth 0 a recovery is divergent: nothing is lost, but what was lost of the choices is chosen anew and what
was sent may be sent again. What is promised then is checked then: all of the input shows, and nothing that never was.
"""

from tests.oracle import chosen, determined
from tests.oracle.outside import compare, read_records, rolled_back, untimed, written_records

STATELESS = ("nexmark-q1", "nexmark-q2", "nexmark-q3")
"""What comes out of these is the same whatever was chosen, and however often it came in."""


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
    if not recording.logging and failed:
        yield from _divergent(recording, name, reads, [*written, *again])
        return
    if not rolled_back(recording):
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
