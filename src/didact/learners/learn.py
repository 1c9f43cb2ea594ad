"""Learn from demonstrations: find the learner by name, ask it, and say how far to trust it.

A learner is a function of `Evidence` and a generator that returns a `Belief`, or plain weights
(k,). The built-in ones are named by module and function, and loaded when they are first asked.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module, metadata
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from didact.errors import DidactError, InvalidInput, InvalidParameter, NotMixed
from didact.inputs import plain, reason_of, shown
from didact.learners.belief import Belief, point_belief
from didact.learners.evidence import Evidence, as_evidence
from didact.mdp import MDP
from didact.mdp.model import as_weights
from didact.random import Seed, as_generator

Learner = Callable[..., Any]
Function = TypeVar("Function", bound=Learner)

ENTRY_POINTS = "didact.learners"

_learners: dict[str, Learner | str] = {
    "birl": "didact.learners.chains.birl:birl",
    "bio-irl": "didact.learners.chains.bio_irl:bio_irl",
    "ml-irl": "didact.learners.points.ml_irl:ml_irl",
    "policy-matching": "didact.learners.points.policy_matching:policy_matching",
    "max-entropy": "didact.learners.points.max_entropy:max_entropy",
}
BUILT_IN = frozenset(_learners)


def register_learner(name: str) -> Callable[[Function], Function]:
    """Make the decorated function the learner `name`; it stays an ordinary function.

    name: by which `learn` and the command line know it. The function takes evidence and a
        generator and returns a `Belief` or weights; its further parameters become options of
        `learn`.
    """
    if not isinstance(name, str) or not name:
        raise InvalidParameter(f"a learner's name must be text; it is {shown(name)}")

    def register(function: Function) -> Function:
        if name in BUILT_IN:
            raise InvalidParameter(f"the learner {name!r} is built in; choose another name")
        _learners[name] = function
        return function

    return register


def learners() -> Mapping[str, Learner]:
    """Every learner by name: the built-in, the registered, the installed (entry points)."""
    _find_installed()
    return MappingProxyType({name: _loaded(name) for name in _learners})


def learn(
    mdp: MDP,
    demonstrations: Iterable[Any],
    *,
    learner: str = "birl",
    seed: Seed = 0,
    **options: Any,
) -> Belief:
    """What a learner believes about the reward after seeing demonstrations of this MDP.

    mdp: the model without its reward, such as `task.mdp`.
    demonstrations: lists of (state, action) pairs, as those of a lesson; repeated pairs count each
        time, and there may be none.
    learner: 'birl', 'bio-irl', 'ml-irl', 'policy-matching', 'max-entropy', or one of your own.
    seed: None, a whole number, or a generator; the same seed gives the same draws.
    options: of the learner, as follows.

    Each of `belief.warnings` is also issued as a `NotMixed` warning.

    Options of birl, draws from the posterior:

    confidence: what values are multiplied by, from 0 (the prior) on; 100 by default.
    n_steps: steps of each chain, burn-in included; 10000 by default.
    step_size: of the proposals; by default adapted during burn-in, then frozen.
    n_chains: how many chains; 4 by default.
    burn_in: steps of each chain that are thrown away; a fifth of them by default.
    thin: keep every thin-th step after burn-in; 1 by default.
    prior: 'l2-sphere' (the default), 'l1-sphere', 'box', 'gaussian', or a log density on R^k.
    proposal: a move that fits the prior; by default the prior's first.
    log_prior: a function of weights (k,) that tilts a named prior.
    start: weights (k,) or (n_chains, k); by default each chain looks for a start.
    threads: how many chains run at once, by default one for each processor; the draws do not
        depend on it.
    progress: True, or a function (done, total).

    Options of bio-irl, the same for a learner that knows it is being taught; those of birl, and:

    trust: how much it trusts its teacher to choose well (lambda); 0 is birl, 100 the default.
    matching: of half-spaces: 'optimal' (the default), or 'greedy' as in the paper.
    horizon: steps of a demonstration in the lesson to compare with; by default the longest shown.
    scope: 'reachable' (the default) or 'all': whose states' half-spaces are compared.

    Options of ml-irl, the most likely weights:

    confidence: what values are multiplied by; 100 by default.
    n_starts: how many spread directions the search climbs from; 8 by default.
    norm: what has length 1: 'l2-sphere' (the default) or 'l1-sphere'.
    raise_confidence: multiply the confidence by ten until the weights make every shown action
        optimal and every other one worse; False by default.

    Options of policy-matching, the weights whose policy acts as often as was shown:

    confidence: what values are multiplied by; 100 by default.
    n_starts: how many spread directions the search climbs from; 8 by default.
    norm: what has length 1: 'l2-sphere' (the default) or 'l1-sphere'.

    Options of max-entropy, the weights of the maximum causal entropy policy:

    penalty: of F(w) - penalty/2 |w|^2, a Gaussian prior of variance 1/penalty; 0 by default.
    most_norm: the largest |w| allowed; 100 by default.
    """
    if not isinstance(mdp, MDP):
        raise InvalidParameter(f"mdp must be an MDP, such as task.mdp; it is {shown(mdp)}")
    method = find_learner(learner, options)
    evidence = as_evidence(mdp, demonstrations)
    returned = _ask(method, evidence, as_generator(seed, "learn"), learner, options)
    belief = _as_belief(returned, evidence, learner, options)
    number = int(seed) if isinstance(seed, int | np.integer) else None
    belief = replace(belief, settings={**belief.settings, "seed": number})
    for line in belief.warnings:
        warnings.warn(line, NotMixed, stacklevel=2)
    return belief


def find_learner(name: str, options: Iterable[str] = ()) -> Learner:
    """The learner of this name; refuses a name or an option that there is not."""
    if name not in _learners:
        _find_installed()
    if name not in _learners:
        raise InvalidParameter(
            f"no learner is called {shown(name)}; there are {', '.join(_learners)}"
        )
    method = _loaded(name)
    names = option_names(method)
    for option in options:
        if names is not None and option not in names:
            raise InvalidParameter(
                f"learner {name!r} has no option {option!r}; it takes {', '.join(names) or 'none'}"
            )
    return method


def option_names(method: Learner) -> tuple[str, ...] | None:
    """The options that a learner takes; None where it takes any."""
    accepted = list(inspect.signature(method).parameters.values())[2:]
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted):
        return None
    return tuple(p.name for p in accepted)


def _find_installed() -> None:
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        if entry.name not in _learners:
            _learners[entry.name] = entry.load()


def _loaded(name: str) -> Learner:
    found = _learners[name]
    if isinstance(found, str):
        module, _, function = found.partition(":")
        found = getattr(import_module(module), function)
        _learners[name] = found
    method: Learner = found
    return method


def _ask(
    method: Learner,
    evidence: Evidence,
    rng: np.random.Generator,
    learner: str,
    options: Mapping[str, Any],
) -> Any:
    """What the learner returns; a failure of a user's own learner is told in one line."""
    if learner in BUILT_IN:
        return method(evidence, rng, **options)
    try:
        return method(evidence, rng, **options)
    except DidactError:
        raise
    except Exception as error:
        raise InvalidParameter(f"learner {learner!r} failed: {reason_of(error)}") from error


def _as_belief(
    returned: Any, evidence: Evidence, learner: str, options: Mapping[str, Any]
) -> Belief:
    """A belief about this MDP; plain weights become the belief of a point."""
    if isinstance(returned, Belief):
        if returned.mdp is not evidence.mdp:
            raise InvalidParameter(
                f"learner {learner!r} must return a belief about evidence.mdp; "
                "its belief is about another MDP"
            )
        return returned
    try:
        weights = as_weights(returned, evidence.mdp.n_features).floats
    except InvalidInput as error:
        raise InvalidParameter(
            f"learner {learner!r} must return a Belief or weights "
            f"({evidence.mdp.n_features},): {error}"
        ) from None
    settings = {name: plain(value) for name, value in options.items()}
    return point_belief(evidence.mdp, learner, evidence.demonstrations, weights, settings=settings)
