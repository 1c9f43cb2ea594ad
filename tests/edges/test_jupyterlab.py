"""Widgets in JupyterLab itself: paint in a notebook, get the task back."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest

from tests.browser import CHROMIUM, DESK

pytest.importorskip("anywidget", reason="the widgets are an extra")
pytest.importorskip("jupyterlab", reason="JupyterLab is not among the tools")
pytest.importorskip("playwright.sync_api")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here"),
]

CELLS = (
    "import didact\nfrom didact.widgets import ConeView, LessonPlayer, World\n"
    "world = World()\nworld",
    "task = world.task\nprint('painted', world.painting['rows'][0], task.mdp.n_states)",
    "six = didact.make('six-cell')\nLessonPlayer(six, didact.teach(six))",
    "grid = didact.make('random-grid', size=4, n_features=3, seed=3)\n"
    "cone = ConeView(grid, didact.teach(grid, teacher='exact'))\ncone",
    "print('slider at', cone.n)",
    "world.painting = {**world.painting, 'rows': ['b' * 9, *world.painting['rows'][1:]]}",
)


def notebook() -> dict:
    """A notebook of these cells."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": [{**cell, "id": f"c{i}", "source": text} for i, text in enumerate(CELLS)],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@contextmanager
def jupyterlab(folder):
    """The link of a JupyterLab that serves a folder; nothing of it is kept elsewhere."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}",
        "--ServerApp.port_retries=0", "--IdentityProvider.token=secret",
        f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    own = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, env={**os.environ, **own, "HOME": str(folder)}
    )
    link = f"http://127.0.0.1:{port}"
    try:
        while True:
            assert process.poll() is None
            try:
                urllib.request.urlopen(f"{link}/api").read()
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        yield link
    finally:
        process.terminate()
        process.wait()


def run_cell(page, number: int) -> None:
    """Run a cell and wait until it has ended."""
    page.get_by_text("| Idle").wait_for()  # what is run before there is a kernel is lost
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".jp-InputArea-editor").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "(n) => /\\[\\d+\\]/.test(document.querySelectorAll('.jp-CodeCell')[n]"
        ".querySelector('.jp-InputPrompt').textContent)",
        arg=number,
    )


def test_a_world_is_painted_in_jupyterlab(browser, tmp_path):
    (tmp_path / "n.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
    with jupyterlab(tmp_path) as link:
        context = browser.new_context(viewport=DESK)
        context.set_default_timeout(0)
        page = context.new_page()
        page.goto(f"{link}/doc/tree/n.ipynb?token=secret")
        page.wait_for_selector(".jp-CodeCell .jp-InputArea-editor")
        output = page.locator(".jp-CodeCell")
        run_cell(page, 0)
        page.wait_for_selector(".policy", state="attached")
        page.check("input[value=wall]")
        page.locator(".cell[data-cell='0']").click()
        page.locator(".cell[data-cell='0'][aria-label$=wall]").wait_for()
        page.screenshot(path=tmp_path / "world.png")
        run_cell(page, 1)
        output.nth(1).get_by_text("painted #aaaaaaaa 75").wait_for()
        run_cell(page, 2)
        output.nth(2).locator("#demo1 [data-do=next]").click()
        assert output.nth(2).locator("#demo1 .now").inner_text().startswith("Step 2 of 4")
        run_cell(page, 3)
        output.nth(3).locator("input[type=range]").focus()
        page.keyboard.press("Home")
        output.nth(3).get_by_text("After 0 of").wait_for()
        page.screenshot(path=tmp_path / "cone.png")
        run_cell(page, 4)
        output.nth(4).get_by_text("slider at 0").wait_for()
        run_cell(page, 5)
        page.locator(".cell[data-cell='0'][aria-label*=mud]").wait_for()
        context.close()
