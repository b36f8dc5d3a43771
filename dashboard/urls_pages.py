"""Addresses of the pages about jobs and replays. A link copied today opens the same view for ever."""

from django.urls import path

from dashboard.views import (
    compare,
    job,
    job_actions,
    jobs,
    logs,
    paths,
    replay,
    replay_actions,
    replay_forks,
    replay_hits,
    replay_notes,
    replay_rows,
    replay_stops,
)

urlpatterns = [
    path("", jobs.jobs, name="jobs"),
    path("jobs/<str:job_id>/", job.job_page, name="job"),
    path("jobs/<str:job_id>/logs/", logs.logs_page, name="logs"),
    path("jobs/<str:job_id>/paths/", paths.paths_page, name="paths"),
    path("jobs/<str:job_id>/replays/", job_actions.replays, name="job-replays"),
    path("jobs/<str:job_id>/log/", job_actions.log, name="job-log"),
    path("jobs/<str:job_id>/cancel/", job_actions.cancel, name="job-cancel"),
    path("jobs/<str:job_id>/retry/", job_actions.retry, name="job-retry"),
    path("jobs/<str:job_id>/delete/", job_actions.delete, name="job-delete"),
    path("compare/", compare.compare_page, name="compare"),
    path("replays/<str:replay_id>/", replay.replay_page, name="replay"),
    path("replays/<str:replay_id>/strip/", replay.replay_strip, name="replay-strip"),
    path("replays/<str:replay_id>/hits/", replay_hits.replay_hits, name="replay-hits"),
    path("replays/<str:replay_id>/rows/<str:name>/", replay_rows.replay_rows, name="replay-rows"),
    path("replays/<str:replay_id>/breakpoints/", replay_stops.replay_breakpoints, name="replay-breakpoints"),
    path(
        "replays/<str:replay_id>/breakpoints/<int:breakpoint_id>/",
        replay_stops.replay_breakpoint,
        name="replay-breakpoint",
    ),
    path("replays/<str:replay_id>/notes/", replay_notes.replay_notes, name="replay-notes"),
    path("replays/<str:replay_id>/notes/<int:note_id>/", replay_notes.replay_note, name="replay-note"),
    path("replays/<str:replay_id>/forks/", replay_forks.fork, name="replay-forks"),
    path("replays/<str:replay_id>/excerpt/", replay_actions.give_excerpt, name="replay-excerpt"),
    path("replays/<str:replay_id>/cancel/", replay_actions.cancel, name="replay-cancel"),
    path("replays/<str:replay_id>/retry/", replay_actions.retry, name="replay-retry"),
    path("replays/<str:replay_id>/delete/", replay_actions.delete, name="replay-delete"),
]
