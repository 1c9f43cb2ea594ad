"""Watch a policy in a simulator: roll it out, branch every situation, say what is known of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.blocks import Workers
from didact.bec.calibration import calibrated, noise_floor, require_floor
from didact.bec.observed import Alternatives, Observed, Setting, blind_directions
from didact.bec.rewards import (
    BranchRewards,
    StepRewards,
    as_reward_range,
    fit_notes,
    fitted_weights,
)
from didact.bec.walking import Walked, replayed, rollouts
from didact.errors import InvalidModel, InvalidParameter
from didact.inputs import as_float, as_text, entries, is_number, shown, whole_number
from didact.mdp.exchange.minari_episodes import read_episodes
from didact.random import Seed, as_generator, stream
from didact.worlds.gym.environments import make_environment
from didact.worlds.simulators.agents import Features, Policy, batch_features, batch_policy
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.batches import DrawsChance, Simulator
from didact.worlds.simulators.opening import named_environment, open_simulator
from didact.worlds.simulators.weights import as_weights

Floats = NDArray[np.float64]

LOOK = 3
"""Steps of a branch of the first look, in units of 1 / (1 - discount)."""
FAR = 10
"""Steps for which episodes, and branches of a few situations, are followed to see what they pay, in
the same units: what comes later counts less than a 20,000th."""
PROBES = 10
"""Situations whose branches are followed so far, at most: one in PROBED."""
PROBED = 40
"""So that following them costs little beside the branches of all situations."""
FEW_REPEATS = 10
"""Repeats of these."""
RANDOM_ACTIONS = 4
"""Of a continuous space, tried beside the steps around the policy's own."""
REPEATS = 100
"""Default number of branches of each action where steps depend on chance."""
WIDTH = 0.1
"""Default step around a continuous action, as a share of its range."""


def observe(
    env: Any,
    policy: Any = None,
    *,
    features: Any = None,
    weights: Any = None,
    discount: float = 0.99,
    feature_names: Sequence[str] | None = None,
    actions: Any = None,
    held: Any = 1,
    starts: Any = None,
    recorded: Any = None,
    n_rollouts: int = 100,
    length: int = 40,
    tolerance: float | None = None,
    horizon: int | None = None,
    restore: str = "auto",
    repeats: int | None = None,
    reward_range: Any = None,
    jobs: int = 1,
    cluster: str | None = None,
    checkpoint: str | None = None,
    progress: Any = None,
    seed: Seed = 0,
) -> Observed:
    """What a policy does in a simulator, beside everything else it could do.

    env: an environment of Gymnasium, its id, a function that makes one, an object that steps arrays
        of states, or 'point-robot', 'pendulum', 'mountain-car' or 'lqr', which are built in.
    policy: an object with `predict`, as Stable-Baselines3 has it, or a function of observations;
        by default `env.best_policy(discount)`, which built-in simulators have.
    features: a function (observation, action, next_observation, terminated) -> k numbers, of one
        step or of many; by default `env.features`.
    weights: of the features in the reward; by default `env.weights` where features are its own,
        else they are fitted to the environment's rewards.
    discount: below 1.
    feature_names: one for each feature.
    actions: for continuous actions, how far around the policy's own to try others; by default a
        tenth of their range.
    held: for how many steps another action is taken before the policy goes on, once by default;
        several numbers of steps are alternatives of their own, as (1, 4, 16).
    starts: where episodes begin, each as likely: states (n, d) of a simulator that steps arrays,
        or seeds of resets; by default where the environment lets them begin.
    recorded: a Minari dataset, by its name or folder, of which demonstrations are cut instead of
        rollouts of the policy; its episodes must have seeds. The policy goes on after branches.
    n_rollouts: episodes of the policy, from which demonstrations are cut.
    length: their most steps.
    tolerance: return below which a difference counts as none; by default a twentieth of what an
        action typically makes a difference.
    horizon: steps of a branch; by default until what follows counts less than a quarter of the
        tolerance.
    restore: how states are put back: 'auto', the first way that holds to the bit, or 'own',
        'mujoco', 'copy' or 'replay'.
    repeats: where steps depend on chance, branches of each action; 100 by default. Giving it says
        that an environment object has chance, also where none was found.
    reward_range: the least and the largest reward of a step, where they are known; without them
        certificates assume that rewards stay within those of the steps that were made.
    jobs: processes that branch; the result does not depend on them.
    cluster: the address of a Dask scheduler that branches instead.
    checkpoint: a file that keeps what is done; when an observation was interrupted, the same one
        with the same file goes on from there. It is removed at the end.
    progress: a function (situations done, of how many, simulator steps a second).
    seed: None, a whole number, or a generator.
    """
    if not is_number(discount) or not 0 < discount < 1:
        raise InvalidParameter(f"discount must be between 0 and 1; it is {shown(discount)}")
    whole_number(n_rollouts, "n_rollouts", 1)
    whole_number(length, "length", 1)
    steps = None if horizon is None else whole_number(horizon, "horizon", 1)
    names = _checked_names(feature_names)
    env = named_environment(env)
    episodes = None if recorded is None else read_episodes(recorded)
    simulator = open_simulator(_as_objects(env) if episodes else env, restore=restore)
    if starts is not None:
        simulator.start_from(starts)
    asked = _asked(env, policy, (features, weights, names), discount)
    others = replace(_alternatives(simulator.action_space, actions, seed), held=_held(held))
    declared = as_reward_range(reward_range)

    def looked(rng: np.random.Generator) -> Observed:
        n_repeats = _repeats(simulator, repeats)
        seeds = rng.integers(2**31, size=n_rollouts).tolist()
        act, phi = _tried(simulator, asked, seeds[:2])
        walked = (
            rollouts(simulator, act, phi, seeds, length)
            if episodes is None
            else replayed(simulator, phi, episodes, length)
        )
        far = math.ceil(FAR / (1 - discount))
        probe = _Probe(simulator, act, phi, others, far, n_repeats)
        own_weights, told_names, notes = _weights(asked, walked, probe)
        known = replace(StepRewards(own_weights), declared=declared)
        known = walked.paid(known).joined(probe.paid(walked, StepRewards(own_weights))).checked()
        first_look = Setting(
            *(simulator, act, phi, own_weights, told_names),
            float(discount),
            steps or math.ceil(LOOK / (1 - discount)),
            tolerance=1.0,
            scale=np.ones(len(own_weights)),
            alternatives=others,
            rewards=known,
            repeats=n_repeats,
            workers=Workers(jobs, cluster),
        )
        setting = calibrated(first_look, walked, tolerance, steps, rng)
        told = replace(setting, workers=Workers(jobs, cluster, progress, checkpoint))
        return require_floor(replace(_seen(told, walked, rng), notes=notes))

    try:
        return looked(as_generator(seed, "observe"))
    except DrawsChance:
        if simulator.is_random:
            raise
        simulator.is_random = True  # chance that comes late: all over again, with repeats
        return looked(as_generator(seed, "observe"))


