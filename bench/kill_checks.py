"""What the kill bench asks for and looks at, through the product's own models in this process."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

from bench.server_process import ROOT


class Checks:
    """Every job's counts are known from its first ingest: a later one of the same content must come to the same."""

    def __init__(self, data: Path, environment: dict[str, str]) -> None:
        os.environ |= environment | {"DJANGO_SETTINGS_MODULE": "dashboard.settings", "CLONOSCOPE_DATA": str(data)}
        os.chdir(ROOT)
        import django

        django.setup()
        from dashboard import accounts, jobs, opening

        opening.open_folder()
        self.jobs = jobs
        self.user = accounts.first_account()
        self.data = data
        self.rows_of_content: dict[str, Any] = {}

    def create(self, recording: Path, name: str) -> None:
        """A job of its own each time: a repeated upload would be recognised, so somebody else's account holds it."""
        from django.contrib.auth.models import User

        owner, _ = User.objects.get_or_create(username=name.replace(" ", "-"))
        self.jobs.create_job_from_file(owner, recording, name)

    def start_replay(self, job_id: str) -> None:
        from dashboard.models import Job

        job = Job.objects.get(id=job_id)
        self.jobs.start_replay(job.owner, job, failure=job.facts["failures"][0]["failure"])

    def ready_jobs(self) -> list[str]:
        from dashboard.models import Job

        return list(Job.objects.filter(status="ready").order_by("-created_at").values_list("id", flat=True))

    def delete_all(self) -> int:
        from dashboard.models import Job

        gone = list(Job.objects.all())
        for job in gone:
            self.jobs.delete_job(job, self.user)
        return len(gone)

    def pending(self) -> list[str]:
        from dashboard.models import Job, JobAudit, Replay
        from dashboard.models.status import PENDING

        models = (Job, Replay, JobAudit)
        found = [model.objects.filter(status__in=PENDING).values_list("id", flat=True) for model in models]
        return [one for ids in found for one in ids]

    def failed(self) -> tuple[list[str], list[str]]:
        """Those that say why, and those that don't."""
        from dashboard.models import Job, JobAudit, Replay

        rows = [row for model in (Job, Replay, JobAudit) for row in model.objects.filter(status="failed")]
        return [row.id for row in rows if row.message], [row.id for row in rows if not row.message]

    def retry(self, target: str) -> None:
        from dashboard import audits
        from dashboard.models import Job, JobAudit, Replay

        if target.startswith("a_"):
            audits.start(self.user, JobAudit.objects.get(id=target).job)
        elif target.startswith("r_"):
            self.jobs.retry_replay(Replay.objects.get(id=target), self.user)
        else:
            self.jobs.retry(Job.objects.get(id=target), self.user)

    def finished(self) -> int:
        from dashboard.models import Job, JobAudit, Replay
        from dashboard.models.status import READABLE

        return sum(model.objects.filter(status__in=READABLE).count() for model in (Job, Replay, JobAudit))

    def leftovers(self) -> list[str]:
        """Files that no row speaks for; the sweeper is given a moment to remove them."""
        from django.conf import settings

        from dashboard import store
        from dashboard.models import Job

        jobs = set(Job.objects.values_list("id", flat=True))
        found = [*_entries(settings.STAGING), *_entries(store.incoming())]
        found += [path for path in _entries(store.bundles()) if path.stem not in jobs]
        for lake in (settings.LAKE, store.replays()):
            linked = {path.resolve() for path in _entries(lake) if path.is_symlink()}
            found += [path for path in _entries(lake / ".versions") if path.resolve() not in linked]
        return [str(path) for path in found]

    def half_done(self) -> list[str]:
        """Jobs that are ready but not whole, replays that are ready but not identical, audits that are ready and have
        no report, work that nobody ends."""
        from dashboard import audits
        from dashboard.models import Job, JobAudit, Replay, Work

        wrong = [f"{job}: {why}" for job in Job.objects.filter(status="ready") if (why := self._not_whole(job))]
        wrong += [f"{job} is {job.status}" for job in Job.objects.exclude(status="ready")]
        for replay in Replay.objects.filter(status="ready"):
            if replay.verdict != "identical" or not self._steps(replay):
                wrong.append(f"{replay}: {replay.verdict}, {replay.sentence}")
        ready = JobAudit.objects.filter(status="ready")
        wrong += [f"{audit} is ready, and has no report" for audit in ready if audits.whole_report(audit) is None]
        open_work = Work.objects.filter(state__in=["queued", "running"])
        return wrong + [f"{work} is still open" for work in open_work]

    def story(self) -> str:
        from dashboard import joblog
        from dashboard.models import Work

        open_work = list(Work.objects.filter(state__in=["queued", "running"]))
        return f"open: {open_work}; " + " | ".join(joblog.read(work.target)[-400:] for work in open_work)

    def _not_whole(self, job: Any) -> str:
        from django.conf import settings

        from ingest.lake.readers import Lake
        from ingest.launch import IngestError

        tables = ("determinants", "buffers", "sendings", "deltas", "events")
        lake = Lake(settings.LAKE_ROOT)
        try:
            found = Counter({table: lake.job(job.id).rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables})
        except IngestError as missing:
            return str(missing)
        expected = self.rows_of_content.setdefault(job.content_id, found)
        return "" if found == expected and found["determinants"] else f"rows {dict(found)}, expected {dict(expected)}"

    def _steps(self, replay: Any) -> bool:
        import duckdb

        from dashboard import store

        files = str(store.replay_path(replay.id) / "steps" / "*.parquet")
        with duckdb.connect() as lake:
            question = f"SELECT count(*), count(DISTINCT step) FROM read_parquet('{files}')"
            counted = lake.execute(question).fetchall()
        return counted == [(replay.steps, replay.steps)]


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
