"""BIO-IRL: Bayesian IRL for a learner that knows it is being taught.

log P(D | R) is that of BIRL less trust times infoGap(D, R): rewards under which the demonstrations
would have been a poor lesson lose likelihood. trust is the paper's lambda; with 0 this is BIRL, bit
for bit. It is a pseudo-likelihood: its normaliser over D is left out, so posterior intervals for
trust > 0 are not calibrated.

infoGap(D, R) (Algorithm 2) says how much less demonstrations tell than a lesson of the same size.
A learner that knows it is being taught asks of each reward R: had the teacher wanted to teach R,
would they have shown D? The answer compares the half-spaces that D states under R's optimal policy
with those of the first m demonstrations of SCOT's lesson for R, m being the size of D, each by its
angular similarity to the half-spaces of R's BEC. It is a number from 0 to 1, 0 when D is as telling
as the lesson. Both are read in one way, pair by pair in order of states and actions, since the
greedy matching depends on that order. It depends on R only through its optimal actions, so it is
kept for each set of optimal actions met.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.directions import TOLERANCE, label_units
from didact.bec.facets import find_facets
from didact.bec.halfspaces import Scope, scope_states
from didact.bec.nnls import nearest_in_cone
from didact.bec.similarity import Matching, angular_similarity
from didact.errors import InvalidParameter
from didact.inputs import choice, finite_number
from didact.learners.belief import Belief
from didact.learners.chains.birl import sample_posterior
from didact.learners.chains.chain import Extra
from didact.learners.chains.options import ChainOptions
from didact.learners.evidence import Evidence, as_evidence
from didact.mdp import MDP, Task
from didact.numerics.exact import Floats
from didact.planning import Plan, SuccessorFeatures, float_successor_features, solve
from didact.registry import passing_on
from didact.teaching.covers.candidates import (
    as_horizon,
    as_starts,
    candidate_demonstrations,
    first_action,
)
from didact.teaching.covers.problem import Problem, cover_elements
from didact.teaching.teachers import greedy_picks

Indices = NDArray[np.int64]

TIE = 1e-9
"""Actions whose values differ by less than this share of the largest value are tied."""


@dataclass(frozen=True, eq=False)
class InformationGap:
    """infoGap of fixed demonstrations as a function of a reward, remembered by optimal actions.

    horizon: steps of a demonstration in the lesson to compare with; by default the longest shown.
    matching: of half-spaces, 'optimal', or 'greedy' as in the paper.
    """

    evidence: Evidence
    horizon: int | None = None
    matching: Matching = "optimal"
    scope: Scope = "reachable"
    _known: dict[bytes, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        choice(self.matching, "matching", get_args(Matching))
        longest = max((len(d) for d in self.evidence.demonstrations), default=1)
        given = longest if self.horizon is None else self.horizon
        object.__setattr__(self, "horizon", as_horizon(self.evidence.mdp, given))
        scope_states(self.evidence.mdp, self.scope)

    @property
    def n_policies(self) -> int:
        """For how many sets of optimal actions the gap has been computed."""
        return len(self._known)

    def __call__(self, weights: Floats, action_values: Floats) -> float:
        """The gap under weights (k,) whose action values are (S, A)."""
        best = action_values.max(axis=1, keepdims=True)
        slack = TIE * max(1e-300, float(np.abs(best).max()))
        key = np.packbits(action_values >= best - slack).tobytes()
        if key not in self._known:
            self._known[key] = self._compute(weights)
        return self._known[key]

    def of(self, weights: Any) -> float:
        """The gap under weights, ties between actions decided by the planner."""
        plan = solve(self.evidence.mdp, weights)
        key = np.packbits(plan.optimal).tobytes()
        if key not in self._known:
            self._known[key] = self._compute(weights, plan)
        return self._known[key]

    def normals(self, weights: Any, plan: Plan | None = None) -> tuple[Floats, Floats, Floats]:
        """Half-space normals under weights: of the demonstrations, of SCOT's lesson, of the BEC.

        plan: the solution for the weights, where it is at hand.
        """
        mdp = self.evidence.mdp
        task = Task(mdp, weights)
        found = solve(mdp, task.true_weights, arithmetic="float") if plan is None else plan
        bec = equivalence_class(task, scope=self.scope, arithmetic="float", plan=found)
        cone = bec.cone
        whole = [facet[0] for facet in cone.facets] + list(cone.equalities)
        counts = float_successor_features(mdp, found.policy)
        shown, lesson = (
            _irredundant(_stated_normals(counts, *pairs), task.weights)
            for pairs in (self._shown_pairs(), self._lesson_pairs(bec))
        )
        return shown, lesson, bec.rows.normals[sorted(whole)]

    def _compute(self, weights: Any, plan: Plan | None = None) -> float:
        shown, lesson, reference = self.normals(weights, plan)
        told, could = (
            angular_similarity(normals, reference, matching=self.matching)
            for normals in (shown, lesson)
        )
        return abs(told - could)

    def _shown_pairs(self) -> tuple[Indices, Indices]:
        """The states and actions shown, ascending."""
        place, actions = np.nonzero(self.evidence.counts)
        return self.evidence.states[place], actions

    def _lesson_pairs(self, bec: EquivalenceClass) -> tuple[Indices, Indices]:
        """What the first m demonstrations of SCOT's lesson show, m as many as were shown."""
        mdp = bec.task.mdp
        assert self.horizon is not None
        candidates = candidate_demonstrations(
            mdp,
            bec.plan if self.horizon == 1 else first_action(bec.plan),
            starts=as_starts(mdp, None),
            horizon=self.horizon,
            rollouts=None,
            seed=0,
        )
        n_shown = len(self.evidence.demonstrations)
        problem = Problem(cover_elements(bec), candidates, [1] * len(candidates), n_shown)
        pairs = np.unique(candidates.pairs[list(greedy_picks(problem, problem.budget))])
        states, actions = np.divmod(pairs[pairs >= 0], mdp.n_actions)
        return states, actions


