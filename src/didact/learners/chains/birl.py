"""Bayesian IRL: draws from the posterior of reward weights, by chains in compiled kernels.

P(w | D) is proportional to prior(w) * product over shown pairs of
exp(confidence Q*_w(s, a)) / sum_b exp(confidence Q*_w(s, b)), and over answers of theirs (see
`answers`), with the exact optimal values of each proposed w: the density is a function of the
weights alone, whatever the chain did before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.learners.belief import Belief, Mode
from didact.learners.certificate import certify
from didact.learners.chains.metropolis import Chain, Extra, Target, is_worth_compiling
from didact.learners.chains.models import scorer_of
from didact.learners.chains.options import ChainOptions, Sampling
from didact.learners.chains.posterior import Course
from didact.learners.chains.rounds import RoundChain
from didact.learners.chains.threads import as_threads, run_all, told
from didact.learners.chains.walk import WalkGroup
from didact.learners.evidence import Evidence
from didact.registry import passing_on


@passing_on(ChainOptions)
def birl(evidence: Evidence, rng: np.random.Generator, **options: Any) -> Belief:
    """Draws from the posterior of the weights given demonstrations; options: see `ChainOptions`."""
    return sample_posterior(evidence, rng, ChainOptions(**options))


def sample_posterior(
    evidence: Evidence,
    rng: np.random.Generator,
    options: ChainOptions,
    *,
    extra: Extra | None = None,
    learner: str = "birl",
) -> Belief:
    """What `birl` does, with a term more: extra(weights (k,), action values (S, A)) -> float.

    It is added to the log likelihood of each proposal; without it nothing changes.
    """
    _require_spawning(rng)
    sampling = Sampling.of(options, evidence.mdp.n_features)
    target = _target(evidence, sampling, extra)
    one_by_one = target.is_stepwise or not target.compiled
    workers = 1 if one_by_one else as_threads(options.threads, sampling.lengths.n_chains)
    run = _mixed if sampling.sampler == "mixture" else _walked
    with told(options.progress, learner) as tell:
        found = run(target, sampling, rng, partial(run_all, threads=workers, progress=tell))
    settings = {**sampling.settings(), **found.settings, "method": target.scorer.method}
    return _belief(found, target, learner, settings)


@dataclass(frozen=True, eq=False)
class _Found:
    """Chains that have run, and what else is to be told of them."""

    chains: Sequence[Chain | RoundChain]
    settings: dict[str, Any]
    notes: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()


def _walked(
    target: Target, sampling: Sampling, rng: np.random.Generator, run_phases: Any
) -> _Found:
    lengths, starts = sampling.lengths, sampling.starts
    group = WalkGroup.of(target, lengths, sampling.step, rng)
    if starts is None:
        notes = group.run(lengths, run_phases)
    else:
        notes = group.run_from(starts, lengths, run_phases)
    return _Found(group.chains, {"step_sizes": [chain.step_size for chain in group.chains]}, notes)


def _mixed(target: Target, sampling: Sampling, rng: np.random.Generator, run_phases: Any) -> _Found:
    course = Course(target, rng, sampling.lengths.n_chains, sampling.budget)
    run_phases(course.phases(), sampling.budget, say=course.in_short)
    return _Found(course.chains, course.settings(), modes=course.shares())


def _target(evidence: Evidence, sampling: Sampling, extra: Extra | None) -> Target:
    """The posterior to sample, in compiled kernels where there are steps enough."""
    scorer = scorer_of(evidence)
    return Target(
        evidence,
        sampling.confidence,
        scorer,
        sampling.prior,
        sampling.prior.kind(sampling.proposal, evidence.mdp.n_features),
        sampling.tilt,
        extra,
        is_worth_compiling(scorer, sampling.n_likelihoods),
    )


def _belief(found: _Found, target: Target, learner: str, settings: dict[str, Any]) -> Belief:
    """What the chains have drawn, with the best weights that any of them saw."""
    evidence, confidence, chains = target.evidence, target.confidence, found.chains
    best = max(chains, key=lambda chain: chain.best)
    return Belief(
        evidence.mdp,
        learner,
        evidence.demonstrations,
        np.array([chain.samples for chain in chains]),
        np.array([chain.densities for chain in chains]),
        best.best_weights,
        best.best,
        np.array([chain.best for chain in chains]),
        np.array([chain.acceptance for chain in chains]),
        confidence,
        certify(evidence, best.best_weights, confidence),
        settings,
        found.notes,
        found.modes,
        evidence.answers.items,
    )


def _require_spawning(rng: Any) -> None:
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter(
            "rng must be a numpy Generator that can spawn others, such as default_rng(0); "
            f"it is {shown(rng)}"
        )
