"""BIO-IRL: Bayesian IRL for a learner that knows it is being taught.

log P(D | R) is that of BIRL less trust times infoGap(D, R): rewards under which the demonstrations
would have been a poor lesson lose likelihood (see `information_gap`). trust is the paper's lambda;
with 0 this is BIRL, bit for bit. It is a pseudo-likelihood: its normaliser over D is left out, so
posterior intervals for trust > 0 are not calibrated. With trust="estimate" the normalised
likelihood of `informativeness` says first whether the demonstrator teaches, and how much.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from didact.bec.directions import Matching
from didact.bec.halfspaces import Scope
from didact.errors import InvalidParameter
from didact.inputs import finite_number, shown
from didact.learners.belief import Belief
from didact.learners.chains.birl import sample_posterior
from didact.learners.chains.chain import Extra
from didact.learners.chains.information_gap import InformationGap
from didact.learners.chains.informativeness import TOLD, estimated_trust
from didact.learners.chains.options import ChainOptions
from didact.learners.evidence import Evidence
from didact.registry import passing_on


@passing_on(ChainOptions)
def bio_irl(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    trust: float | str = 100.0,
    matching: Matching = "optimal",
    horizon: int | None = None,
    scope: Scope = "reachable",
    **options: Any,
) -> Belief:
    """The posterior of a learner that trusts its teacher to choose demonstrations well.

    trust: how much (lambda); 0 is BIRL; 'estimate' asks `informativeness`. matching, horizon,
    scope: see `InformationGap`. options: those of BIRL, see `ChainOptions`.
    """
    gap = InformationGap(evidence, horizon, matching, scope)
    settings: dict[str, Any] = {"matching": matching, "horizon": gap.horizon, "scope": scope}
    chains, found = ChainOptions(**options), None
    if isinstance(trust, str):
        if trust != "estimate":
            raise InvalidParameter(
                f"trust must be a finite number from 0 on, or 'estimate'; it is {shown(trust)}"
            )
        belief = sample_posterior(evidence, rng, chains, learner="bio-irl")
        if len(evidence.demonstrations):
            found = estimated_trust(gap, belief, rng)
        trust = 0.0 if found is None or found.probability < TOLD else found.trust.median
        if found is not None:
            settings["trust_interval"] = list(found.trust)
            settings["log_bayes_factor"] = found.log_bayes_factor
    weight = finite_number(trust, "trust", 0)
    if found is None or weight > 0:
        extra: Extra | None = None if weight == 0 else lambda w, values: -weight * gap(w, values)
        belief = sample_posterior(evidence, rng, chains, extra=extra, learner="bio-irl")
    settings["trust"] = weight
    return replace(belief, settings={**belief.settings, **settings})
