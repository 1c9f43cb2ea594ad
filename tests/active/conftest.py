"""Fixtures of the tests of active learning."""

import pytest

from didact.learners import register_learner
from tests.active.weighing import NAME, weighing


@pytest.fixture
def quick(own_registries):
    """The options that make `ask` use the learner of these tests."""
    register_learner(NAME)(weighing)
    return {"learner": NAME}
