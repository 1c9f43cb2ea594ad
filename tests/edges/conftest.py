"""Commands that write files."""

import pytest


@pytest.fixture
def in_own_folder(monkeypatch, tmp_path):
    """Commands of the test run in its empty folder, which has their datasets too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path
