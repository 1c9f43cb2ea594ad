"""Settings of the paper's learners, as options of `learn` (`preset='paper'`).

The paper runs Bayesian IRL as one Markov chain (MCMC): confidence (its alpha) 100, 10,000 steps of
size 0.005 for Table 1 and Figure 2; with 1,000 steps of size 0.05, and for BIO-IRL trust (its
lambda) 100, for the balls of Figure 4. The chain moves on the surface where absolute weights sum to
1, from a constant reward. Its likeliest draw is what the paper calls the MAP reward.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from didact.errors import InvalidParameter
from didact.inputs import choice, whole_number


def published_chain(
    n_features: int, *, confidence: float = 100.0, n_steps: int = 10_000, step_size: float = 0.005
) -> dict[str, Any]:
    """The paper's chain as options of `learn`: L1 sphere, one chain from a constant reward.

    By default the settings of Table 1 and Figure 2 (appendix, Algorithm comparison full results and
    Active learning experiment parameters).

    n_features: k, of the task.
    confidence: the paper's alpha.
    n_steps: of the chain; no burn-in is dropped.
    step_size: of a proposal, which moves weight from one feature to another.
    """
    k = whole_number(n_features, "n_features", 1)
    return {
        "learner": "birl",
        "prior": "l1-sphere",
        "proposal": "lattice",
        "start": [-1 / k] * k,
        "n_chains": 1,
        "burn_in": 0,
        "confidence": confidence,
        "n_steps": n_steps,
        "step_size": step_size,
        "threads": 1,
    }


def preset_options(
    preset: str | None, learner: str, n_features: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a learner with those of a preset; options that are given besides win."""
    if preset is None:
        return dict(options)
    choice(preset, "preset", ("paper",))
    if learner == "birl":
        chain = published_chain(n_features)
    elif learner == "bio-irl":
        chain = published_chain(n_features, n_steps=1000, step_size=0.05)
        chain |= {"trust": 100.0, "matching": "greedy"}
    else:
        raise InvalidParameter(
            f"preset 'paper' is for the learners birl and bio-irl; it is {learner!r}. The paper's "
            "maximum likelihood reward is `map_weights` of birl's chain"
        )
    del chain["learner"]
    return {**chain, **options}
