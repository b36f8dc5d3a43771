"""One job's page: what happened, its timeline, its graph, and the task that is selected."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import joblog, jobs
from dashboard.describing import outside
from dashboard.models import Job
from dashboard.models.status import PENDING
from dashboard.progress import state_of
from dashboard.queries.answers import answers, latest_round
from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.flows import channel_flows
from dashboard.queries.graph import JobGraph, job_graph
from dashboard.queries.lake import lake
from dashboard.queries.recoveries import recoveries
from dashboard.queries.rejects import rejects
from dashboard.queries.summary import summary
from dashboard.queries.task import task_attempts, task_epochs
from dashboard.queries.tasks import TaskSummary, task_summaries
from dashboard.queries.timeline import timeline
from dashboard.views.access import owns, visible_job
from dashboard.views.parameters import one_of
from dashboard.views.telling import tells_problems

# So many vertices in a row have room beside the selected task; longer graphs have the whole width.
LAYERS_BESIDE = 4


@login_required
@require_safe
@tells_problems
def job_page(request: HttpRequest, job_id: str) -> HttpResponse:
    job = visible_job(request, job_id)
    jobs.reingest_if_older(job)
    if not job.readable:
        return render(request, "dashboard/job_unread.html", unread_context(request, job))
    context = page_context(request, job)
    part = request.GET.get("part") == "task"
    return render(request, "dashboard/partials/task_panel.html" if part else "dashboard/job.html", context)


def unread_context(request: HttpRequest, job: Job) -> dict[str, Any]:
    """Not yet, failed or cancelled: each says what to do."""
    found = job_graph(job.id)
    return {
        "job": job,
        "own": owns(request, job),
        "pending": job.status in PENDING,
        "state": state_of(job.id),
        "log": joblog.read(job.id),
        "graph": found.for_script() if found else None,
        "manifest": found.manifest if found else None,
    }


def page_context(request: HttpRequest, job: Job) -> dict[str, Any]:
    found = job_graph(job.id)
    failures = job_failures(lake(), job=job.id)
    given = answers(lake(), job=job.id)
    context: dict[str, Any] = {
        "job": job,
        "own": owns(request, job),
        "facts": job.facts,
        "failures": failures,
        "rejects": rejects(lake(), job=job.id) if job.status == "ready-partial" else [],
        "recoveries": recoveries(lake(), job=job.id, failures=failures),
        "replays": list(job.replays.select_related("owner")[:8]),
        "log": joblog.read(job.id),
        "manifest": found.manifest if found else None,
    }
    context["open_replay"] = next((one for one in context["replays"] if one.readable), None)
    if found is not None:
        context |= _graph_context(request, job, found, failures)
        picture = timeline(lake(), job=job.id, manifest=found.manifest, failures=failures)
        sentences = summary(found.manifest, failures, given, duration_us=picture["durationUs"])
        context |= {"outside": outside(found.manifest.protocol), "timeline": picture, "summary": sentences}
        chosen = context["chosen"]
        context["answers"] = latest_round(given, chosen.task, None) if chosen else []
        context["answers_of"] = next((one.attempt for one in context["answers"]), None)
    return context


def _graph_context(request: HttpRequest, job: Job, found: JobGraph, failures: list[Failure]) -> dict[str, Any]:
    listed = [(task.id, task.vertex) for task in found.manifest.tasks]
    tasks = task_summaries(lake(), job=job.id, tasks=listed, failed=[failure.task for failure in failures])
    graph = found.for_script()
    graph["tasks"] = {task.task: task.for_script() for task in tasks}
    graph["flows"] = channel_flows(lake(), job=job.id)
    chosen = _chosen(request, tasks, failures)
    deep = found.layers() > LAYERS_BESIDE
    return {
        "tasks": tasks,
        "graph": graph,
        "deep": deep,
        "chosen": chosen,
        **_task_context(job, found, chosen, failures),
    }


def _chosen(request: HttpRequest, tasks: list[TaskSummary], failures: list[Failure]) -> TaskSummary | None:
    """The task of the address; else the one that failed first; else the first that logged anything."""
    by_id = {task.task: task for task in tasks}
    wanted = [failures[0].task] if failures else [task.task for task in tasks if task.bytes]
    default = next((task for task in [*wanted, *by_id] if task in by_id), "")
    return by_id.get(one_of(request, "task", list(by_id), default))


def _task_context(job: Job, found: JobGraph, chosen: TaskSummary | None, failures: list[Failure]) -> dict[str, Any]:
    if chosen is None:
        return {}
    epochs, epoch_count = task_epochs(lake(), job=job.id, task=chosen.task)
    task = found.graph.task(chosen.task)
    return {
        "task": task,
        "vertex": found.graph.vertex_of(chosen.task),
        "attempts": task_attempts(lake(), job=job.id, task=chosen.task, failures=failures),
        "epochs": epochs,
        "epochs_hidden": max(0, epoch_count - len(epochs)),
        "most_bytes": max((one.bytes for one in epochs), default=0),
        "most_kind_bytes": max((one.bytes for one in chosen.kinds), default=0),
        "task_failures": [failure for failure in failures if failure.task == chosen.task],
        "all_downstream": len(found.graph.all_downstream(chosen.task)),
    }