def information_gap(
    task: MDP | Task,
    demonstrations: Any,
    *,
    weights: Any = None,
    horizon: int | None = None,
    matching: Matching = "optimal",
    scope: Scope = "reachable",
) -> float:
    """infoGap(D, R) (Algorithm 2): how much less demonstrations tell than SCOT's for R, in [0, 1].

    The absolute difference of two angular similarities to the BEC of R: of the half-spaces of the
    m demonstrations, and of those of the first m demonstrations of SCOT's lesson for R. BIO-IRL
    multiplies the likelihood of R by exp(-trust * infoGap).

    task: an MDP or a task.
    demonstrations: lists of (state, action) pairs, a lesson, a recording, or the path of a file.
    weights: of the hypothesis R, (k,); by default the weights of the task.
    horizon: steps of a demonstration in SCOT's lesson; by default the longest that was shown.
    matching: of half-spaces, 'optimal' (the default), or 'greedy' as in the paper.
    scope: 'reachable' or 'all': whose states' half-spaces are compared.
    """
    if weights is None:
        if not isinstance(task, Task):
            raise InvalidParameter("an MDP has no weights; give those of the hypothesis")
        weights = task.true_weights
    return InformationGap(as_evidence(task, demonstrations), horizon, matching, scope).of(weights)


def _stated_normals(counts: SuccessorFeatures, states: Indices, actions: Indices) -> Floats:
    """mu(s, a) - mu(s, b) of pairs in their order, optimal or not; distinct unit rows."""
    rows = counts.pairs[states, actions][:, None, :] - counts.pairs[states]
    rows = rows.reshape(-1, counts.pairs.shape[2])
    lengths = np.linalg.norm(rows, axis=1)
    doubt = 8 * counts.error_bound * np.sqrt(rows.shape[1])
    firm = lengths > max(doubt, TIE * float(lengths.max(initial=0.0)))
    units: Floats = rows[firm] / lengths[firm, None]
    return np.asarray(units[label_units(units)[1]])


def _irredundant(normals: Floats, weights: Floats) -> Floats:
    """Normals without those that follow from others, in their order.

    When the weights violate some, nothing is known to lie inside them: then each that lies in the
    cone of the rest is dropped, one after the other.
    """
    if len(normals) < 2:
        return normals
    if (normals @ weights >= -TOLERANCE * float(np.linalg.norm(weights))).all():
        found = find_facets(normals, weights)
        return np.asarray(normals[np.sort(np.concatenate([found.facets, found.equalities]))])
    kept = list(range(len(normals)))
    for row in range(len(normals)):
        rest = [other for other in kept if other != row]
        if rest:
            nearest = nearest_in_cone(normals[rest], normals[row])
            if nearest.converged and nearest.distance <= TOLERANCE:
                kept = rest
    return np.asarray(normals[kept])


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
