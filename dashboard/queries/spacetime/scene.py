"""What stands behind the buffers: epochs as bands, what each task was doing, failures, and work that was lost."""

from __future__ import annotations

from typing import Any

from dashboard.queries.failures import Failure
from dashboard.queries.lanes import state_lanes
from dashboard.queries.spacetime.lanes import Lanes
from dashboard.queries.timeline import timeline
from ingest.lake.readers import Lake
from replay.model import Manifest

MOST_BANDS = 2_000
PACE_BARS = 400
_ACKNOWLEDGED_SQL = """
SELECT checkpoint, task, max(acknowledged_us) FROM checkpoints
WHERE task IS NOT NULL AND acknowledged_us IS NOT NULL GROUP BY checkpoint, task
"""
# By second, or by as many seconds as leave so many bars.
_PACE_SQL = f"""
WITH width AS (SELECT greatest(1, (max(second) + {PACE_BARS}) // {PACE_BARS}) AS seconds FROM seconds)
SELECT second // seconds * seconds * 1000000, seconds * 1000000, sum(sendings)::BIGINT
FROM seconds, width WHERE second >= 0 GROUP BY 1, 2 ORDER BY 1
"""
_BUFFERS_SQL = "SELECT coalesce(sum(sendings), 0)::BIGINT FROM flows"
_TRAFFIC_SQL = """
SELECT channel, sum(sendings)::BIGINT, sum(taken)::BIGINT FROM flows GROUP BY channel
"""


def scene(lake: Lake, lanes: Lanes, *, job: str, manifest: Manifest, failures: list[Failure]) -> dict[str, Any]:
    """Of all tasks that have a lane."""
    picture = timeline(lake, job=job, manifest=manifest, failures=failures)
    duration_us = picture["durationUs"]
    tasks = [task for lane in lanes.shown for task in lane.tasks]
    observed = manifest.protocol.observed
    return {
        "durationUs": duration_us,
        "lanes": lanes.for_script(),
        "hidden": list(lanes.hidden),
        "epochs": picture["epochs"][:MOST_BANDS],
        "epochsMore": max(0, len(picture["epochs"]) - MOST_BANDS),
        "checkpoints": picture["checkpoints"],
        "failures": picture["failures"],
        "rollbacks": picture["rollbacks"],
        "spans": {one["task"]: one["spans"] for one in state_lanes(lake, job, tasks, duration_us, observed=observed)},
        "pace": [list(row) for row in lake.rows(_PACE_SQL, job=job)],
        "lost": _lost(lake, job, failures, picture["rollbacks"], tasks),
    }


def _lost(
    lake: Lake, job: str, failures: list[Failure], rollbacks: list[dict[str, Any]], tasks: list[str]
) -> list[dict[str, Any]]:
    """The stretches that had to be done again: from the checkpoint that was restored to the failure or rollback."""
    acknowledged = {(n, task): t_us for n, task, t_us in lake.rows(_ACKNOWLEDGED_SQL, job=job)}

    def since(checkpoint: int | None, task: str) -> int | None:
        return 0 if checkpoint == 0 else acknowledged.get((checkpoint or -1, task))

    lost = [
        (one.task, since(one.restored_checkpoint, one.task), one.failed_us, one.restored_checkpoint)
        for one in failures
        if one.failed_us is not None and one.rollback_us is None and one.restored_checkpoint is not None
    ]
    lost += [
        (task, since(one["checkpoint"], task), one["tUs"], one["checkpoint"]) for one in rollbacks for task in tasks
    ]
    return [
        {"task": task, "startUs": start, "endUs": end, "checkpoint": checkpoint}
        for task, start, end, checkpoint in lost
        if start is not None and end is not None and start < end
    ]


def traffic(lake: Lake, lanes: Lanes, *, job: str) -> list[dict[str, Any]]:
    """For the table behind the picture: of each lane how many buffers its tasks sent and took in all."""
    flows = {channel: (sent, taken) for channel, sent, taken in lake.rows(_TRAFFIC_SQL, job=job)}
    rows = []
    for lane in lanes.shown:
        its = [lanes.graph.task(task) for task in lane.tasks]
        sent = sum(flows.get(out.channel, (0, 0))[0] or 0 for task in its for out in task.outputs)
        taken = sum(flows.get(channel, (0, 0))[1] or 0 for task in its for channel in task.inputs)
        rows.append({"lane": lane, "sent": sent, "taken": taken})
    return rows


def buffers(lake: Lake, *, job: str) -> int:
    """Sendings in all, whatever is hidden."""
    return int(lake.rows(_BUFFERS_SQL, job=job)[0][0])
