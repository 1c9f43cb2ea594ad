"""Maximum causal entropy IRL: match discounted feature counts, and be random otherwise.

Among the policies whose expected discounted feature counts are those of the demonstrations, the one
of largest discounted causal entropy is the soft-optimal policy p_w(a|s) = exp(Q_w(s,a) - V_w(s)),
Q_w(s,a) = w.phi(s,a) + discount E[V_w(next)], V_w(s) = log sum_a exp Q_w(s,a), of some weights w; a
terminal state is worth w.phi (Ziebart 2010). They maximise the dual

    F(w) = counts.w + sum_s rest(s) V_w(s) - sum_s starts(s) V_w(s).

counts: sum of discount^t phi(s_t, a_t) over the shown pairs, each demonstration counted from its
own start. starts: where the demonstrations start. rest: the demonstrations end after finitely many
steps; what follows the last pair is not known, so it is taken as the learner itself would go on:
discount^T times the distribution of the state after it. A terminal state there counts its phi.

So full episodes match feature counts, and F is concave. A single pair has F = log p_w(a|s), its
causal likelihood. In between F is, for deterministic moves, the discounted causal likelihood
sum of discount^t log p_w(a_t|s_t). The length of w is the confidence, and is learned.

Answers add their log probabilities (see `answers`) at confidence 1: a rather than b in s with
p_w(a|s) / (p_w(a|s) + p_w(b|s)), trajectories by what they count times w. Choices among
trajectories leave F concave, those among actions need not.

F is maximised in the ball |w| <= most_norm. An ascent stays inside: steps that lead out of the ball
are shortened. Where it ends no higher than the border in the same direction, the border is
searched. A point of the border is a maximum in the ball when the gradient along the border is zero
and the gradient outwards is not negative; for a concave function that makes it the highest point
(Karush, Kuhn and Tucker). Where the gradient points inwards the ascent goes on inside, and so on
until one of the two ends is reached. A concave F has one maximum, and one start is enough;
otherwise the search starts from 0, from spread directions, and from the weights that explain the
demonstrations by the widest margin; better maxima elsewhere are not ruled out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from didact.errors import NotConverged
from didact.inputs import finite_number
from didact.learners.ascent import NO_SLOPE, Ascent, Function, Sphere, ascend
from didact.learners.belief import Belief, point_belief
from didact.learners.evidence import Evidence, softmax
from didact.learners.points.margin import margin_weights
from didact.learners.points.unit_weights import AS_HIGH, spread_directions
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning.kernels import UNIT, reward_table
from didact.planning.solve import discounted_sums
from didact.planning.successor import policy_payments

MAX_ROUNDS = 1_000
"""Rounds of soft policy iteration, which converges quadratically."""
MAX_TURNS = 10
"""How often an ascent may go from the border inside and back."""
BORDER = 1e-9
"""Share of the radius that is left to a point on the border."""
LENGTHS, MAX_DIRECTIONS = (1.0, math.inf), 8
"""Where F is not concave, starts have these lengths, but at most half of the largest allowed, in at
most so many directions: its maxima differ in length as well."""


class SoftPlan:
    """The soft-optimal policy of weights: values (S,), action values and policy (S, A)."""

    def __init__(self, mdp: MDP, weights: Floats, guess: Floats | None = None):
        """Soft policy iteration: value the policy with its entropy, take the softmax, repeat.

        It is Newton's method on the soft Bellman equation: it converges quadratically, from below.
        guess: values to begin with.
        """
        rewards, scale = reward_table(mdp, weights)
        pays = rewards.reshape(mdp.n_states, mdp.n_actions)
        most = (scale + math.log(mdp.n_actions)) / (1.0 - mdp.discount)
        self.values = np.zeros(mdp.n_states) if guess is None else guess
        moves = mdp.transitions.matrix()
        for _ in range(MAX_ROUNDS):
            self._take_softmax(mdp, moves, pays)
            # What the policy is worth: reward and entropy, discounted.
            income = (self.policy * (pays - self.logs)).sum(axis=1)
            income[mdp.terminal] = pays[mdp.terminal, 0]
            before = self.values
            self.values = discounted_sums(mdp, self.policy, income[:, None])[:, 0]
            change = float(np.abs(self.values - before).max())
            if change <= 64.0 * UNIT * most:
                self._take_softmax(mdp, moves, pays)
                return
        raise NotConverged(f"soft policy iteration still changes values by {change:.3g}")

    def _take_softmax(self, mdp: MDP, moves: Any, pays: Floats) -> None:
        """moves (S*A, S): the model's, as a matrix."""
        after = moves @ self.values
        self.action_values = pays + mdp.discount * after.reshape(pays.shape)
        shares, self.logs = softmax(self.action_values, 1.0)
        self.policy = np.where(mdp.terminal[:, None], 0.0, shares)

    def counts(self, mdp: MDP) -> Floats:
        """Successor features (S, k) from each state on."""
        return discounted_sums(mdp, self.policy, policy_payments(mdp, self.policy))


