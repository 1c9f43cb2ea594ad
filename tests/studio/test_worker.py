"""What a worker answers: replies, refusals, and bugs without their details."""

import json

import pytest

pytest.importorskip("starlette", reason="the studio is an extra")

from didact.errors import InvalidParameter, Unsupported
from didact.stages import stage
from didact.studio.worker import DONE, FAILED, REFUSED, STAGE, answer, answered_through


def refuse(question):
    error = InvalidParameter("a line")
    error.args = ("a line\nand another",)
    raise error


def exhaust(question):
    raise MemoryError


def exhaust_loading(question):
    raise ImportError("lib.so: failed to map segment from shared object")


def exhaust_loading_of_the_compiler(question):
    """As llvmlite says it."""
    try:
        raise OSError("lib.so: failed to map segment from shared object")
    except OSError:
        raise OSError("Could not find/load shared object file 'lib.so'")  # noqa: B904


def crash(question):
    raise ZeroDivisionError("secret place /home/somebody")


def unsupported(question):
    raise Unsupported("not this")


QUESTIONS = {
    "echo": lambda question: {"given": str(question)}, "nan": lambda question: {"x": float("nan")},
    "refuse": refuse, "exhaust": exhaust, "loading": exhaust_loading, "crash": crash,
    "unsupported": unsupported, "compiler": exhaust_loading_of_the_compiler,
}  # fmt: skip


def told(name: str, body: bytes) -> tuple[bytes, dict]:
    reply = answer(QUESTIONS, name, body)
    return reply[:1], json.loads(reply[1:])


def test_answers_are_json():
    assert told("echo", b'{"a": 0.1}') == (DONE, {"given": "{'a': Decimal('0.1')}"})


@pytest.mark.parametrize("name", ["refuse", "exhaust", "loading", "compiler", "unsupported"])
def test_refusals_are_one_line(name):
    kind, reply = told(name, b"1")
    assert kind == REFUSED
    assert "\n" not in reply["error"]


@pytest.mark.parametrize("name", ["crash", "nan"])
def test_bugs_are_told_without_their_details(name, capsys):
    kind, reply = told(name, b"1")
    assert kind == FAILED
    assert "secret" not in reply["error"]
    assert "Traceback" in capsys.readouterr().err


class Connection:
    """What a worker sends, kept."""

    def __init__(self):
        self.sent = []

    def send_bytes(self, message):
        self.sent.append(message)


def test_stages_are_sent_once_each_and_numbers_only_now_and_then():
    def slow(question):
        for words in ("solving", *(f"facets: {i} of 99" for i in range(99)), "proof"):
            stage(words)

    connection = Connection()
    answered_through(connection, {"slow": slow}, "slow", b"1")
    *stages, reply = connection.sent
    assert all(message[:1] == STAGE for message in stages)
    assert [stages[0][1:], stages[1][1:], stages[-1][1:]] == [
        b"solving", b"facets: 0 of 99", b"proof",
    ]  # fmt: skip
    assert len(stages) < 50
    assert reply == DONE + b"null"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"NaN", b'{"a": 1, "a": 2}', b"[" * 100_000, b"1" * 5000,
     b'"\\ud800"', b"{} x", b"1e999999999999999999999"],
)  # fmt: skip
def test_bodies_are_parsed_strictly(body):
    assert told("echo", body)[0] == REFUSED
