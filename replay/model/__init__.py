"""What a job is made of: ids, records, the manifest and the graph of tasks and channels."""

from replay.model.graph import Channel, Graph
from replay.model.ids import (
    MAIN,
    WORLD,
    ChannelId,
    LogId,
    TaskId,
    Thread,
    channel_id,
    output_of_thread,
    thread_of_output,
)
from replay.model.manifest import Clock, Edge, Job, Manifest, Output, Protocol, Task, Vertex
from replay.model.record import BodyReader, Lineage, Record, json_bytes, read_json

__all__ = [
    "MAIN",
    "WORLD",
    "BodyReader",
    "Channel",
    "ChannelId",
    "Clock",
    "Edge",
    "Graph",
    "Job",
    "Lineage",
    "LogId",
    "Manifest",
    "Output",
    "Protocol",
    "Record",
    "Task",
    "TaskId",
    "Thread",
    "Vertex",
    "channel_id",
    "json_bytes",
    "output_of_thread",
    "read_json",
    "thread_of_output",
]