class Dual:
    """F(w) - penalty/2 |w|^2 and its slope (k,), as a function of w."""

    def __init__(self, evidence: Evidence, penalty: float = 0.0):
        mdp = evidence.mdp
        self.mdp, self.penalty, self.n_solves = mdp, penalty, 0
        self.answers = evidence.answers
        self.counts = np.zeros(mdp.n_features)
        self.starts, self.rest = np.zeros((2, mdp.n_states))
        self._guess: Floats | None = None
        features, moves = mdp.features.floats, mdp.transitions
        for demonstration in evidence.demonstrations:
            self.starts[demonstration[0][0]] += 1.0
            factor = 1.0
            for state, action in demonstration:
                paid = features[state, action] if features.ndim == 3 else features[state]
                self.counts += factor * paid
                factor *= mdp.discount
                row = state * mdp.n_actions + action
            after = slice(moves.offsets[row], moves.offsets[row + 1])
            self.rest[moves.successors[after]] += factor * moves.probabilities.floats[after]

    @property
    def is_concave(self) -> bool:
        """Whether one maximum is all: nothing but ends follows, and no actions were compared."""
        return not (self.rest[~self.mdp.terminal].any() or self.answers.of_actions.any())

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the slope at weights (k,)."""
        self.n_solves += 1
        plan = SoftPlan(self.mdp, weights, self._guess)
        self._guess = plan.values
        ahead = self.rest - self.starts
        value = float(self.counts @ weights + ahead @ plan.values)
        counts = plan.counts(self.mdp)
        slope = self.counts + ahead @ counts
        if len(self.answers):
            said, more = self._said(plan, counts, weights)
            value, slope = value + said, slope + more
        value -= 0.5 * self.penalty * float(weights @ weights)
        return value, slope - self.penalty * weights

    def _said(self, plan: SoftPlan, counts: Floats, weights: Floats) -> tuple[float, Floats]:
        """Log probability of the answers and its slope (k,); counts (S, k): from each state on."""
        answers, mdp = self.answers, self.mdp
        value, pulls = answers.judged(answers.worths(plan.action_values, weights), 1.0)
        rows, acted = answers.counts.copy(), answers.of_actions
        states, actions = answers.states[acted], answers.actions[acted]
        features = mdp.features.floats
        paid = features[states, actions] if features.ndim == 3 else features[states]
        after = mdp.transitions.matrix()[states * mdp.n_actions + actions] @ counts
        rows[acted] = paid + mdp.discount * after
        return value, pulls @ rows


@dataclass(frozen=True, eq=False)
class Highest:
    """The point reached, with the evidence that it is a maximum in the ball.

    on_border: whether the border holds it back: no shorter weights nearby are higher.
    """

    ascent: Ascent
    on_border: bool


def highest_in_ball(
    function: Function, start: Floats, radius: float, rng: np.random.Generator
) -> Highest:
    """The maximum in the ball that an ascent from a start inside leads to.

    A point inside from which longer weights are no worse is none: it only became too flat to
    ascend, and the search goes on at the border.
    """

    def inside(weights: Floats) -> tuple[float, Floats]:
        """Minus infinity outside of the ball: a step that leads there is shortened."""
        if float(np.linalg.norm(weights)) <= radius:
            return function(weights)
        return -math.inf, np.zeros(weights.size)

    found = ascend(inside, start, rng)
    for _ in range(MAX_TURNS):
        length = float(np.linalg.norm(found.point))
        if length == 0.0:
            return Highest(found, False)
        longest = found.point * (radius / length)
        if length < radius * (1.0 - BORDER) and function(longest)[0] < found.value:
            return Highest(found, False)
        border = ascend(function, longest, rng, sphere=Sphere(radius))
        outwards = float(function(border.point)[1] @ border.point) / radius
        if outwards >= -NO_SLOPE:
            return Highest(border, True)
        found = ascend(inside, border.point * (1.0 - BORDER), rng)
    return Highest(replace(found, is_maximum=False), False)


def max_entropy(
    evidence: Evidence,
    rng: np.random.Generator,
    *,
    penalty: float = 0.0,
    most_norm: float = 100.0,
) -> Belief:
    """The weights whose soft-optimal policy has the feature counts of the demonstrations.

    penalty: of F(w) - penalty/2 |w|^2; a Gaussian prior of variance 1/penalty. most_norm: the
    largest |w| allowed. Demonstrations that some reward explains perfectly would need an infinite
    one, and then the best weights of that length are returned, with a note.
    The search starts from w = 0, the uniform policy; also elsewhere where F is not concave.
    """
    penalty = finite_number(penalty, "penalty", 0.0)
    most_norm = finite_number(most_norm, "most_norm", 1e-6)
    dual = Dual(evidence, penalty)
    highest = _highest(dual, evidence, most_norm, rng)
    found, notes = highest.ascent, []
    if evidence.is_empty:
        notes.append("nothing was shown: all weights match it, and 0 (the uniform policy) is kept")
    if highest.on_border:
        remedy = "a larger penalty" if penalty else "a penalty to choose their size"
        notes.append(
            f"the weights grew to the largest norm allowed, {most_norm:g}, and longer ones fit no "
            f"worse; give {remedy}, or a larger most_norm"
        )
    left = f"the slope left is {found.slope:.1e}"
    convergence = f"a local maximum; {left}; better ones elsewhere are not ruled out"
    if not found.is_maximum:
        convergence = f"no maximum; {left}"
        notes.append(f"the climb did not converge: a slope of {found.slope:.1e} is left")
    elif dual.is_concave:
        within = f" of norm {most_norm:g} or less" if highest.on_border else ""
        convergence = f"the maximum of a concave function, so the best weights{within}; {left}"
    return point_belief(
        evidence.mdp,
        "max-entropy",
        evidence.demonstrations,
        found.point,
        feedback=evidence.answers.items,
        log_posterior=found.value,
        confidence=None,
        settings={
            "penalty": penalty,
            "most_norm": most_norm,
            "norm": float(np.linalg.norm(found.point)),
            "concave": dual.is_concave,
            "converged": found.is_maximum,
            "convergence": convergence,
            "n_solves": dual.n_solves,
        },
        notes=tuple(notes),
    )


def _highest(dual: Dual, evidence: Evidence, most_norm: float, rng: np.random.Generator) -> Highest:
    """The highest maximum found: from w = 0, and where F is not concave from spread weights too."""
    n_features = evidence.mdp.n_features
    best = highest_in_ball(dual, np.zeros(n_features), most_norm, rng)
    if dual.is_concave or evidence.is_empty:
        return best
    directions = list(spread_directions(rng, min(2 * n_features, MAX_DIRECTIONS), n_features))
    if evidence.n_pairs:
        widest = margin_weights(evidence, rng.standard_normal(n_features))
        directions += [] if widest is None else [widest]
    for direction in directions:
        for length in LENGTHS:
            start = min(length, 0.5 * most_norm) * direction
            found = highest_in_ball(dual, start, most_norm, rng)
            # Of equally high ones the first stays: from w = 0 it is no longer than it need be.
            if found.ascent.value > best.ascent.value + AS_HIGH * (1.0 + abs(best.ascent.value)):
                best = found
    return best
