"""The smallest bundle that diverges as a replay does, for pages and the API, made in a child when it is asked for."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.conf import settings
from django.http import HttpResponse

from dashboard import bundles, payloads
from dashboard.models import Replay
from dashboard.problems import Problem, as_sentence
from dashboard.turns import Turns
from ingest.launch import ReplayChildDied, ReplayFailed, ReplayLimits, ReplayRequest, run_excerpt

SECONDS = 60
MOST_BYTES = 64 << 20
_turns = Turns("Another excerpt is being made; try again in a moment.")


def excerpt(replay: Replay) -> HttpResponse:
    """As a file to keep as a regression test."""
    payloads.require(replay.job_id)
    if replay.verdict != "diverged":
        raise Problem(409, "Only a replay that diverged has an excerpt that still diverges.")
    if replay.elsewhere:
        raise Problem(409, "This replay was made elsewhere; `clonoscope minimise` makes its excerpt there.")
    if replay.change is not None:
        raise Problem(409, "A fork differs from its recording because it was changed: there is nothing to shrink.")
    if not bundles.is_stored(replay.job_id):
        raise Problem(409, f"The bundle of the job {replay.job_id} is no longer in the store.")
    try:
        with _turns.taken(), bundles.bundle(replay.job_id) as pack:
            return _made(replay, pack)
    except (ReplayFailed, ReplayChildDied) as failure:
        raise Problem(422, as_sentence(str(failure))) from None


def _made(replay: Replay, pack: Path) -> HttpResponse:
    with tempfile.TemporaryDirectory(prefix="clonoscope-excerpt-") as folder:
        out = Path(folder) / f"{replay.job_id}-{replay.id}.zip"
        request = ReplayRequest(
            pack,
            Path(folder) / "steps",
            replay.task or None,
            replay.failure,
            replay.attempt,
            limits=ReplayLimits(
                memory_bytes=settings.REPLAY_MEMORY_BYTES,
                file_bytes=min(MOST_BYTES, settings.REPLAY_FILE_BYTES),
                open_files=settings.REPLAY_OPEN_FILES,
                cpu_s=SECONDS,
                wall_s=SECONDS,
            ),
        )
        run_excerpt(request, out, settings.DATA / "logs" / "replays.log")
        response = HttpResponse(out.read_bytes(), content_type="application/zip")
        response["Content-Disposition"] = f'attachment; filename="{out.name}"'
        return response
