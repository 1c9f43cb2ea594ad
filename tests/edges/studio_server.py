"""The studio as people start it, and pages on it that are watched for trouble."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

from tests.browser import DESK
from tests.forked import Forked, is_quicker


@contextmanager
def running(*arguments, stderr=None):
    """`didact studio --no-open ...` in its own process, forked in quick tests: process and link.

    stderr: a pipe, or None for this process's own.
    """
    process = (forked if is_quicker() else started)(arguments, stderr)
    with ended(process):
        yield process, link_of(process)


def started(arguments, stderr):
    command = [sys.executable, "-m", "didact", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env=environment)


def forked(arguments, stderr):
    with open(os.devnull) as nothing:
        errors = sys.__stderr__.fileno() if stderr is None else None
        streams = (nothing.fileno(), None, errors)
        return Forked(*arguments, streams=streams, environment={**os.environ})


def serving(study):
    """The same of `didact study serve`."""
    return running("study", "serve", study)


@contextmanager
def ended(process):
    """A process that is ended afterwards."""
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()


def link_of(process) -> str:
    """What a server says first."""
    return process.stdout.readline().decode().split()[-1]


@contextmanager
def visit(browser, link, viewport=DESK, **options):
    """A page of the studio that has shown its first picture; at the end nothing was wrong."""
    context = browser.new_context(viewport=viewport, **options)
    page = watched(context)
    begin(page, link)
    try:
        yield page
    finally:
        context.close()
    no_trouble(page)


def watched(context):
    """A page that keeps what goes wrong on it.

    That the server refused something (422) the browser itself tells; that is no trouble.
    """
    page = context.new_page()
    troubles = page.troubles = []
    page.on(
        "console",
        lambda message: None if "422" in message.text else troubles.append(message.text),
    )
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("dialog", lambda dialog: troubles.append("a dialog opened"))
    page.clock.install()
    return page


def begin(page, link) -> None:
    """Open the studio on a watched page, as if nobody had used it before."""
    page.troubles.clear()
    page.goto(link)
    settled(page)


def no_trouble(page) -> None:
    """Nothing was wrong so far on a watched page."""
    assert page.troubles == []


def settled(page) -> None:
    """Wait until the picture and the lesson are those of the world as it is now.

    The clock is put forward, for the studio asks for a lesson when nobody has painted for a moment.
    """
    page.wait_for_selector("#board[data-current=true]")
    page.clock.fast_forward(300)
    page.wait_for_function(
        "() => { const d = document.getElementById('panel-lesson').dataset;"
        " return document.body.dataset.waiting === 'no' && d.asked === d.answered; }"
    )


def world(page) -> dict:
    """The world that the address bar holds."""
    page.wait_for_function("location.hash.length > 1")
    return json.loads(
        page.evaluate(
            "new TextDecoder().decode(Uint8Array.from(atob(location.hash.slice(1)"
            ".replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0)))"
        )
    )
