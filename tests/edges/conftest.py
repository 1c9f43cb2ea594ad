"""Commands that write files, and the browser that opens pages."""

import asyncio

import pytest

from tests.browser import CHROMIUM


@pytest.fixture
def in_own_folder(monkeypatch, tmp_path):
    """Commands of the test run in its empty folder, which has their datasets too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


@pytest.fixture(scope="session")
def one_browser():
    """Chromium, started once, and the event loop that Playwright runs in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        loop = asyncio.get_running_loop()
        yield opened, loop
        asyncio._set_running_loop(loop)
        opened.close()


@pytest.fixture(scope="module")
def browser(one_browser):
    """A real browser, for modules that are skipped where there is none.

    Its loop counts as running in them only: other tests run loops of their own.
    """
    opened, loop = one_browser
    asyncio._set_running_loop(loop)
    yield opened
    asyncio._set_running_loop(None)