def _as_objects(env: Any) -> Any:
    """Seeds of recordings are those of one environment, and not of its vector entry point."""
    return (lambda: make_environment(env, {})) if isinstance(env, str) else env


def _own(env: Any, name: str) -> Any:
    """What an environment brings by itself."""
    found = getattr(env, name, None)
    if not callable(found):
        asked = {"features": "features", "best_policy": "policy"}[name]
        raise InvalidParameter(f"{asked} must be given: this environment has no {name} of its own")
    return found


class _Asked(NamedTuple):
    """Whom to look at and by which features, as they were given or as the environment brings
    them; weights None: to be fitted."""

    policy: Any
    features: Any
    weights: Any
    names: Sequence[str] | None


def _asked(env: Any, policy: Any, reward: tuple[Any, Any, Any], discount: float) -> _Asked:
    """What was given, completed by what the environment brings; reward: features, weights and
    names."""
    features, weights, names = reward
    if features is None:
        weights = getattr(env, "weights", None) if weights is None else weights
        features = _own(env, "features")
        names = getattr(env, "feature_names", None) if names is None else names
    if policy is None:
        policy = _own(env, "best_policy")(discount)
    return _Asked(policy, features, weights, names)


def _checked_names(given: Any) -> list[str] | None:
    if given is None:
        return None
    names = entries(given, "feature_names", "names")
    return [as_text(name, "feature_names") for name in names]


def _tried(simulator: Simulator, asked: _Asked, seeds: list[int]) -> tuple[Policy, Features]:
    """Policy and features for many states at once, tried on the first steps of episodes."""
    batch = simulator.begin(seeds)
    before = batch.observations
    act = batch_policy(asked.policy, simulator.action_space, before)
    chosen = act(before)
    stepped = batch.step(chosen)
    first_step = (before, chosen, stepped.observations, stepped.ended)
    phi = batch_features(asked.features, asked.names, first_step)
    batch.keep(np.zeros(len(seeds), dtype=np.bool_))
    return act, phi


def _seen(told: Setting, walked: Walked, rng: np.random.Generator) -> Observed:
    """Rows of every situation along the rollouts; told: the setting that says how far it is."""
    rows, others, covariances, setting = told.rows_of(
        walked.situations, walked.observations, rng, walked.actions
    )
    quiet = replace(setting.workers, tell=None, checkpoint=None)
    setting = replace(setting, workers=quiet, blind=blind_directions(rows, setting.scale))
    return Observed(
        *(setting, tuple(walked.situations), walked.observations, walked.actions, others, rows),
        *(walked.rollout, walked.step),
        jitter=noise_floor(setting, walked, rng),
        n_steps=setting.simulator.n_steps,
        covariances=covariances,
    )


