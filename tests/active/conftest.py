"""Fixtures of the tests of active learning."""

import sys

import pytest

from tests.active.weighing import NAME, weighing


@pytest.fixture
def quick(monkeypatch):
    """The options that make `ask` use the learner of these tests."""
    module = sys.modules["didact.learners.learn"]
    monkeypatch.setattr(module, "_learners", {**module._learners, NAME: weighing})
    return {"learner": NAME}
