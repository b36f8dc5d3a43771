"""Uploading: a whole bundle in one form, or a resumable upload in pieces (the core of tus 1.0).

The bytes of both never reach Django: the endpoint ahead of it (`dashboard.uploads.endpoint`) asks here first whether
they may come, takes them, and comes back with them landed.
"""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from ninja import Router, Status

from dashboard import jobs
from dashboard.api.auth import caller
from dashboard.api.failures import fault_of_the_disk, named_as_sent
from dashboard.api.jobs import router as jobs_router
from dashboard.api.presenting import job_detail, upload_out
from dashboard.api.schemas import Error, JobDetail, UploadIn, UploadOut
from dashboard.models import Upload
from dashboard.problems import Problem, not_found
from dashboard.uploads.admission import admit, printable
from dashboard.uploads.landing import Landing
from dashboard.uploads.passage import Passage, Stage, passage_of
from replay.errors import ReplayError

router = Router(tags=["uploads"])

TUS_VERSION = "1.0.0"
PIECE_TYPE = "application/offset+octet-stream"
OFFSET = re.compile(r"[0-9]{1,18}")

FORM_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["bundle"],
                    "properties": {
                        "name": {
                            "type": "string",
                            "description": "The job's name; before the bundle. Else its file's.",
                        },
                        "bundle": {"type": "string", "format": "binary"},
                    },
                }
            }
        },
    }
}
PIECE_BODY = {
    "parameters": [
        {"in": "header", "name": "Upload-Offset", "required": True, "schema": {"type": "integer"}},
        {"in": "header", "name": "Tus-Resumable", "schema": {"type": "string", "enum": [TUS_VERSION]}},
    ],
    "requestBody": {"required": True, "content": {PIECE_TYPE: {"schema": {"type": "string", "format": "binary"}}}},
}
REFUSED = {401: Error, 403: Error, 413: Error, 422: Error, 507: Error}


# On the router of GET /jobs: an address belongs to one router, whatever its methods.
@jobs_router.post(
    "/jobs", response={202: JobDetail, 204: None, 411: Error, 415: Error, **REFUSED}, openapi_extra=FORM_BODY
)
def upload_bundle(request: HttpRequest, response: HttpResponse) -> Status[Any]:
    """A bundle in one form: its job is queued, or, if its content is known, the job that holds it is named."""
    user, passage = caller(request), passage_of(request)
    if passage.stage is Stage.ASKING:
        if passage.announced_bytes is None:
            raise Problem(411, "Say with Content-Length how much comes, or use the resumable /api/v1/uploads.")
        passage.landing = Landing(admit(user, "bundle", passage.announced_bytes), form=True)
        return Status(204, None)
    return _made(request, response, user, passage.landed(), printable(passage.name))


@router.post("/uploads", response={201: UploadOut, **REFUSED})
def begin_upload(request: HttpRequest, response: HttpResponse, asked: UploadIn) -> Status[dict[str, Any]]:
    """Announces an upload; its size and your quota are checked now. Send its bytes with PATCH."""
    upload = admit(caller(request), asked.name, asked.size)
    # The file is there from now on, so that only what has ended is without one.
    Landing(upload).close()
    response["Location"] = f"/api/v1/uploads/{upload.id}"
    response["Tus-Resumable"] = TUS_VERSION
    return Status(201, upload_out(upload))


@router.api_operation(["HEAD"], "/uploads/{upload_id}", response={200: None, 404: Error})
def upload_offset(request: HttpRequest, upload_id: str) -> HttpResponse:
    """How many bytes have come: Upload-Offset."""
    upload = _own(caller(request), upload_id)
    headers = {"Upload-Length": str(upload.size), "Cache-Control": "no-store"}
    return _tus(HttpResponse(status=200, headers=headers), upload.offset)


@router.patch(
    "/uploads/{upload_id}",
    response={204: None, 404: Error, 409: Error, 412: Error, 415: Error, 423: Error, **REFUSED},
    openapi_extra=PIECE_BODY,
)
def upload_piece(request: HttpRequest, upload_id: str) -> HttpResponse:
    """The bytes from Upload-Offset on. Of two at once, one is refused."""
    user = caller(request)
    passage = passage_of(request)
    if passage.stage is Stage.LANDED:
        return _tus(HttpResponse(status=204), passage.landed().offset)
    upload = _own(user, upload_id)
    _check_piece(request, upload, passage)
    return HttpResponse(status=204)


@router.delete("/uploads/{upload_id}", response={204: None, 404: Error, 423: Error})
def drop_upload(request: HttpRequest, upload_id: str) -> HttpResponse:
    """Gives an upload up; what has come of it is removed."""
    Landing(_own(caller(request), upload_id)).remove()
    return HttpResponse(status=204, headers={"Tus-Resumable": TUS_VERSION})


@router.post("/uploads/{upload_id}/finish", response={202: JobDetail, 404: Error, 409: Error, 423: Error, **REFUSED})
def finish_upload(request: HttpRequest, response: HttpResponse, upload_id: str) -> Status[dict[str, Any]]:
    """All bytes have come: a job comes of them. A bundle that is refused is removed."""
    user = caller(request)
    landing = Landing(_own(user, upload_id))
    try:
        if landing.offset != landing.upload.size:
            why = f"{landing.offset} of {landing.upload.size} bytes have come; send the rest first."
            raise Problem(409, why, detail={"offset": landing.offset, "size": landing.upload.size})
        return _made(request, response, user, landing, landing.upload.name)
    finally:
        landing.close()


def _made(
    request: HttpRequest, response: HttpResponse, user: User, landing: Landing, name: str
) -> Status[dict[str, Any]]:
    """A refused bundle is removed as a stored one is; a full disk or a lost database may be tried again."""
    try:
        job = jobs.create_job_from_file(user, landing.path, name)
    except ReplayError as error:
        if fault_of_the_disk(error) is not None:
            raise
        landing.remove()
        raise named_as_sent(error, landing.path, name) from error
    landing.remove()
    response["Location"] = f"/jobs/{job.id}/"
    return Status(202, job_detail(job, user))


def _check_piece(request: HttpRequest, upload: Upload, passage: Passage) -> None:
    if request.headers.get("Tus-Resumable", TUS_VERSION) != TUS_VERSION:
        raise Problem(412, f"This server speaks tus {TUS_VERSION}.")
    if passage.content_type != PIECE_TYPE:
        raise Problem(415, f"The pieces of an upload come as {PIECE_TYPE}.")
    offset = request.headers.get("Upload-Offset", "")
    if not OFFSET.fullmatch(offset):
        raise Problem(422, "Upload-Offset: say from which byte on this piece is.")
    if passage.announced_bytes is not None and int(offset) + passage.announced_bytes > upload.size:
        raise Problem(413, f"This piece would pass the {upload.size} bytes that were announced.")
    landing = Landing(upload)
    if int(offset) != landing.offset:
        landing.close()
        why = f"The upload is at offset {landing.offset}, not {offset}. Go on from there."
        raise Problem(409, why, code="wrong-offset", detail={"offset": landing.offset})
    passage.landing = landing


def _own(user: User, upload_id: str) -> Upload:
    upload = Upload.objects.filter(owner=user, id=upload_id).first()
    if upload is None:
        raise not_found()
    return upload


def _tus(response: HttpResponse, offset: int) -> HttpResponse:
    response["Upload-Offset"] = str(offset)
    response["Tus-Resumable"] = TUS_VERSION
    return response
