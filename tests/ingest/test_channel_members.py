"""A channel's members as numbers against a dictionary of their names."""

import copy
import random

import pytest

from ingest.transforms.members import Members
from replay.bundle.members import parse_member
from replay.errors import InvariantError

TASKS = ("map.0", "{}.1", "a{0}b.12", "größe {x}.3")
FILES = (("sent-3", "buf"), ("world", "dlt"), ("received-0", "rcv"), ("out-1", "det"))


@pytest.mark.parametrize("seed", range(20))
def test_names_come_back_whatever_the_task_is_called(seed: int) -> None:
    draw = random.Random(seed)
    task, (folder, suffix) = draw.choice(TASKS), draw.choice(FILES)
    keys = draw.sample([(attempt, epoch) for attempt in range(4) for epoch in (0, 1, 5, 2**63 - 1)], 9)
    wanted = {key: (f"tasks/{task}/{key[0]}/{folder}/{key[1]}.{suffix}", draw.randrange(100)) for key in keys}
    members = Members()
    for name, size in wanted.values():
        members.add(parse_member(name), size)
    for found in (members, copy.deepcopy(members)):
        assert list(found) == keys and len(found) == len(keys)
        assert list(found.paths()) == [name for name, _ in wanted.values()], f"seed {seed}"
        assert found.bytes == sum(size for _, size in wanted.values())
        for attempt in range(5):
            for epoch in (0, 1, 2, 5, 2**63 - 1):
                assert found.get(attempt, epoch) == wanted.get((attempt, epoch), (None, 0))[0], f"seed {seed}"
    some = members.between(1, 5)
    assert list(some) == [key for key in keys if key[1] == 1]
    assert some.bytes == sum(size for key, (_, size) in wanted.items() if key[1] == 1)
    assert members.by_epoch() == {epoch: [a for a, e in keys if e == epoch] for epoch in {e for _, e in keys}}


def test_members_of_two_folders_are_not_one_kind() -> None:
    members = Members()
    members.add(parse_member("tasks/map.0/0/sent-0/1.buf"), 1)
    with pytest.raises(InvariantError):
        members.add(parse_member("tasks/map.0/0/sent-1/1.buf"), 1)
