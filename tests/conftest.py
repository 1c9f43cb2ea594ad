"""One hypothesis profile for all tests, the same examples in every run; registries that forget."""

from importlib import import_module

import pytest
from hypothesis import settings

settings.register_profile("didact", derandomize=True, deadline=None)
settings.load_profile("didact")

REGISTRIES = {
    "world": "didact.worlds.registry:_worlds",
    "teacher": "didact.teaching.teach:_teachers",
    "learner": "didact.learners.learn:_learners",
    "strategy": "didact.active.strategies:_strategies",
    "study": "didact.studies.registry:_studies",
}


@pytest.fixture
def own_registries(monkeypatch):
    """The five registries by kind; what a test registers is forgotten, packages are looked up."""
    found = {}
    for kind, place in REGISTRIES.items():
        module, _, name = place.partition(":")
        found[kind] = registry = getattr(import_module(module), name)
        monkeypatch.setattr(registry, "_added", dict(registry._added))
        monkeypatch.setattr(registry, "_packages_seen", False)
    return found
