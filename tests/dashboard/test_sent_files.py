"""A file goes out a piece at a time, whole, and is closed when all of it was sent or nobody reads on."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from dashboard.api.streams import PIECE_BYTES, sent


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES, 5 * PIECE_BYTES + 7])
def test_a_file_is_sent_whole_a_piece_at_a_time(size: int, tmp_path: Path) -> None:
    made = bytes(number % 251 for number in range(size))
    (tmp_path / "made").write_bytes(made)
    file = (tmp_path / "made").open("rb")
    response = sent(file)
    assert response["Content-Length"] == str(size)

    async def read() -> bytes:
        got = b""
        async for piece in response.streaming_content:
            assert len(piece) <= PIECE_BYTES and not file.closed
            got += piece
            assert file.tell() == len(got), "more was read than was sent"
        return got

    assert asyncio.run(read()) == made and file.closed


def test_a_file_that_nobody_reads_on_is_closed(tmp_path: Path) -> None:
    (tmp_path / "made").write_bytes(bytes(3 * PIECE_BYTES))
    file = (tmp_path / "made").open("rb")

    async def begin() -> None:
        async with aclosing(sent(file).streaming_content) as pieces:
            await anext(pieces)

    asyncio.run(begin())
    assert file.closed
