"""Who may come in, names under which a server answers, and sockets that it cannot have."""

import asyncio
import socket

import pytest

pytest.importorskip("uvicorn", reason="the studio is an extra")

from starlette.responses import PlainTextResponse

from didact.errors import InvalidParameter
from didact.studio.server import HEADERS, Access, host_names, listening
from tests.studio.asgi import asked

HOST, TOKEN = "127.0.0.1:8000", "t" * 32
HOME = [("Host", HOST)]


@pytest.fixture
def access():
    return Access(PlainTextResponse("inside"), [HOST, "localhost:8000"], TOKEN)


@pytest.fixture
def cookie(access):
    answer = asked(access, headers=HOME, query=f"token={TOKEN}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    told = answer.headers["set-cookie"]
    assert "HttpOnly" in told
    assert "SameSite=strict" in told
    assert TOKEN not in told
    return ("Cookie", told.partition(";")[0])


def test_a_file_that_opens_the_browser_is_led_on_by_a_page(access):
    """Strict cookies are not sent where another site redirects to."""
    headers = [*HOME, ("Sec-Fetch-Site", "cross-site")]
    answer = asked(access, headers=headers, query=f"token={TOKEN}")
    assert answer.status == 200
    assert "url=/" in answer.body
    assert "samesite=strict" in answer.headers["set-cookie"].lower()


def test_the_token_is_exchanged_for_a_cookie(access, cookie):
    assert asked(access, headers=[*HOME, cookie]).body == "inside"
    assert asked(access, headers=[("Host", "LOCALHOST:8000"), cookie]).body == "inside"


def test_every_answer_has_the_headers(access, cookie):
    for answer in (asked(access), asked(access, headers=[*HOME, cookie])):
        assert all(answer.headers[name.lower()] == value for name, value in HEADERS.items())
    policy = HEADERS["Content-Security-Policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} < {*policy.split("; ")}
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", "127.0.0.1:8000.evil",
     "localhost:8000@evil", " 127.0.0.1:8000", "[::1]:8000"],
)  # fmt: skip
def test_other_hosts_are_not_answered(access, cookie, host):
    assert asked(access, headers=[("Host", host), cookie]).status == 421


def test_a_host_is_named_once(access, cookie):
    assert asked(access, headers=[cookie]).status == 421
    assert asked(access, headers=[*HOME, *HOME, cookie]).status == 421


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "https://127.0.0.1:8000", "http://127.0.0.1",
     "http://127.0.0.1:8000.evil.example", "http://localhost:8000", "", "http://127.0.0.1:8000/"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_origins_are_not_answered(access, cookie, origin, method):
    headers = [*HOME, cookie, ("Origin", origin)]
    assert asked(access, method, headers=headers).status == 403


def test_what_changes_something_says_where_it_comes_from(access, cookie):
    assert asked(access, "POST", headers=[*HOME, cookie]).status == 403
    own = [*HOME, cookie, ("Origin", f"http://{HOST}")]
    assert asked(access, "POST", headers=own).status == 200
    assert asked(access, "POST", headers=[*own, ("Origin", "http://evil")]).status == 403


@pytest.mark.parametrize("query", ["", "token=", "token=x", "token=" + TOKEN[:-1], "t=" + TOKEN])
def test_without_the_token_nothing_is_seen(access, query):
    answer = asked(access, headers=HOME, query=query)
    assert answer.status == 403
    assert "inside" not in answer.body
    assert "set-cookie" not in answer.headers


def test_the_token_opens_only_the_front_door(access):
    assert asked(access, path="/ask/look", headers=HOME, query=f"token={TOKEN}").status == 403
    posted = [*HOME, ("Origin", f"http://{HOST}")]
    assert asked(access, "POST", headers=posted, query=f"token={TOKEN}").status == 403


@pytest.mark.parametrize("value", ["", "didact=", "didact=x", "didact=" + TOKEN, '"', "didact=\\"])
def test_other_cookies_are_worth_nothing(access, value):
    assert asked(access, headers=[*HOME, ("Cookie", value)]).status == 403


def test_cookies_of_another_server_are_worth_nothing(access, cookie):
    other = Access(PlainTextResponse("inside"), [HOST], TOKEN)
    assert asked(other, headers=[*HOME, cookie]).status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_not_answered(access, cookie, method):
    answer = asked(access, method, headers=[*HOME, cookie, ("Origin", "http://evil.example")])
    assert answer.status == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_headers_are_not_large(access, cookie):
    assert asked(access, headers=[*HOME, cookie, ("X", "y" * 17_000)]).status == 431


def test_a_study_lets_everybody_in_but_no_other_site():
    access = Access(PlainTextResponse("inside"), [HOST], None)
    assert asked(access, headers=HOME).body == "inside"
    assert asked(access, headers=[("Host", "evil")]).status == 421
    assert asked(access, "POST", headers=[*HOME, ("Origin", "http://evil")]).status == 403


def test_sockets_are_closed(access):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(access({"type": "websocket", "headers": []}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_a_proxy_with_tls_is_let_in_by_its_name_alone():
    access = Access(PlainTextResponse("inside"), [HOST], None, proxied=["study.example"])

    def status(host, origin):
        return asked(access, "POST", headers=[("Host", host), ("Origin", origin)]).status

    assert status("study.example", "https://study.example") == 200
    assert status(HOST, f"http://{HOST}") == 200
    assert status(HOST, f"https://{HOST}") == 403
    assert status("study.example", "https://evil.example") == 403
    assert status("study.example", f"http://{HOST}") == 403
    assert status("evil.example", "https://evil.example") == 421


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
