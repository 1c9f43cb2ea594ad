"""Observe with all settings as keywords, which tests vary one at a time."""

from dataclasses import fields

import numpy as np

import didact
from didact.bec import ObserveSettings, ObserveWorkers
from didact.bec.observed.setting import Alternatives, Setting, StepRewards

SAMPLING = {field.name for field in fields(ObserveSettings)}
WORKERS = {field.name for field in fields(ObserveWorkers)}


def observe(env, policy=None, **settings):
    """`didact.observe`; what belongs to its settings goes there."""
    sampling = {name: settings.pop(name) for name in SAMPLING & set(settings)}
    workers = {name: settings.pop(name) for name in WORKERS & set(settings)}
    return didact.observe(env, policy, settings=sampling, workers=workers, **settings)


def plain_setting(weights, tolerance=0.1, *, seen=(None, None, None), discount=0.9, horizon=10,
                  **more):  # fmt: skip
    """Scaled features as they are; seen: simulator, policy and features."""
    k = len(weights)
    simulator, policy, features = seen

    def of_step(before, actions, stepped):
        return features(before, actions, stepped.observations, stepped.ended)

    return Setting(simulator, policy, of_step, weights,
                   ("",) * k, discount, horizon, tolerance, scale=np.ones(k),
                   alternatives=Alternatives(2), rewards=StepRewards(weights), **more)  # fmt: skip
