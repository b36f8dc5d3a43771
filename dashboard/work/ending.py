"""How a piece of work ends other than well: failed, died, interrupted. Row, target and log say so."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.models import Status, Work
from dashboard.problems import as_sentence
from dashboard.work.claim import Claim, fenced, finish, give_back, set_status
from dashboard.work.lease import Lease
from dashboard.work.sweep import write_log
from ingest.launch import DriverDied, IngestCancelled, IngestError, ReplayChildDied
from replay.errors import ReplayError

log = logging.getLogger("clonoscope.work")

# Once may be the machine's fault; twice is the job's.
MAX_DEATHS = 2


@contextmanager
def of_a_child(held: Claim, lease: Lease) -> Iterator[None]:
    """Around what a child is asked to do: whatever it ends of, the work ends with it."""
    try:
        yield
    except IngestCancelled:
        interrupted(held, lease)
    except (DriverDied, ReplayChildDied) as death:
        # Ending this process ends the child too, and that is not the job's fault.
        if lease.interrupted():
            interrupted(held, lease)
        else:
            died(held, str(death))
    except (IngestError, ReplayError) as failure:
        failed(held, str(failure))


def failed(held: Claim, why: str) -> None:
    """It would end the same way again; a person may still ask to try again."""
    why = as_sentence(why)
    with fenced(held) as work:
        finish(work, Work.State.FAILED, why)
        set_status(held.target, Status.FAILED, why)
    log.warning("%s failed: %s", held, why)
    write_log(held.target, f"{held.said}, failed: {why}")


def died(held: Claim, what: str) -> None:
    """The child died over it. It gets a second try, but no third: others wait."""
    with fenced(held) as work:
        work.deaths += 1
        poisonous = work.deaths >= MAX_DEATHS
        what = as_sentence(what)
        message = f"{what} It happened {work.deaths} times with this job, so it is put aside; it can be tried again."
        if not poisonous:
            message = f"{what} It is tried once more."
        finish(work, Work.State.FAILED if poisonous else Work.State.QUEUED, message)
        set_status(held.target, Status.FAILED if poisonous else Status.QUEUED, message)
    log.warning("%s: %s", held, message)
    write_log(held.target, f"{held.said}: {message}")


def interrupted(held: Claim, lease: Lease) -> None:
    """Cancelled or taken by another, then the row says so already; or this process ends, and another takes it up."""
    if lease.lost.is_set():
        log.info("%s: ended, it was cancelled or taken over", held)
    elif give_back(held, "The server was stopped; it goes on at the next start."):
        write_log(
            held.target, f"{held.kind.capitalize()}, attempt {held.attempt}: interrupted, the server was stopped."
        )
