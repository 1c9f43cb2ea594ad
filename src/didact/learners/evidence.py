"""What was shown and said, counted, and how likely it is: the part that all learners share.

Shown pairs: who has a confidence c (the paper's alpha) takes action a in state s with probability
exp(c Q(s, a)) / sum_b exp(c Q(s, b)).

Other feedback counts as choices. Somebody of confidence c who is asked which of several
alternatives is best says so with a probability proportional to exp(c worth). Of a comparison the
worths are Q*_w(s, a) and Q*_w(s, b) (Boltzmann); of a preference what the two trajectories count,
discounted from their start, times w (Bradley and Terry, 1952), and a correction says the same. A
ranking is the choice of the best, then of the best of the rest, and so on (Plackett and Luce); a
stop the choice of being off, worth 0, rather than of what would have followed.

Inside one policy cell Q*_w(s, a) = mu(s, a).w with mu the successor features of an optimal policy,
so the gradient of log P(D | w) is c times the sum over shown states of
counts(s, a) mu(s, a) - n(s) sum_b p(b|s) mu(s, b); answers add theirs. On the border of cells the
optimal policy is not unique; any of them gives the same value, and one of the gradients that meet
there.

A certificate says whether weights explain what was shown: is every shown action best, every other
one worse, and every answer true? If a lesson is complete and closed, such weights lie inside the
class that the lesson pins down, and their policy loses nothing, however it breaks ties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.inputs import finite_number
from didact.mdp import MDP, Comparison, Demonstration, Family, Stop, Task, as_mdp
from didact.mdp.family import disjoint_union
from didact.mdp.items import Feedback, has_ended, ways_of
from didact.mdp.model import as_weights
from didact.mdp.naming import pair_words
from didact.mdp.recordings.formats import given_items, given_of_family
from didact.numerics.exact import Floats, read_number
from didact.planning import Plan, solve
from didact.planning.kernels import UNIT, iterate, model_of, new_plan, reward_table, roundings
from didact.planning.solve import MAX_ROUNDS, iterate_directly
from didact.planning.successor import features_after
from didact.teaching.feedback.halfspaces import item_words

Indices = NDArray[np.int64]

NO_STATE = -1
"""Where an alternative is a trajectory and no action."""


def softmax(values: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Probabilities and log probabilities (..., A) of actions or alternatives of these values.

    The best value is subtracted first, so nothing overflows.
    """
    best = values.max(axis=-1, keepdims=True, initial=-np.inf)
    scaled = confidence * (values - best)
    raised = np.exp(scaled)
    totals = raised.sum(axis=-1, keepdims=True)
    return raised / totals, scaled - np.log(totals)


