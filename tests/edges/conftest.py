"""Commands that write files, and the browser that opens pages."""

import pytest

from tests.browser import CHROMIUM


@pytest.fixture
def in_own_folder(monkeypatch, tmp_path):
    """Commands of the test run in its empty folder, which has their datasets too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path


@pytest.fixture(scope="module")
def browser():
    """A real browser, for modules that are skipped where there is none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()
