"""Axes to draw on without a window, and a small lesson to draw."""

import pytest

from didact import make, teach


@pytest.fixture
def ax():
    return pytest.importorskip("matplotlib.figure").Figure().add_subplot()


@pytest.fixture(scope="session")
def taught():
    task = make("random-grid", size=4, n_features=3, seed=0)
    return task, teach(task, horizon=1)
