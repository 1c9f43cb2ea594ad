"""BIO-IRL: Bayesian IRL for a learner that knows it is being taught.

log P(D | R) is that of BIRL less trust times infoGap(D, R): rewards under which the demonstrations
would have been a poor lesson lose likelihood. trust is the paper's lambda; with 0 this is BIRL, bit
for bit. It is a pseudo-likelihood: its normaliser over D is left out, so posterior intervals for
trust > 0 are not calibrated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from didact.bec.halfspaces import Scope
from didact.bec.similarity import Matching
from didact.inputs import finite_number
from didact.learners.belief import Belief
from didact.learners.chains.birl import sample_posterior
from didact.learners.chains.information_gap import InformationGap
from didact.learners.chains.metropolis import Extra
from didact.learners.chains.options import ChainOptions
from didact.learners.evidence import Evidence
from didact.registry import passing_on


@passing_on(ChainOptions)
def bio_irl(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    trust: float = 100.0,
    matching: Matching = "optimal",
    horizon: int | None = None,
    scope: Scope = "reachable",
    **options: Any,
) -> Belief:
    """The posterior of a learner that trusts its teacher to choose demonstrations well.

    trust: how much (lambda); 0 is BIRL. matching, horizon, scope: see `InformationGap`. options:
    those of BIRL, see `ChainOptions`.
    """
    gap = InformationGap(evidence, horizon, matching, scope)
    extra = tempered_by(gap, trust=trust)
    belief = sample_posterior(
        evidence, rng, ChainOptions(**options), extra=extra, learner="bio-irl"
    )
    own = {"trust": float(trust), "matching": matching, "horizon": gap.horizon, "scope": scope}
    return replace(belief, settings={**belief.settings, **own})


def tempered_by(gap: InformationGap, *, trust: float) -> Extra | None:
    """What BIO-IRL adds to BIRL's log likelihood: -trust * infoGap; nothing when trust is 0."""
    finite_number(trust, "trust", 0)
    if trust == 0:
        return None
    return lambda weights, action_values: -float(trust) * gap(weights, action_values)
