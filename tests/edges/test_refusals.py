"""The form of a refusal fails on everything that is none."""

import pytest

from tests.command_line import Answer, Terminal, in_own_process, refused

LINE = "didact: size must be at most 100; it is 101\n"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(0, "", LINE),
        Answer(1, "", LINE),
        Answer(2, "six-cell\n", LINE),
        Answer(2, "", ""),
        Answer(2, "", LINE.removesuffix("\n")),
        Answer(2, "", LINE.removeprefix("didact: ")),
        Answer(2, "", LINE + LINE),
        Answer(2, "", LINE.replace("101", "\n101")),
        Answer(2, "", LINE.replace("size", "Size")),
        Answer(2, "", "didact: size 101 Traceback (most recent call last):\n"),
    ],
)
def test_what_is_no_refusal_is_found(answer):
    refused(Answer(2, "", LINE), "size", "101")
    with pytest.raises(AssertionError):
        refused(answer, "size", "101")


def test_another_code_and_what_was_said_before_can_be_wanted():
    refused(Answer(4, "one\n", LINE), "size", code=4, out="one\n")


def test_a_process_of_ones_own_answers_like_a_command():
    code = "import sys; print(sys.argv[1]); print('bad', file=sys.stderr); sys.exit(7)"
    assert in_own_process("größe", python=("-c", code)) == Answer(7, "größe\n", "bad\n")


KEYS = "import click; print('first'); print('>', click.getchar()); print('>', click.getchar())"


def test_keys_wait_until_the_command_reads_them_and_texts_are_read_once():
    late = f"import time; {KEYS.replace('; ', '; time.sleep(0.2); ')}"
    terminal = Terminal(python=("-c", late))
    terminal.until("first")
    terminal.press("a")
    assert terminal.until(">").endswith(">")
    terminal.until("a")
    terminal.press("b")
    terminal.until("> b")
    assert terminal.end() == 0
    with pytest.raises(AssertionError, match="'never' does not come"):
        ended().until("never")
    with pytest.raises(AssertionError, match="no key is asked for"):
        ended().press("a")


def ended() -> Terminal:
    terminal = Terminal(python=("-c", "print('done')"))
    terminal.until("done")
    return terminal
