"""infoGap(D, R) (Algorithm 2): how much less demonstrations tell than a lesson of the same size.

A learner that knows it is being taught asks of each reward R: had the teacher wanted to teach R,
would they have shown D? The answer compares the half-spaces that D states under R's optimal policy
with those of the first m demonstrations of SCOT's lesson for R, m being the size of D, each by its
angular similarity to the half-spaces of R's BEC. It is a number from 0 to 1, 0 when D is as telling
as the lesson. Both are read in one way, pair by pair in order of states and actions, since the
greedy matching depends on that order. It depends on R only through its optimal actions, so it is
kept for each set of optimal actions met. Of many sets D for one R (`RewardGap`), as normalisers
need them, it is kept for each set of half-spaces that they state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.directions import TOLERANCE, Matching, angles, label_units, similarity_sum
from didact.bec.facets import find_facets
from didact.bec.halfspaces import Scope, scope_states
from didact.bec.nnls import needed_rows
from didact.errors import InvalidParameter
from didact.inputs import choice, explains_names
from didact.learners.evidence import Evidence, as_evidence
from didact.mdp import MDP, Task
from didact.numerics.exact import Floats
from didact.planning import Plan, SuccessorFeatures, float_successor_features, solve
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

    def __call__(self, weights: Floats, action_values: Floats) -> float:
        """The gap under weights (k,) whose action values are (S, A)."""
        best = action_values.max(axis=1, keepdims=True)
        slack = TIE * max(1e-300, float(np.abs(best).max()))
        key = np.packbits(action_values >= best - slack).tobytes()
        return self._kept(key, weights)

    def of(self, weights: Any) -> float:
        """The gap under weights, ties between actions decided by the planner."""
        plan = solve(self.evidence.mdp, weights)
        return self._kept(np.packbits(plan.optimal).tobytes(), weights, plan)

    def of_reward(self, weights: Any, plan: Plan | None = None) -> RewardGap:
        """The gap under one reward as a function of other demonstrations, as many as these.

        plan: the solution for the weights, where it is at hand.
        """
        mdp = self.evidence.mdp
        task = Task(mdp, weights)
        found = solve(mdp, task.true_weights, arithmetic="float") if plan is None else plan
        bec = equivalence_class(task, scope=self.scope, arithmetic="float", plan=found)
        whole = [facet[0] for facet in bec.cone.facets] + list(bec.cone.equalities)
        counts = float_successor_features(mdp, found.policy)
        reference, lesson = bec.rows.normals[sorted(whole)], self._lesson_pairs(bec)
        return RewardGap(counts, reference, task.weights, self.matching, lesson)

    def _kept(self, key: bytes, weights: Any, plan: Plan | None = None) -> float:
        if key not in self._known:
            found = self.of_reward(weights, plan).of_sets(self.shown_pairs[None])
            self._known[key] = float(found[0])
        return self._known[key]

    @cached_property
    def shown_pairs(self) -> Indices:
        """The pairs s*A + a that were shown, ascending."""
        place, actions = np.nonzero(self.evidence.counts)
        return np.asarray(self.evidence.states[place] * self.evidence.mdp.n_actions + actions)

    def _lesson_pairs(self, bec: EquivalenceClass) -> Indices:
        """The pairs of the first m demonstrations of SCOT's lesson, m as many as were shown."""
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
        return pairs[pairs >= 0]


@dataclass(frozen=True, eq=False)
class RewardGap:
    """infoGap under one reward of any sets of pairs.

    counts: successor features of the reward's policy. reference: the normals of its BEC. lesson:
    the pairs of SCOT's lesson of their size. Rows are labelled once for the whole model, and
    similarities kept by the labels that a set states: thousands of drawn demonstrations then need
    few matchings.
    """

    counts: SuccessorFeatures
    reference: Floats
    weights: Floats
    matching: Matching
    lesson: Indices
    _known: dict[bytes, float] = field(default_factory=dict, repr=False)

    @cached_property
    def _rows(self) -> tuple[Indices, Floats]:
        """The labels of the rows that each pair s*A + a states, -1 for none; and the unit rows."""
        pairs = self.counts.pairs
        rows = (pairs[:, :, None, :] - pairs[:, None, :, :]).reshape(-1, pairs.shape[2])
        lengths = np.linalg.norm(rows, axis=1)
        doubt = 8 * self.counts.error_bound * np.sqrt(rows.shape[1])
        firm = np.flatnonzero(lengths > max(doubt, TIE * float(lengths.max(initial=0.0))))
        units = rows[firm] / lengths[firm, None]
        labels, firsts = label_units(units)
        label_of = np.full(len(rows), -1)
        label_of[firm] = labels
        return label_of.reshape(-1, pairs.shape[1]), np.asarray(units[firsts])

    @cached_property
    def _similarity(self) -> Floats:
        """Of every labelled row with every normal of the BEC."""
        return np.asarray(1.0 - angles(self._rows[1], self.reference) / np.pi)

    def similarities(self, sets: Indices) -> Floats:
        """How much of the BEC each set of pairs (n, steps) tells, from 0 to 1; -1 is no pair."""
        if not len(self.reference):
            return np.ones(len(sets))
        found = np.empty(len(sets))
        for place, stated in enumerate(map(self._stated, sets)):
            key = stated.tobytes()
            if key not in self._known:
                kept = stated[_kept_rows(self._rows[1][stated], self.weights)]
                total = similarity_sum(self._similarity[kept], matching=self.matching)
                self._known[key] = total / len(self.reference)
            found[place] = self._known[key]
        return found

    def normals(self, pairs: Indices) -> Floats:
        """The unit normals that a set of pairs states, without those that follow from others."""
        units = self._rows[1][self._stated(pairs)]
        return np.asarray(units[_kept_rows(units, self.weights)])

    def of_sets(self, sets: Indices) -> Floats:
        """infoGap of each set of pairs."""
        return np.abs(self.similarities(sets) - self.similarities(self.lesson[None]))

    def _stated(self, pairs: Indices) -> Indices:
        """The distinct labels that a set of pairs states, in the order of states and actions."""
        labels = self._rows[0][np.unique(pairs[pairs >= 0])].ravel()
        chosen, first = np.unique(labels[labels >= 0], return_index=True)
        return np.asarray(chosen[first.argsort()])


@explains_names
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


def _kept_rows(normals: Floats, weights: Floats) -> Indices:
    """The numbers of normals that do not follow from others, ascending.

    Where the weights hold all of them and some with equality, these may be equalities of the cone:
    `find_facets` keeps all of those, and one normal for each facet beside them.
    """
    if len(normals) < 2:
        return np.arange(len(normals))
    smallest, tolerance = (normals @ weights).min(), TOLERANCE * float(np.linalg.norm(weights))
    if abs(smallest) > tolerance:
        return needed_rows(normals)
    found = find_facets(normals, weights)
    return np.sort(np.concatenate([found.facets, found.equalities]).astype(np.int64))
