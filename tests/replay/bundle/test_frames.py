"""Frames of buffers, sendings and receipts, held to the format's words by a second writing of each."""

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.bundle.frames import (
    RECEIPT_BYTES,
    BufferFrame,
    ReceiptFrame,
    SendingFrame,
    read_buffers,
    read_receipts,
    read_sendings,
)
from replay.errors import CorruptMember
from tests.replay.log.strategies import int32, int64, uint32

buffers = st.builds(BufferFrame, int64, int64, st.integers(0, 3), st.just(4), int64, int32, st.binary(max_size=30))
sendings = st.builds(SendingFrame, int64, int64, uint32, uint32, st.integers(0, 1), st.binary(max_size=30))
receipts = st.builds(ReceiptFrame, int64, uint32, uint32, int64, int64, int64, int32, int32)


@given(st.lists(buffers, max_size=5))
def test_buffers_are_written_as_the_format_says_and_read_back(frames):
    data = b"".join(one.to_bytes() for one in frames)
    assert data == b"".join(
        struct.pack(">q", one.seq)
        + struct.pack(">q", one.t_us)
        + struct.pack(">B", one.flags)
        + struct.pack(">q", one.main_epoch)
        + struct.pack(">i", one.main_offset)
        + struct.pack(">i", len(one.payload))
        + one.payload
        for one in frames
    )
    check_read(frames, list(read_buffers(data, epoch=4)), data)
    assert [one for _, one in read_buffers(io.BytesIO(data), epoch=4)] == frames


@given(st.lists(sendings, max_size=5))
def test_sendings_are_written_as_the_format_says_and_read_back(frames):
    data = b"".join(one.to_bytes() for one in frames)
    assert data == b"".join(
        struct.pack(">q", one.seq)
        + struct.pack(">q", one.t_us)
        + struct.pack(">I", one.receiver_attempt)
        + struct.pack(">I", one.sending)
        + struct.pack(">B", one.flags)
        + struct.pack(">i", len(one.delta))
        + one.delta
        for one in frames
    )
    check_read(frames, list(read_sendings(data)), data)


@given(st.lists(receipts, max_size=5))
def test_receipts_are_of_48_bytes_and_read_back(frames):
    data = b"".join(one.to_bytes() for one in frames)
    assert data == b"".join(
        struct.pack(">q", one.seq)
        + struct.pack(">I", one.sender_attempt)
        + struct.pack(">I", one.sending)
        + struct.pack(">q", one.received_us)
        + struct.pack(">q", one.taken_us)
        + struct.pack(">q", one.epoch)
        + struct.pack(">i", one.offset)
        + struct.pack(">i", one.record_count)
        for one in frames
    )
    assert len(data) == 48 * len(frames) and RECEIPT_BYTES == 48
    check_read(frames, list(read_receipts(data)), data)


def check_read(frames, read, data):
    assert [one for _, one in read] == frames
    for offset, one in read:
        assert data[offset:].startswith(one.to_bytes())


READERS = {
    "buffer": (BufferFrame(1, 2, 0, 0, 0, 0, b"payload"), lambda data: read_buffers(data, epoch=0, path="x")),
    "sending": (SendingFrame(1, 2, 3, 4, 0, b"delta"), lambda data: read_sendings(data, path="x")),
    "receipt": (ReceiptFrame(1, 2, 3, 4), lambda data: read_receipts(data, path="x")),
}


@pytest.mark.parametrize(("frame", "read"), READERS.values(), ids=READERS.keys())
def test_a_frame_cut_anywhere_is_named_with_its_offset_and_those_before_are_kept(frame, read):
    one = frame.to_bytes()
    for cut in range(1, len(one)):
        frames, found = read(one + one[:cut]), []
        with pytest.raises(CorruptMember) as caught:
            for _, kept in frames:
                found.append(kept)
        assert found == [frame]
        assert (caught.value.path, caught.value.offset) == ("x", len(one))


@pytest.mark.parametrize("length", [-1, 8, 1 << 30])
def test_a_length_past_what_is_there_is_refused(length):
    data = bytearray(BufferFrame(1, 2, 0, 0, 0, 0, b"payload").to_bytes())
    struct.pack_into(">i", data, 29, length)
    with pytest.raises(CorruptMember, match=f"claims {length} bytes, and 7 are left"):
        list(read_buffers(bytes(data), epoch=0))


def test_flags_that_nobody_knows_are_refused():
    for frame, read in (READERS["buffer"], READERS["sending"]):
        data = bytearray(frame.to_bytes())
        data[16 if frame is READERS["buffer"][0] else 24] = 0x80
        with pytest.raises(CorruptMember, match="has flags 0x80"):
            list(read(bytes(data)))


def test_flags_say_what_they_mean():
    assert BufferFrame(0, 0, 1, 0, 0, 0, b"").is_event and not BufferFrame(0, 0, 2, 0, 0, 0, b"").is_event
    assert BufferFrame(0, 0, 2, 0, 0, 0, b"").held_back
    assert SendingFrame(0, 0, 0, 0, 1, b"").from_in_flight
    assert not ReceiptFrame(1, 0, 0, 4).taken and ReceiptFrame(1, 0, 0, 4, 5, 0, 0, 0).taken


@given(st.binary(max_size=150))
def test_any_bytes_are_read_or_refused(data):
    for _, read in READERS.values():
        try:
            list(read(data))
        except CorruptMember as fault:
            assert 0 <= fault.offset < len(data)
