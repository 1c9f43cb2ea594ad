"""Learn again after an answer, from where the last belief was, and check that the chains mixed.

The belief after an answer is the one before it times the answer's likelihood. So chains start at
draws of the last belief, different ones, picked with probability proportional to that likelihood.
(Only walks do; chains that run until they have mixed look around anew each time.) Whether they
mixed is checked and told. Chains that only need more steps would need them from any start; but
where one is stuck, its best density far below another's or below what a short search finds, the
learner starts anew from its own spread starts, and the better result is kept.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from didact.active.situation import Situation
from didact.errors import NotMixed
from didact.learners.belief import Belief
from didact.learners.chains.options import is_walk
from didact.learners.chains.starts import STUCK
from didact.learners.learn import find_learner, learn
from didact.mdp import MDP, Comparison, Demonstration
from didact.mdp.items import Item
from didact.numerics.exact import Floats

WARM, FRESH, ANEW = "warm", "fresh", "fresh, because a warm chain was stuck"


def learn_from(
    mdp: MDP,
    demonstrations: Sequence[Item],
    before: Situation | None,
    rng: np.random.Generator,
    *,
    learner: str,
    options: Mapping[str, Any],
) -> tuple[Belief, str]:
    """The belief after what was shown and said, and where its chains began.

    before: the situation before the last of it; None starts fresh.
    """
    n_chains = None if before is None else _warm_chains(learner, options)
    if before is None or n_chains is None or len(before.weights) < n_chains:
        return _quietly(mdp, demonstrations, learner, rng, options), FRESH
    starts = warm_starts(before, demonstrations[-1], n_chains, rng)
    warm = _quietly(mdp, demonstrations, learner, rng, {**options, "start": starts})
    if not is_stuck(warm):
        return warm, WARM
    fresh = _quietly(mdp, demonstrations, learner, rng, options)
    better = not is_stuck(fresh) or fresh.map_log_posterior >= warm.map_log_posterior
    return (fresh, ANEW) if better else (warm, WARM)


def is_stuck(belief: Belief) -> bool:
    """Whether the learner notes it, or the best density of a chain is far below another's."""
    return bool(belief.notes) or bool(np.ptp(belief.best_by_chain) > STUCK)


def warm_starts(before: Situation, answer: Item, n_chains: int, rng: np.random.Generator) -> Floats:
    """Different draws (n_chains, k), likelier ones where they explain the answer better.

    Without replacement, by the largest of log-likelihood plus Gumbel noise.
    """
    with np.errstate(divide="ignore"):
        fit = _fit(before, answer)
    keys = np.maximum(fit, -1e300) + rng.gumbel(size=fit.size)
    return np.ascontiguousarray(before.weights[np.argsort(-keys, kind="stable")[:n_chains]])


def _fit(before: Situation, answer: Item) -> Floats:
    """The log probability of an answer under each draw."""
    if isinstance(answer, Comparison):
        return np.asarray(np.log(before.rather(answer.better, answer.other)[:, answer.state]))
    if not isinstance(answer, Demonstration):
        raise AssertionError("answers are demonstrations and comparisons")
    states, actions = np.array(answer.pairs).T
    return np.asarray(np.log(before.policies[:, states, actions]).sum(axis=1))


def _warm_chains(learner: str, options: Mapping[str, Any]) -> int | None:
    """How many chains the learner runs; None where it takes no starts, or has its own.

    Chains that run until they have mixed look around anew each time: a start would not help them.
    """
    parameters = inspect.signature(find_learner(learner, options)).parameters
    if "start" in options or not {"start", "n_chains"} <= set(parameters):
        return None
    if "sampler" in parameters and not is_walk(options):
        return None
    count = options.get("n_chains", parameters["n_chains"].default)
    return count if isinstance(count, int) else None


def _quietly(
    mdp: MDP,
    demonstrations: Sequence[Item],
    learner: str,
    rng: np.random.Generator,
    options: Mapping[str, Any],
) -> Belief:
    """What is learned; its warnings are in the belief, and `ask` tells of them once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotMixed)
        return learn(mdp, demonstrations, learner=learner, seed=rng, **options)
