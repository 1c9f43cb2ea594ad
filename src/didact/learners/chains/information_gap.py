"""infoGap(D, R) (Algorithm 2): how much less demonstrations tell than a lesson of the same size.

A learner that knows it is being taught asks of each reward R: had the teacher wanted to teach R,
would they have shown D? The answer compares the half-spaces that D states under R's optimal policy
with those of the first m demonstrations of SCOT's lesson for R, m being the size of D, each by its
angular similarity to the half-spaces of R's BEC. It is a number from 0 to 1, 0 when D is as telling
as the lesson. Both are read in one way, pair by pair in order of states and actions, since the
greedy matching depends on that order. It depends on R only through its optimal actions, so it is
kept for each set of optimal actions met. Of many sets D for one R, as normalisers need them, it is
kept for each set of half-spaces that they state (`RewardGap`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from didact.bec.classes import EquivalenceClass, equivalence_class
from didact.bec.directions import TOLERANCE, label_units
from didact.bec.facets import find_facets
from didact.bec.halfspaces import Scope, scope_states
from didact.bec.nnls import needed_rows
from didact.bec.similarity import Matching, angles, angular_similarity, similarity_sum
from didact.errors import InvalidParameter
from didact.inputs import choice
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
        bec, reference, counts = self._reference(weights, plan)
        shown, lesson = (
            _irredundant(_stated_normals(counts, *pairs), bec.task.weights)
            for pairs in (self._shown_pairs(), self._lesson_pairs(bec))
        )
        return shown, lesson, reference

    def of_reward(self, weights: Any) -> RewardGap:
        """The gap under one reward as a function of other demonstrations, as many as these."""
        bec, reference, counts = self._reference(weights, None)
        told = RewardGap(counts, reference, bec.task.weights, self.matching, 0.0)
        states, actions = self._lesson_pairs(bec)
        lesson = (states * self.evidence.mdp.n_actions + actions)[None]
        return replace(told, could=float(told.similarities(lesson)[0]))

    def _reference(
        self, weights: Any, plan: Plan | None
    ) -> tuple[EquivalenceClass, Floats, SuccessorFeatures]:
        """The BEC of a reward, the normals of its facets and equalities, and mu of its policy."""
        mdp = self.evidence.mdp
        task = Task(mdp, weights)
        found = solve(mdp, task.true_weights, arithmetic="float") if plan is None else plan
        bec = equivalence_class(task, scope=self.scope, arithmetic="float", plan=found)
        whole = [facet[0] for facet in bec.cone.facets] + list(bec.cone.equalities)
        counts = float_successor_features(mdp, found.policy)
        return bec, bec.rows.normals[sorted(whole)], counts

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


@dataclass(frozen=True, eq=False)
class RewardGap:
    """infoGap under one reward of any sets of pairs; could: what SCOT's lesson of their size says.

    Rows are labelled once for the whole model, and similarities kept by the labels that a set
    states: thousands of drawn demonstrations then need few matchings.
    """

    counts: SuccessorFeatures
    reference: Floats
    weights: Floats
    matching: Matching
    could: float
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
        labels, units = self._rows
        shown = np.zeros((len(sets), len(labels) + 1), dtype=bool)
        np.put_along_axis(shown, sets, True, axis=1)  # -1 is the last column, which is left out
        found = np.empty(len(sets))
        for place, row in enumerate(shown[:, :-1]):
            stated = labels[row].ravel()
            chosen, first = np.unique(stated[stated >= 0], return_index=True)
            chosen = chosen[first.argsort()]
            key = chosen.tobytes()
            if key not in self._known:
                self._known[key] = self._similarity_of(chosen, units)
            found[place] = self._known[key]
        return found

    def _similarity_of(self, chosen: Indices, units: Floats) -> float:
        if not len(chosen):
            return 0.0
        kept = _kept_rows(units[chosen], self.weights)
        total = similarity_sum(self._similarity[chosen[kept]], matching=self.matching)
        return total / len(self.reference)

    def of_sets(self, sets: Indices) -> Floats:
        """infoGap of each set of pairs."""
        return np.abs(self.similarities(sets) - self.could)


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
    """Normals without those that follow from others, in their order."""
    return np.asarray(normals[_kept_rows(normals, weights)])


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
