"""A thread's log: bytes by epoch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.errors import InvariantError
from replay.log.codec import encode
from replay.log.determinants import Rng
from replay.log.thread_log import ThreadLog


def test_epochs_are_explicit_so_an_empty_one_keeps_its_neighbours_apart():
    log = ThreadLog()
    log.append(Rng(1), 0)
    log.open(1)
    log.append(Rng(2), 2)
    assert log.epochs == (0, 1, 2)
    assert log.bytes_of(0) == encode(Rng(1))
    assert log.bytes_of(1) == b""
    assert list(log.since(1)) == [(1, b""), (2, encode(Rng(2)))]


def test_late_bytes_of_an_old_epoch_stay_in_it():
    log = ThreadLog()
    log.append_bytes(b"aa", 0)
    log.append_bytes(b"cc", 5)
    assert log.append_bytes(b"bb", 0) == 2
    assert (log.bytes_of(0), log.bytes_of(5)) == (b"aabb", b"cc")


def test_a_truncated_epoch_is_gone_and_cannot_come_back():
    log = ThreadLog()
    for epoch in range(4):
        log.append_bytes(bytes([epoch]), epoch)
    log.truncate(2)
    assert log.epochs == (2, 3)
    assert log.bytes_of(2) == b"\x02"
    with pytest.raises(InvariantError, match="epoch 1 was truncated"):
        log.append_bytes(b"x", 1)


def test_a_rollback_drops_epochs_from_the_end():
    log = ThreadLog()
    for epoch in range(4):
        log.append_bytes(b"x", epoch)
    log.forget(2)
    assert log.epochs == (0, 1)
    assert log.append_bytes(b"y", 2) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=6)), max_size=40))
def test_it_is_a_map_from_epochs_to_bytes(appends):
    log, model = ThreadLog(), {}
    for epoch, data in appends:
        assert log.append_bytes(data, epoch) == len(model.setdefault(epoch, b""))
        model[epoch] += data
    assert log.epochs == tuple(sorted(model))
    assert dict(log.since(0)) == model
    assert log.length_bytes == sum(map(len, model.values()))
    for epoch, data in model.items():
        assert log.bytes_of(epoch, 2, 4) == data[2:4]
        assert log.length_of(epoch) == len(data)
