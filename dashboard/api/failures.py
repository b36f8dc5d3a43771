"""Exceptions as problems: what a person can act on keeps its sentence; the program's own faults go to the log."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from ninja.errors import AuthenticationError, HttpError, ValidationError

from dashboard.bundles import BundleGone
from dashboard.jobs import OnHold, OverQuota, Refused, StoreFull
from dashboard.problems import Problem, not_found
from ingest.lake.errors import (
    HiddenValues,
    LakeOutOfReach,
    NotPublished,
    NotWritten,
    OutOfReach,
    QueryTooLarge,
    QueryTooLong,
    UnknownTable,
)
from ingest.launch import IngestError
from replay.debugger.searching.conditions import WrongSearch
from replay.errors import ReplayError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
DISK_FULL = "The disk under the store is full. Free some space, then try again."


def problem_of(error: Exception) -> Problem:
    """The problem that this exception is to its caller; a 500 where it is nobody's business."""
    match error:
        case Problem():
            return error
        case Http404():
            return not_found()
        case AuthenticationError():
            return Problem(401)
        case PermissionDenied():
            return Problem(403)
        case ValidationError():
            return Problem(422, _first(error.errors), detail=[_plain(item) for item in error.errors])
        case HttpError():
            return Problem(error.status_code, error.message)
        case OnHold():
            return Problem(409, str(error), code="on-hold")
        case Refused():
            return Problem(409, str(error))
        case OverQuota():
            return Problem(413, str(error), code="over-quota", detail=error.detail)
        case StoreFull():
            return Problem(507, str(error))
        case WrongSearch():
            return wrong_search(error)
        case ReplayError():
            cause = fault_of_the_disk(error)
            return bad_bundle(error) if cause is None else problem_of(cause)
        case IngestError():
            return _of_lake(error)
        case OSError() if error.errno in FULL:
            return Problem(507, DISK_FULL)
        case OperationalError() if "disk is full" in str(error) or "No space left" in str(error):
            return Problem(507, DISK_FULL)
        case _:
            return Problem(500)


def fault_of_the_disk(error: ReplayError) -> OSError | None:
    """What kept a good bundle from being kept. A broken gzip stream is an OSError too, but one without a number."""
    cause = error.__cause__
    return cause if isinstance(cause, OSError) and cause.errno is not None else None


def bad_bundle(error: ReplayError) -> Problem:
    """One sentence, and its parts for programs: file, offset, rule, remedy."""
    detail = {"path": error.path, "offset": error.offset, "why": error.why, "remedy": error.remedy}
    return Problem(422, str(error), code="bad-bundle", detail=detail)


def wrong_search(error: WrongSearch) -> Problem:
    """The sentence names the column; programs that mark it find it beside."""
    detail = {"column": error.column, "why": error.why, "remedy": error.remedy}
    return Problem(422, str(error), code="bad-condition", detail=detail)


def named_as_sent(error: ReplayError, landed: Path, name: str) -> ReplayError:
    """The same error, speaking of the bundle by its sender's name and not by that of the file in which it landed."""
    if error.path in (str(landed), landed.name):
        error.path = name
    return error


def _of_lake(error: IngestError) -> Problem:
    match error:
        case NotPublished():
            return Problem(409, str(error), code="not-ready")
        case HiddenValues():
            why = "This search compares values, and those of this job are hidden from you."
            return Problem(403, f"{why} Its owner can give you access to them.", code="payloads-hidden")
        case NotWritten():
            return Problem(409, f"{error}.", code="not-written")
        case UnknownTable():
            return Problem(404, str(error), code="unknown-table")
        case QueryTooLong() | QueryTooLarge():
            return Problem(422, str(error), code="query-limit")
        case LakeOutOfReach():
            return Problem(503, "The lake can't be reached. Try again in a moment.", code="lake-out-of-reach")
        case OutOfReach():
            return Problem(503, "The store can't be reached. Try again in a moment.", code="store-out-of-reach")
        case BundleGone():
            return Problem(404, str(error), code="no-bundle")
        case _:
            return Problem(500)


def _first(errors: list[dict[str, Any]]) -> str:
    where = ".".join(str(part) for part in errors[0].get("loc", ()) if part not in ("body", "query", "path"))
    return f"{where or 'The request'}: {errors[0].get('msg', 'is not valid')}."


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {"loc": [str(part) for part in item.get("loc", ())], "why": str(item.get("msg", ""))}
