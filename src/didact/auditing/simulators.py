"""Audits of agents in simulators: in how many states another action is better, and which.

States are independent: one state of each episode of the agent, at a time drawn from the
discount's geometric distribution. In each, the agent's action is branched against the others, the
agent going on after all of them, so the difference is what one better action would gain. Where it
is more than the allowed loss, the situation counts as a mistake. Both bounds of the share of
mistakes (Clopper and Pearson) hold together at the level.

An agent without such mistakes may still not be the best there is: what only several other actions
in a row would gain is not looked at. So a passed audit is a statement about single actions.
Returns of the same seeds tell agents apart beyond that: `SimulatorAudit.compared_with`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from didact.bec.observed.episodes import whole_episodes
from didact.bec.observed.evaluate import MeanEstimate
from didact.bec.observed.observe import FAR, observe
from didact.bec.observed.result import Observed
from didact.bec.observed.setting import WRONG, Floats, Setting
from didact.errors import InvalidParameter
from didact.inputs import as_float, shown
from didact.numerics.intervals import binomial_interval
from didact.random import stream
from didact.teaching.clips.certify import Fresh
from didact.teaching.clips.lesson import assumptions_of
from didact.worlds.simulators.batches import batch_policy

N_STATES, EPISODES = 300, 50
"""That an audit looks at, and episodes whose returns are told."""
LEVEL = 0.95
"""Of the bounds of the share of mistakes together."""
ALLOWED = 0.05
"""Share of states with a mistake, up to which an agent passes."""
WORST = 5
"""States that are shown."""


@dataclass(frozen=True, eq=False)
class AuditedSituation:
    """A state in which another action is better: what it shows, what the agent does, and what the
    other action would gain, in return."""

    observation: Any
    own: Any
    better: Any
    gain: float


@dataclass(frozen=True, eq=False)
class SimulatorAudit:
    """How an agent does in a simulator by a reward; statistical statements, no proofs.

    status: 'pass' where at most a twentieth of states are mistakes, 'fail' where more are, both
    with 95% confidence, else 'undecided'. loss: return above which an action counts as a mistake.
    mistaken_share: bounds of the share of mistakes. gain: what the best other action would gain in
    a situation, in the mean. episode_return: of whole episodes, without discount. worst: the
    states that cost most. seen: where it was looked at; another agent can be audited there.
    """

    status: str
    loss: float
    mistaken_share: tuple[float, float]
    gain: MeanEstimate
    episode_return: MeanEstimate
    returns: Floats
    gains: Floats
    worst: tuple[AuditedSituation, ...]
    seen: Observed
    assumptions: tuple[str, ...]

    def compared_with(self, other: SimulatorAudit) -> MeanEstimate:
        """By how much this agent's returns are above another one's, in episodes of the same seeds.

        other: an audit in the same place: `audit(first.seen, agent)`.
        """
        return MeanEstimate.of(self.returns - other.returns)

    @property
    def statement(self) -> str:
        """What is known of the agent, in words."""
        low, high = self.mistaken_share
        return (
            f"With {LEVEL:.0%} confidence {low:.1%} to {high:.1%} of states (this agent's, "
            f"discount {self.seen.setting.discount:g}) have another action that gains more than "
            f"{self.loss:.3g} return; the best one gains {self.gain} in the mean. Returns of an "
            f"episode: {self.episode_return}. This is a statistical statement, not a proof. It "
            f"assumes that {'; that '.join(self.assumptions)}."
        )

    def __repr__(self) -> str:
        return f"SimulatorAudit({self.status}: {self.statement})"


def audit_simulator(env: Any, agent: Any, features: Any, weights: Any, loss: Any) -> SimulatorAudit:
    """Whether an agent does what a reward asks, in an environment or where another one was seen."""
    allowed = None if loss is None else as_float(loss)
    if allowed is not None and not allowed > 0:
        raise InvalidParameter(f"loss must be a return above 0; it is {shown(loss)}")
    if isinstance(env, Observed):
        if features is not None or weights is not None:
            raise InvalidParameter("features and weights are those that were observed; leave out")
        seen, setting = env, env.setting
        if agent is not None:
            some = seen.observations[:2]
            act = batch_policy(agent, setting.simulator, some)
            setting = replace(setting, policy=act)
    else:
        seen = observe(env, agent, features=features, weights=weights, n_rollouts=10,
                       tolerance=allowed)  # fmt: skip
        setting = seen.setting
    if allowed is not None:
        # branches so long that what follows them is less than a quarter of the loss
        needed = setting.rewards.horizon(setting.discount, allowed / 4)
        setting = replace(setting, tolerance=allowed, horizon=max(setting.horizon, needed))
    return _audited(seen, setting)


def _audited(seen: Observed, setting: Setting) -> SimulatorAudit:
    """The audit in states and episodes whose seeds are always the same."""
    fresh = Fresh(setting, N_STATES, stream(0, "audit"))
    wrong = 0.0 if fresh.measured.covariances is None else WRONG
    low = binomial_interval(int(fresh.surely_mistaken.sum()), N_STATES, LEVEL)[0] - wrong
    n_mistaken = int(fresh.mistaken.sum()) + fresh.n_missing
    high = binomial_interval(n_mistaken, N_STATES, LEVEL)[1] / (1 - wrong)
    low, high = max(0.0, low), min(1.0, high)
    margins = fresh.measured.rows @ setting.weights
    gains = np.maximum(-margins.min(axis=1), 0.0)
    worst = np.argsort(-gains, kind="stable")[:WORST]
    # whole episodes, those of the same seeds for every agent
    far, limit = math.ceil(FAR / (1 - setting.discount)), setting.simulator.time_limit
    seeds = stream(0, "returns").integers(2**31, size=EPISODES).tolist()
    batch = setting.simulator.begin(seeds)
    returns = whole_episodes(batch, setting.policy, setting.features, limit or far).returns
    status = "pass" if high <= ALLOWED else "fail" if low > ALLOWED else "undecided"
    return SimulatorAudit(
        status,
        setting.tolerance,
        (low, high),
        MeanEstimate.of(gains),
        MeanEstimate.of(returns),
        returns,
        gains,
        tuple(
            AuditedSituation(
                fresh.observations[i],
                fresh.own[i],
                fresh.others[i][int(margins[i].argmin())],
                float(gains[i]),
            )
            for i in worst
            if gains[i] > setting.tolerance
        ),
        seen,
        assumptions_of(fresh.setting)[1:],
    )
