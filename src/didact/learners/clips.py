"""What clips of a policy in a simulator teach: the widest margin, and draws from the posterior.

A state that is shown is one decision: its action against each alternative, what follows being
known from branching. So log P(w) is a sum of softmaxes of rows . w, and a model in which every
such state has actions pay minus their row, once, has exactly this likelihood: the
chains of BIRL sample it as they sample any other.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from didact.bec.observed.result import Observed
from didact.errors import InvalidParameter, NotMixed
from didact.inputs import choice, counted, instance
from didact.learners.belief import Belief
from didact.learners.evidence import as_evidence
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.numerics.geometry import singular_directions
from didact.random import Seed, as_generator
from didact.teaching.clips.lesson import ClipLesson, as_said

NOTICED = 30.0
"""Over the tolerance, the default confidence: what is worse by a tenth of it is e^-3 as likely."""


@dataclass(frozen=True, eq=False)
class ClipBelief:
    """What a learner believes after clips; weights are of length 1, in the features' own units.

    Rewards that differ only along a direction that no row sees ask for the same behaviour: that
    part of the draws is left out. lesson: what was shown. centre: the weights in the middle of
    those that fit, which have the widest margin from every row shown. belief: the chains of BIRL in
    scaled features, whose states are those shown; None for the learner 'max-margin'.
    """

    lesson: ClipLesson
    centre: Floats
    belief: Belief | None = None

    @property
    def samples(self) -> Floats:
        """Draws from the posterior, (draws, k); the centre alone where there are no chains."""
        if self.belief is None:
            return self.centre[None]
        told = self.belief.samples_flat @ seen_directions(self.lesson.seen)
        return _of_length_one(told / self.lesson.seen.setting.scale)

    @property
    def weights(self) -> Floats:
        """The direction of the posterior's mean; the centre where there are no chains."""
        return np.asarray(_of_length_one(self.samples.mean(axis=0)[None])[0])

    @property
    def spread(self) -> Floats:
        """How far the posterior leaves each weight open: its standard deviation, (k,)."""
        return np.asarray(self.samples.std(axis=0))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know of the chains."""
        return () if self.belief is None else self.belief.warnings

    def __repr__(self) -> str:
        names = self.lesson.seen.setting.feature_names
        told = [
            f"{name} {weight:.3g} (+-{spread:.2g})"
            for name, weight, spread in zip(names, self.weights, self.spread, strict=True)
        ]
        return f"ClipBelief({counted(len(self.lesson.clips), 'clip')}: {', '.join(told)})"


def learn_from_clips(
    seen: Observed,
    lesson: Any,
    *,
    learner: str = "birl",
    confidence: float | None = None,
    seed: Seed = 0,
    **options: Any,
) -> ClipBelief:
    """What a learner believes about the reward after clips of a policy in a simulator.

    learner: 'birl' or 'max-margin'. confidence: what values, in return, are multiplied by; by
    default 30 over the tolerance. options: of birl.
    """
    instance(lesson, ClipLesson, "demonstrations", "the result of teach(seen)")
    if lesson.seen is not seen:
        raise InvalidParameter(
            "demonstrations must be a lesson of what is given; this lesson is "
            "of another observation"
        )
    kind = choice(learner, "learner", ("birl", "max-margin"))
    if kind == "max-margin":
        if options or confidence is not None:
            name = next(iter(options), "confidence")
            raise InvalidParameter(f"learner 'max-margin' has no option {name!r}")
        return ClipBelief(lesson, lesson.weights)
    from didact.learners.chains.birl import birl  # loads the kernels

    sure = NOTICED / seen.setting.tolerance if confidence is None else confidence
    model = decisions_of(lesson)
    evidence = as_evidence(model, [[(state, 0)] for state in range(lesson.n_steps)])
    belief = birl(evidence, as_generator(seed, "learn"), confidence=sure, **options)
    for line in belief.warnings:
        warnings.warn(line, NotMixed, stacklevel=3)
    return ClipBelief(lesson, lesson.weights, belief)


def decisions_of(lesson: ClipLesson) -> MDP:
    """A model of the states shown, in scaled features: action 0 is the policy's and pays
    nothing, the others pay minus their rows, and all end the episode."""
    setting, k = lesson.seen.setting, len(lesson.seen.setting.weights)
    n_others = lesson.seen.rows.shape[1]
    shown = [as_said(clip.rows.reshape(-1, k), setting) for clip in lesson.clips]
    rows = np.concatenate([np.empty((0, k)), *shown]).reshape(-1, n_others, k)
    n = max(len(rows), 1)  # a model has a state, shown or not
    features = np.zeros((n + 1, n_others + 1, k))
    features[: len(rows), 1:] = -rows
    size = n * (n_others + 1)
    moves = csr_array(
        (np.ones(size), (np.arange(size), np.full(size, n))),
        shape=((n + 1) * (n_others + 1), n + 1),
    )
    return MDP(
        moves,
        features,
        setting.discount,
        start=0,
        terminal=[n],
        feature_names=setting.feature_names,
    )


def seen_directions(seen: Observed) -> Floats:
    """The projection (k, k) on directions of scaled weights along which some row is more than the
    tolerance."""
    rows = seen.scaled_rows.reshape(-1, seen.rows.shape[-1])
    _, directions = singular_directions(rows)
    visible = directions[np.abs(rows @ directions.T).max(axis=0) > seen.setting.tolerance]
    return np.asarray(visible.T @ visible)


def _of_length_one(weights: Floats) -> Floats:
    sizes = np.linalg.norm(weights, axis=1, keepdims=True)
    return np.asarray(weights / np.where(sizes > 0, sizes, 1.0))
