"""Names under which a server answers, and sockets that it cannot have."""

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
