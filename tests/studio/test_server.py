"""Names under which a server answers, and sockets that it cannot have."""

import asyncio
import socket

import pytest

pytest.importorskip("uvicorn", reason="the studio is an extra")

from didact.errors import InvalidParameter
from didact.studio.server import host_names, listening


def test_loopback_answers_to_its_names_only():
    assert set(host_names("127.0.0.1", 8000)) == {
        "127.0.0.1:8000", "localhost:8000", "[::1]:8000",
    }  # fmt: skip


def test_another_address_answers_to_itself_and_to_given_names():
    assert host_names("10.0.0.7", 80, ["lab"]) == ["10.0.0.7:80", "lab:80", "10.0.0.7", "lab"]


def test_all_addresses_answer_to_this_machine_but_not_to_any_name():
    names = host_names("0.0.0.0", 8000)
    assert "localhost:8000" in names
    assert "evil.example:8000" not in names


def test_a_port_that_is_taken_is_refused():
    taken = listening("127.0.0.1", 0)
    with pytest.raises(InvalidParameter, match="cannot listen"):
        listening("127.0.0.1", taken.getsockname()[1])
    taken.close()
    with pytest.raises(InvalidParameter, match="cannot listen"):
        listening("no such host", 0)


def test_what_is_sent_does_not_wait_for_an_acknowledgement():
    """Otherwise head and body of an answer can lie forty milliseconds apart."""
    seen = []

    async def visit():
        def visited(reader, writer):
            sock = writer.get_extra_info("socket")
            seen.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        sock = listening("127.0.0.1", 0)
        async with await asyncio.start_server(visited, sock=sock):
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            await reader.read()
            writer.close()

    asyncio.run(visit())
    assert seen == [1]
