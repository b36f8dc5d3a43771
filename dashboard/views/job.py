"""One job's page: what happened, its timeline, its graph, and the task that is selected."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard import audits, following, joblog, jobs, payloads
from dashboard.describing import outside
from dashboard.giving_back import CONTAINERS
from dashboard.models import Job
from dashboard.models.status import PENDING
from dashboard.own_code import runs_elsewhere
from dashboard.progress import state_of
from dashboard.queries.answers import answers, latest_round
from dashboard.queries.checkpoints import checkpoints, shares
from dashboard.queries.failures import Failure, job_failures
from dashboard.queries.flows import channel_flows, edge_flows
from dashboard.queries.gaps import count_gaps, job_gaps
from dashboard.queries.graph import JobGraph, app_of, job_graph
from dashboard.queries.imported import imported, state_after
from dashboard.queries.lake import lake
from dashboard.queries.recorded_code import recorded_code
from dashboard.queries.recoveries import Recovery, recoveries
from dashboard.queries.rejects import rejects
from dashboard.queries.retries import count_retries, guarantee, job_retries
from dashboard.queries.summary import summary
from dashboard.queries.task import task_attempts, task_epochs
from dashboard.queries.task_measures import FIRST, MEASURES
from dashboard.queries.tasks import TaskSummary, task_summaries
from dashboard.queries.timeline import timeline
from dashboard.sealing import shown_log, shown_replays
from dashboard.views.access import owns, visible_job
from dashboard.views.parameters import not_there, one_of, whole
from dashboard.views.telling import tells_problems

# So many vertices in a row have room beside the selected task; longer graphs have the whole width.
LAYERS_BESIDE = 4
TASKS_LISTED = 500


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
        "state": payloads.shown_state(job.id, state_of(job.id)),
        "log": shown_log(job.id, joblog.read(job.id)),
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
        "gaps": job_gaps(lake(), job=job.id),
        "gaps_count": count_gaps(lake(), job=job.id),
        "retries": job_retries(lake(), job=job.id),
        "retries_count": count_retries(lake(), job=job.id),
        "guarantee": guarantee(found.manifest) if found else [],
        "recoveries": _told_in_phases(recoveries(lake(), job=job.id, failures=failures)),
        "replays": shown_replays(job.replays.select_related("owner")[:8]),
        "log": shown_log(job.id, joblog.read(job.id)),
        "manifest": found.manifest if found else None,
        "containers": CONTAINERS,
        "runs_elsewhere": found is not None and runs_elsewhere(found.manifest),
        "audit": audits.of(job),
        "grows": following.grows(job),
        "ran_again": next((one for one in failures if None not in (one.attempt, one.next_attempt)), None),
    }
    context["open_replay"] = next((one for one in context["replays"] if one.readable), None)
    context |= _imported_context(request, job, found)
    if found is not None:
        context |= _graph_context(request, job, found, failures)
        picture = timeline(lake(), job=job.id, manifest=found.manifest, failures=failures)
        sentences = summary(found.manifest, failures, given, duration_us=picture["durationUs"])
        context["code"] = recorded_code(found.manifest)
        context["task_ids"] = [task.id for task in found.manifest.tasks]
        context |= _checkpoints(request, job, found)
        context |= {"outside": outside(found.manifest.protocol), "timeline": picture}
        context["summary"] = context["imported"].says if context["imported"] else sentences
        chosen = context["chosen"]
        context["answers"] = latest_round(given, chosen.task, None) if chosen else []
        context["answers_of"] = next((one.attempt for one in context["answers"]), None)
    return context


def _checkpoints(request: HttpRequest, job: Job, found: JobGraph) -> dict[str, Any]:
    """All of them, and of the one that the address names what each task spent on it."""
    told: dict[str, Any] = {"checkpoints": checkpoints(lake(), job=job.id), "shares": None}
    asked = whole(request, "checkpoint")
    if asked is None:
        return told
    inputs = {str(channel.id): str(channel.target) for channel in found.graph.channels}
    told["checkpoint_there"] = any(one.checkpoint == asked for one in told["checkpoints"])
    return told | {"checkpoint": asked, "shares": shares(lake(), job=job.id, checkpoint=asked, inputs=inputs)}


def _told_in_phases(found: list[Recovery]) -> list[Recovery]:
    """Where nothing but a failure and its end is known, the timeline shows all there is."""
    return [one for one in found if [phase.name for phase in one.phases] not in ([], ["down"])]


def _imported_context(request: HttpRequest, job: Job, found: JobGraph | None) -> dict[str, Any]:
    """Of what an importer made: its batches, and the state after the one that is chosen."""
    told = imported(job.id, before=whole(request, "before_batch"))
    if told is None:
        return {"imported": None}
    newest = imported(job.id) if told.batches and "before_batch" in request.GET else told
    last = newest.batches[0].batch if newest and newest.batches else 0
    batch = whole(request, "batch", last) or 0
    tasks = [str(task.id) for task in found.manifest.tasks] if found else []
    return {"imported": told, "newest_batch": last, "batch": batch, "batch_state": state_after(job.id, batch, tasks)}


def _graph_context(request: HttpRequest, job: Job, found: JobGraph, failures: list[Failure]) -> dict[str, Any]:
    listed = [(task.id, task.vertex) for task in found.manifest.tasks]
    tasks = task_summaries(lake(), job=job.id, tasks=listed, failed=[failure.task for failure in failures])
    chosen = _chosen(request, tasks, failures)
    keep = {failure.task for failure in failures} | ({chosen.task} if chosen else set())
    return {
        "graph": _picture(job, found, tasks, keep),
        "measures": [(by, measure.says) for by, measure in MEASURES.items()],
        "deep": found.layers() > LAYERS_BESIDE,
        "chosen": chosen,
        "not_there": not_there(request, task=[task.task for task in tasks]),
        **_tasks_page(request, tasks, chosen),
        **_task_context(job, found, chosen, failures),
    }


def _picture(job: Job, found: JobGraph, tasks: list[TaskSummary], keep: set[str]) -> dict[str, Any]:
    """The graph as it is drawn: numbers of what is shown, and ranges and sums over all."""
    graph = found.for_script(keep)
    shown = {task for vertex in graph["vertices"] for task in vertex["tasks"]}
    graph["tasks"] = {task.task: task.for_script() for task in tasks if task.task in shown}
    flows = channel_flows(lake(), job=job.id)
    graph["flows"] = {one["id"]: flows[one["id"]] for one in graph["channels"] if one["id"] in flows}
    graph["edgeFlows"] = edge_flows(found.graph, flows)
    graph["mostFlowBytes"] = max((flow["bytes"] or 0 for flow in flows.values()), default=0)
    first = MEASURES[FIRST]
    sizes = [one.bytes for one in tasks]
    graph["measure"] = {
        "by": FIRST,
        "says": first.says,
        "unit": first.unit,
        "values": {task.task: task.bytes for task in tasks if task.task in shown},
        "range": [min(sizes), max(sizes)] if sizes else [],
    }
    graph["measures"] = f"/api/v1/jobs/{job.id}/measures"
    return graph


def _tasks_page(request: HttpRequest, tasks: list[TaskSummary], chosen: TaskSummary | None) -> dict[str, Any]:
    """A stretch of the table of tasks, and who stands beside the chosen one in the whole of it."""
    begin = min(whole(request, "tasks") or 0, max(0, len(tasks) - 1))
    place = tasks.index(chosen) if chosen else 0
    return {
        "tasks": tasks[begin : begin + TASKS_LISTED],
        "tasks_hosts": any(task.host for task in tasks),
        "tasks_from": begin,
        "tasks_first": begin + 1,
        "tasks_last": min(len(tasks), begin + TASKS_LISTED),
        "tasks_previous": max(0, begin - TASKS_LISTED),
        "tasks_next": begin + TASKS_LISTED if begin + TASKS_LISTED < len(tasks) else None,
        "task_before": tasks[place - 1].task if chosen and place else "",
        "task_after": tasks[place + 1].task if chosen and place + 1 < len(tasks) else "",
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
        "app": app_of(found, chosen.task),
        "attempts": (attempts := task_attempts(lake(), job=job.id, task=chosen.task, failures=failures)),
        "side_by_side": attempts[-2:] if len(attempts) > 1 else [],
        "epochs": epochs,
        "epochs_hidden": max(0, epoch_count - len(epochs)),
        "most_bytes": max((one.bytes for one in epochs), default=0),
        "most_kind_bytes": max((one.bytes for one in chosen.kinds), default=0),
        "task_failures": [failure for failure in failures if failure.task == chosen.task],
        "all_downstream": len(found.graph.all_downstream(chosen.task)),
    }