@dataclass(frozen=True, eq=False)
class Answers:
    """Choices, one after the other; of each its alternatives, the best first.

    items: what was said, a choice each. first: (n + 1,), where the alternatives of each begin.
    states, actions: (m,), whose value an alternative is worth; NO_STATE where it is worth counts
    (m, k) times the weights.
    """

    items: tuple[Feedback, ...] = ()
    first: Indices = field(default_factory=lambda: np.zeros(1, np.int64))
    states: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    actions: Indices = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.first) - 1

    @property
    def of_actions(self) -> NDArray[np.bool_]:
        """Which alternatives are actions (m,)."""
        return np.asarray(self.states != NO_STATE)

    def worths(self, action_values: Floats, weights: Floats) -> Floats:
        """What each alternative is worth (m,), from action values (S, A) and weights (k,)."""
        linear = self.counts @ weights if self.counts.size else np.zeros(len(self.states))
        return np.where(self.of_actions, action_values[self.states, self.actions], linear)

    def judged(self, worths: Floats, confidence: float) -> tuple[float, Floats]:
        """The log probability of all choices, and its slope in confidence times worths (m,)."""
        total, pulls = 0.0, np.zeros(len(worths))
        for places in self._by_size:
            for best in range(places.shape[1] - 1):
                left = places[:, best:]
                shares, logs = softmax(worths[left], confidence)
                total += float(logs[:, 0].sum())
                pulls[left[:, 0]] += 1.0
                pulls[left] -= shares
        return total, pulls

    @cached_property
    def _by_size(self) -> tuple[Indices, ...]:
        """The places (choices, alternatives) of all choices of as many alternatives."""
        sizes = np.diff(self.first)
        return tuple(
            self.first[:-1][sizes == size][:, None] + np.arange(size)
            for size in np.unique(sizes).tolist()
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """Demonstrations, how often each action was shown in each demonstrated state, and answers.

    states: (m,) ascending; counts: (m, A). Repeated pairs count each time. answers: what other
    feedback says. There may be none of all: then every reward explains it equally well, and a
    posterior is the prior.
    """

    mdp: MDP
    demonstrations: tuple[Demonstration, ...]
    states: NDArray[np.int64]
    counts: Floats
    answers: Answers = field(default_factory=Answers)

    @property
    def n_pairs(self) -> int:
        """How many pairs were shown, repetitions included."""
        return int(self.counts.sum())

    @property
    def is_empty(self) -> bool:
        """Whether nothing was shown and nothing was said."""
        return not self.n_pairs and not len(self.answers)

    def scored(self) -> tuple[NDArray[np.int64], Floats]:
        """The states whose actions' values a likelihood needs, and how often each was shown."""
        asked = self.answers.states[self.answers.states != NO_STATE]
        if not asked.size:
            return self.states, self.counts
        states = np.union1d(self.states, asked)
        counts = np.zeros((states.size, self.mdp.n_actions))
        counts[np.searchsorted(states, self.states)] = self.counts
        return states, counts


def as_one_model(where: Any, given: Any) -> tuple[Any, Any]:
    """The model and what was shown of it; of a family its disjoint union, and that shown there."""
    if not isinstance(where, Family):
        return where, given
    union = disjoint_union(where)
    return union.task, [union.joined(each) for each in given_of_family(given, where)]


def as_evidence(where: MDP | Task | Family, given: Any) -> Evidence:
    """The evidence in what was shown and said of this model; of a family in its disjoint union.

    given: demonstrations, as (state, action) pairs in any grouping, and other feedback; of a family
    demonstrations that say their member.
    """
    one, given = as_one_model(where, given)
    items, mdp = given_items(given, one), as_mdp(one)
    checked = tuple(item for item in items if isinstance(item, Demonstration))
    said = [item for item in items if not isinstance(item, Demonstration)]
    pairs = [pair for demonstration in checked for pair in demonstration]
    shown = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    states, place = np.unique(shown[:, 0], return_inverse=True)
    counts = np.zeros((states.size, mdp.n_actions))
    np.add.at(counts, (place, shown[:, 1]), 1.0)
    states.setflags(write=False)
    counts.setflags(write=False)
    return Evidence(mdp, checked, states, counts, as_answers(mdp, said))


def softmax_log_likelihood(evidence: Evidence, action_values: Floats, confidence: float) -> float:
    """log P(D | Q) = sum over pairs of confidence Q(s, a) - log sum_b exp(confidence Q(s, b)).

    action_values: (S, A). Of the demonstrations alone: answers are judged by `Answers`.
    """
    _, logs = softmax(action_values[evidence.states], confidence)
    return float((evidence.counts * logs).sum())


def log_likelihood_of(
    evidence: Evidence, action_values: Floats, weights: Floats, confidence: float
) -> float:
    """The log likelihood of demonstrations and answers, from weights (k,) and their values."""
    answers = evidence.answers
    said, _ = answers.judged(answers.worths(action_values, weights), confidence)
    return softmax_log_likelihood(evidence, action_values, confidence) + said


def as_answers(mdp: MDP, items: Sequence[Feedback]) -> Answers:
    """What checked items of a model say, as choices."""
    asked = [_alternatives(mdp, item) for item in items]
    if not asked:
        return Answers()
    states, actions, counts = map(np.array, zip(*chain.from_iterable(asked), strict=True))
    return Answers(tuple(items), np.cumsum([0, *map(len, asked)]), states, actions, counts)


def _alternatives(mdp: MDP, item: Feedback) -> list[tuple[int, int, Floats]]:
    """(state, action, counts (k,)) of what was chosen among, the best first."""
    nothing = np.zeros(mdp.n_features)
    if isinstance(item, Comparison):
        return [(item.state, action, nothing) for action in (item.better, item.other)]
    if isinstance(item, Stop):
        rest = trajectory_features(mdp, item.way, item.after)
        return [(NO_STATE, 0, nothing), (NO_STATE, 0, rest)]
    return [(NO_STATE, 0, trajectory_features(mdp, way)) for way in ways_of(item)]


def trajectory_features(mdp: MDP, way: Demonstration, after: int = 0) -> Floats:
    """Discounted feature counts (k,) of a trajectory from a step on, with the end where it ends."""
    features, moves = mdp.features.floats, mdp.transitions
    total = np.zeros(mdp.n_features)
    for step in range(after, len(way)):
        state, action = way[step]
        paid = features[state, action] if features.ndim == 3 else features[state]
        total += mdp.discount**step * paid
    if has_ended(way, mdp):
        state, action = way[-1]
        row = state * mdp.n_actions + action
        ends = slice(moves.offsets[row], moves.offsets[row + 1])
        for target, share in zip(
            moves.successors[ends].tolist(), moves.probabilities.floats[ends].tolist(), strict=True
        ):
            paid = features[target, 0] if features.ndim == 3 else features[target]
            total += mdp.discount ** len(way) * share * paid
    return total


EXPECTED_CALLS = 2_000
"""How often a learner asks for values, about: what a compiled kernel is worth here."""


class ShownFeatures:
    """Successor features of the shown states under an optimal policy, from weights to weights.

    Keeps the last optimal policy: most of the time it, or one close to it, is optimal for the next
    weights as well. The values do not depend on where it comes from, up to rounding.
    """

    def __init__(self, evidence: Evidence):
        mdp = evidence.mdp
        self.mdp = mdp
        self.states, _ = evidence.scored()
        self.n_solves = 0
        self._model, self._plan = model_of(mdp), new_plan(mdp)
        self._evaluated: NDArray[np.uint32] | None = None
        self._shown: Floats

    def __call__(self, weights: Floats) -> Floats:
        """mu(s, a) of all actions of the shown states, shape (m, A, k); not to be changed."""
        self.n_solves += 1
        mdp = self.mdp
        rewards, scale = reward_table(mdp, weights)
        tolerance = roundings(mdp) * UNIT * scale / (1.0 - mdp.discount)
        work = EXPECTED_CALLS * rewards.size
        if iterate.run(work, self._model, rewards, tolerance, MAX_ROUNDS, self._plan) < 0:
            iterate_directly(mdp, rewards, self._model.allowed, self._plan.policy)
        # Evaluation takes longer than planning, and neighbouring weights share their policy.
        policy: NDArray[np.uint32] = self._plan.policy
        if self._evaluated is None or (self._evaluated != policy).any():
            self._evaluated = policy.copy()
            self._shown = features_after(mdp, policy)[self.states]
        return self._shown


class Likelihood:
    """log P(D | w) of the softmax policy on Q*_w and of answers, and its gradient (k,), by w.

    features: an evaluator to share with other functions of the same evidence.
    """

    def __init__(
        self, evidence: Evidence, confidence: float, features: ShownFeatures | None = None
    ):
        self.evidence = evidence
        self.confidence = confidence
        self.features = ShownFeatures(evidence) if features is None else features
        states, self._counts = evidence.scored()
        self._totals = self._counts.sum(axis=1, keepdims=True)
        self._places = np.searchsorted(states, evidence.answers.states)

    def __call__(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the gradient at weights (k,)."""
        mu = self.features(weights)
        shares, logs = softmax(mu @ weights, self.confidence)
        surplus = self._counts - self._totals * shares
        gradient = self.confidence * (surplus.ravel() @ mu.reshape(-1, weights.size))
        value = float((self._counts * logs).sum())
        if not len(self.evidence.answers):
            return value, gradient
        answers = self.evidence.answers
        counts, acted = answers.counts.copy(), answers.of_actions
        counts[acted] = mu[self._places[acted], answers.actions[acted]]
        said, pulls = answers.judged(counts @ weights, self.confidence)
        return value + said, gradient + self.confidence * (pulls @ counts)


@dataclass(frozen=True)
class Certificate:
    """Whether weights make exactly the shown actions optimal in the shown states.

    log_likelihood: of all demonstrations and answers under the softmax policy at `confidence`.
    by_likelihood: the likelihood alone proves it, being above 1/2 by more than its own error. Each
        shown pair then has probability above 1/2, since a product of probabilities is no larger
        than any of its factors; so its action beats every other one of its state strictly. Where
        two actions of one state are shown this cannot happen: their product is at most 1/4.
    holds: the proved plan of the weights (a float means its shortest decimal) has the shown
        actions, and no others, as the optimal ones of every shown state, and answers are true of
        the weights. None: not decided.
    reason: why, in words.
    pair: the state and action that the reason names, or None; files do not keep it.
    """

    log_likelihood: float
    confidence: float
    by_likelihood: bool
    holds: bool | None
    reason: str
    pair: tuple[int, int] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        answer = {True: "holds", False: "does not hold", None: "is open"}[self.holds]
        return f"The certificate {answer}: {self.reason}."


def certify(evidence: Evidence, weights: Any, confidence: float) -> Certificate:
    """Decide whether weights (k,) make the shown actions optimal and all others worse."""
    confidence = as_confidence(confidence)
    plan = solve(evidence.mdp, weights)
    floats = as_weights(weights, evidence.mdp.n_features).floats
    total = log_likelihood_of(evidence, plan.action_values, floats, confidence)
    worths = evidence.answers.worths(plan.action_values, floats)
    error = _error_of_likelihood(evidence, plan, worths, confidence)
    by_likelihood = total - error > -math.log(2.0)
    if evidence.is_empty:
        return Certificate(total, confidence, True, True, "nothing was shown")
    if by_likelihood:
        what, all_true = "demonstrations", ""
        if len(evidence.answers):
            what, all_true = "that was shown and said", " and every answer is true"
        reason = (
            f"the likelihood of all {what}, {math.exp(total):.3g}, is above 1/2, so every "
            f"shown action beats every other one{all_true}"
        )
        return Certificate(total, confidence, True, True, reason)
    holds, reason, pair = _judged(evidence, plan)
    if holds is not False and len(evidence.answers):
        agree, said = _agreeing(evidence, plan, worths)
        if agree is not True or not evidence.n_pairs:
            holds, reason = agree, said
        elif holds:
            reason = f"{reason}, and {said}"
    return Certificate(total, confidence, False, holds, reason, pair)


def as_confidence(given: Any) -> float:
    """A confidence: a finite number from 0; exact ones become floats."""
    exact = isinstance(given, Fraction | Decimal)
    return finite_number(
        float(read_number(given, "confidence")) if exact else given, "confidence", 0
    )


def _error_of_likelihood(
    evidence: Evidence, plan: Plan, worths: Floats, confidence: float
) -> float:
    """How far the computed log likelihood can be from the one of the true action values.

    Each log probability moves by at most twice what its action values move; the rest is rounding.
    """
    most = max(float(np.abs(a).max(initial=0.0)) for a in (plan.action_values, worths))
    reach = confidence * most + 4.0
    units = 8.0 * (evidence.mdp.n_actions + evidence.counts.size + worths.size + 8) * UNIT
    n_terms = evidence.n_pairs + worths.size
    return n_terms * (2.0 * confidence * plan.error_bound + units * reach)


def _agreeing(evidence: Evidence, plan: Plan, worths: Floats) -> tuple[bool | None, str]:
    """Whether each answer is true of the weights: no alternative is worth more than one before.

    Trajectories that count the same, and actions that are both optimal, are worth the same.
    """
    answers, mdp = evidence.answers, evidence.mdp
    most = float(np.abs(worths).max()) + float(np.abs(plan.action_values).max())
    tolerance = 2.0 * plan.error_bound + 64.0 * UNIT * (mdp.n_features + 8) * most
    open_one = None
    for number, item in enumerate(answers.items):
        for i in range(int(answers.first[number]), int(answers.first[number + 1]) - 1):
            gap = float(worths[i + 1] - worths[i])
            if gap > tolerance:
                return False, f"it is not true of the weights that {item_words(mdp, item)}"
            if gap > -tolerance and not _is_equal(evidence, plan, i):
                open_one = open_one or item
    if open_one is None:
        return True, "all that was said is true of the weights"
    said = f"it is too close to tell whether it is true that {item_words(mdp, open_one)}"
    return None, f"{said}; exact arithmetic may decide"


def _is_equal(evidence: Evidence, plan: Plan, i: int) -> bool:
    """Whether alternatives i and i + 1 are surely worth the same."""
    answers = evidence.answers
    if not answers.of_actions[i]:
        return bool((answers.counts[i] == answers.counts[i + 1]).all())
    state = int(answers.states[i])
    return plan.is_proved and bool(plan.optimal[state, answers.actions[i : i + 2]].all())


def _judged(evidence: Evidence, plan: Plan) -> tuple[bool | None, str, tuple[int, int] | None]:
    """Compare the shown with the optimal actions of every shown state.

    The plan's optimal sets are never too small, so a shown action outside of them is refuted even
    where the plan is not proved; and a set of one action is right.
    """
    given = evidence.counts > 0
    best = plan.optimal[evidence.states]
    missed = given & ~best
    if missed.any():
        values = plan.action_values[evidence.states]
        gaps = np.where(missed, values.max(axis=1, keepdims=True) - values, -1.0)
        place, action = np.unravel_index(int(gaps.argmax()), gaps.shape)
        pair = int(evidence.states[place]), int(action)
        said = f"{pair_words(evidence.mdp, *pair)} is worse than the best there by"
        return False, f"{said} {gaps[place, action]:.3g}", pair
    extra = best & ~given
    sure = plan.is_proved or bool((best.sum(axis=1) == 1).all())
    if sure and extra.any():
        place, action = np.argwhere(extra)[0].tolist()
        pair = int(evidence.states[place]), int(action)
        said = f"{pair_words(evidence.mdp, *pair)} is as good as what was shown there"
        return False, said, pair
    if sure:
        said = "in every shown state the shown actions are optimal and all others are worse"
        return True, said, None
    said = "some actions are too close to tell which is better; exact arithmetic may decide"
    return None, said, None
