"""Max VaR queries (Brown, Cui and Niekum 2018): ask where the learned policy may lose most.

For weights w_i drawn from the belief and the policy of the most likely weights, the loss from a
state is EVD_i(s) = V*_{w_i}(s) - V^{pi_MAP}_{w_i}(s). A state's score is the 0.95 quantile of its
losses over the draws, the value at risk.
"""

from __future__ import annotations

import numpy as np

from didact.active.situation import Situation
from didact.learners.risk import value_at_risk
from didact.numerics.exact import Floats

LEVEL = 0.95


def max_var(situation: Situation, rng: np.random.Generator, *, level: float = LEVEL) -> Floats:
    """The score of every state (S,): the value at risk of the learned policy's loss from it.

    It is an order statistic, the smallest loss that at least a share `level` of the draws does not
    exceed; nothing is interpolated.
    """
    return np.asarray(value_at_risk(situation.losses, level))