class _Probe(NamedTuple):
    """Episodes on to their end, and branches of a few situations: how far, and who follows them."""

    simulator: Simulator
    policy: Policy
    features: Features
    alternatives: Alternatives
    horizon: int
    repeats: int

    def paid(self, walked: Walked, record: StepRewards) -> StepRewards:
        """The record with what steps pay after rollouts were left off, and on branches of a few
        situations along them. All step together: a batch costs little more than one copy."""
        numbers, firsts, until = self._copies(walked)
        seeds = stream(0, "probe").integers(2**31, size=len(numbers)) if self.repeats > 1 else None
        situations = [walked.situations[i] for i in numbers]
        batch = self.simulator.resume(situations, seeds, watched=True)
        paid, alive, actions = BranchRewards(record), np.arange(len(numbers)), firsts
        for done in range(1, self.horizon + 1):
            before = batch.observations
            stepped = batch.step(actions)
            phi = self.features(before, actions, stepped.observations, stepped.ended)
            paid.add(phi, stepped.rewards, done)
            batch.keep(~stepped.ended)
            alive = alive[~stepped.ended]
            if not len(alive):
                break
            actions = self.policy(batch.observations)
            still = until[alive] > done
            if still.any():
                actions = np.array(actions)
                actions[still] = firsts[alive[still]]
        batch.keep(np.zeros(len(alive), dtype=np.bool_))
        return paid.record()

    def _copies(self, walked: Walked) -> tuple[NDArray[np.int64], Any, NDArray[np.int64]]:
        """The situations that copies begin in, their first actions, and for how many steps."""
        n = len(walked.situations)
        last = np.flatnonzero(np.append(walked.rollout[1:] != walked.rollout[:-1], True))
        last = last[~walked.ended[last]]
        some = np.unique(np.linspace(0, n - 1, min(PROBES, 2 + n // PROBED)).astype(int))
        others = self.alternatives.beside(walked.actions[some], walked.observations[some])
        n_others = others.shape[1]
        held = np.array(self.alternatives.steps_held(n_others)[1:])
        times = 1 if self.repeats == 1 else FEW_REPEATS
        numbers = np.concatenate([last, np.tile(some.repeat(n_others), times)])
        flat = others.reshape(-1, *others.shape[2:])
        firsts = np.concatenate([walked.actions[last], *[flat] * times])
        until = np.concatenate([np.ones(len(last), int), np.tile(held, len(some) * times)])
        return numbers, firsts, until


def _weights(
    asked: _Asked, walked: Walked, probe: _Probe
) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """The weights, given or fitted to episodes and branches, the features' names, and notes."""
    k = walked.features.shape[1]
    names = _names(asked.names, k)
    if asked.weights is not None:
        return as_weights(asked.weights, k), names, ()
    record = probe.paid(walked, walked.paid(StepRewards(None)))
    return fitted_weights(record, names), names, fit_notes(record, names)


def _repeats(simulator: Simulator, given: Any) -> int:
    if simulator.is_random:
        return REPEATS if given is None else whole_number(given, "repeats", 2)
    if given is None:
        return 1
    if isinstance(simulator, ArraySimulator):
        raise InvalidParameter(
            f"repeats is for simulators with chance; {simulator.name} has none, leave it out"
        )
    simulator.is_random = True  # whoever gives repeats knows of chance
    return whole_number(given, "repeats", 2)


def _names(given: Sequence[str] | None, k: int) -> tuple[str, ...]:
    if given is None:
        return tuple(f"feature {j}" for j in range(k))
    return tuple(given)


def _alternatives(space: Any, actions: Any, seed: Seed) -> Alternatives:
    n = getattr(space, "n", None)
    if n is not None:
        if actions is not None:
            raise InvalidParameter("actions is for continuous actions; here all others are tried")
        return Alternatives(n_actions=int(n), first=int(getattr(space, "start", 0)))
    low, high = np.asarray(space.low, dtype=float), np.asarray(space.high, dtype=float)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InvalidModel("continuous actions must have bounds; this action space has none")
    width = WIDTH * (high - low) if actions is None else as_float(actions)
    if not np.all(np.asarray(width) > 0):
        raise InvalidParameter(f"actions must be a step above 0; it is {shown(actions)}")
    own_seed = seed if isinstance(seed, int) else 0
    return Alternatives(0, 0, low, high, width, RANDOM_ACTIONS, own_seed)


def _held(given: Any) -> tuple[int, ...]:
    steps = entries(given, "held", "numbers of steps") if np.ndim(given) else [given]
    found = tuple(whole_number(number, "held", 1) for number in steps)
    if not found or len(set(found)) < len(found):
        raise InvalidParameter(f"held must be different numbers of steps; it is {shown(given)}")
    return found
