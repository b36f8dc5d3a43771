"""What the names of members say."""

import pytest

from replay.bundle.members import MemberName, looks_like_task_member, member_name, parse_member

NAMES = {
    "job.json": MemberName("manifest", "job.json"),
    "events.ndjson": MemberName("events", "events.ndjson"),
    "tasks/join.3/2/main/17.det": ("det", "join.3", 2, "main", None, 17),
    "tasks/join.3/2/out-0/0.det": ("det", "join.3", 2, "out-0", 0, 0),
    "tasks/join.3/2/sent-11/4.buf": ("buf", "join.3", 2, "sent-11", 11, 4),
    "tasks/join.3/2/sent-11/4.dlt": ("dlt", "join.3", 2, "sent-11", 11, 4),
    "tasks/join.3/2/received-1/4.rcv": ("rcv", "join.3", 2, "received-1", 1, 4),
    "tasks/join.3/2/state/5.json": ("state", "join.3", 2, "state", None, 5),
    "tasks/a.b ü.0/0/source/0.ndjson": ("source", "a.b ü.0", 0, "source", None, 0),
    "tasks/join.3/2/sink/9223372036854775807.ndjson": ("sink", "join.3", 2, "sink", None, (1 << 63) - 1),
    "tasks/join.3/4294967295/world/0.dlt": ("world", "join.3", (1 << 32) - 1, "world", None, 0),
    "tasks/join.3/2/sites.ndjson": ("sites", "join.3", 2, None, None, None),
}
UNKNOWN = [
    "readme.txt",
    "tasks",
    "tasks/join.3/2/main/017.det",
    "tasks/join.3/02/main/17.det",
    "tasks/join.3/2/main/-1.det",
    "tasks/join.3/2/main/٣.det",
    "tasks/join.3/2/main/9223372036854775808.det",
    "tasks/join.3/4294967296/main/0.det",
    "tasks/join.03/2/main/0.det",
    "tasks/join/2/main/0.det",
    "tasks/join.3/2/main-0/0.det",
    "tasks/join.3/2/out/0.det",
    "tasks/join.3/2/sent-0/0.det",
    "tasks/join.3/2/main/0.det/x",
    "tasks/join.3/2/main/0.det\n",
    "x/tasks/join.3/2/main/0.det",
]


@pytest.mark.parametrize(("name", "said"), NAMES.items())
def test_every_kind_of_member_is_told_from_its_name(name, said):
    if isinstance(said, tuple):
        kind, *fields = said
        said = MemberName(kind, name, *fields)
    assert parse_member(name) == said
    if said.folder and said.kind != "buf":
        assert member_name(said.task, said.attempt, said.folder, said.epoch) == name


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_names_are_unknown(name):
    assert parse_member(name).kind == "unknown"


def test_the_thread_of_a_log_is_in_its_name():
    assert parse_member("tasks/join.3/2/main/17.det").thread == "main"
    assert parse_member("tasks/join.3/2/out-4/17.det").thread == "out-4"
    assert parse_member("tasks/join.3/2/sent-4/17.buf").thread is None


def test_a_name_near_to_a_logs_is_not_ignored_in_silence():
    assert looks_like_task_member("tasks/join.3/2/main/017.det")
    assert looks_like_task_member("tasks/join.3/x/sent-a/0.buf")
    assert not looks_like_task_member("tasks/join.3/2/main/notes.txt")
    assert not looks_like_task_member("notes/main/0.det")
