"""The search for unit weights that both ml-irl and policy-matching make, and what it tells.

Climbs start from spread directions, from the weights that explain the demonstrations by the widest
margin where there are any, and from annealed populations, unless the demonstrations are closed and
explained: then the widest margin takes their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np

from didact.inputs import choice, whole_number
from didact.learners.certificate import as_confidence
from didact.learners.evidence import Evidence
from didact.learners.gradients import ShownFeatures
from didact.learners.points.bfgs import Function
from didact.learners.points.margin import is_closed, margin_weights
from didact.learners.points.multistart import Norm, Search, in_words, search
from didact.numerics.exact import Floats

ANNEALED_STEPS = 5_000
"""Steps of each annealed population: enough to tell high hills from low ones."""
MOST_STARTS = 1_000_000


@dataclass(frozen=True, eq=False)
class UnitWeights:
    """Evidence, the softmax model's confidence, and where unit weights are sought."""

    evidence: Evidence
    rng: np.random.Generator
    features: ShownFeatures
    confidence: float
    n_starts: int
    norm: Norm

    @classmethod
    def sought(
        cls,
        evidence: Evidence,
        rng: np.random.Generator,
        *,
        confidence: Any,
        n_starts: Any,
        norm: Any,
    ) -> UnitWeights:
        """The search with its options checked."""
        return cls(
            evidence,
            rng,
            ShownFeatures(evidence),
            as_confidence(confidence),
            whole_number(n_starts, "n_starts", 1, MOST_STARTS),
            cast(Norm, choice(norm, "norm", get_args(Norm))),
        )

    def margins(self, first: Floats | None = None) -> list[Floats]:
        """The weights of widest margin, if any are found from these weights or from random ones."""
        if not self.evidence.n_pairs:
            return []
        n_features = self.evidence.mdp.n_features
        start = self.rng.standard_normal(n_features) if first is None else first
        widest = margin_weights(self.evidence, start, self.features)
        return [] if widest is None else [widest]

    def annealed(self, margins: Sequence[Floats]) -> list[Floats]:
        """Where BIRL's chains would begin (n + 1 of them): populations led from the prior.

        Each is led by the likelihood to a power that grows to 1, which finds narrow high hills
        that climbs from random places miss. The first is the best seen. None where nothing was
        shown, or where the demonstrations are closed and explained.
        """
        is_explained = bool(margins) and is_closed(self.evidence) and not len(self.evidence.answers)
        if self.evidence.is_empty or is_explained:
            return []
        from didact.learners.chains.birl import birl

        belief = birl(
            self.evidence,
            self.rng,
            confidence=self.confidence,
            n_steps=ANNEALED_STEPS,
            burn_in=ANNEALED_STEPS - 1,
            n_chains=self.n_starts,
            prior=self.norm,
        )
        return [belief.map_weights, *belief.samples[:, -1]]

    def climb(
        self, functions: Sequence[Function], starts: Sequence[Floats], *, scouts: bool = False
    ) -> Search:
        """The highest summit found of the last function; those before it lead spread starts."""
        return search(
            functions,
            self.rng,
            n_features=self.evidence.mdp.n_features,
            n_starts=self.n_starts,
            norm=self.norm,
            also=starts,
            scouts=scouts and not self.evidence.is_empty,
        )

    def asked(self) -> dict[str, Any]:
        """What the search was given."""
        return {"confidence": self.confidence, "n_starts": self.n_starts, "norm": self.norm}

    def told(self, found: Search, what: str, *, settled: bool, annealed: bool) -> dict[str, Any]:
        """What the search came to; what: is sought, in words. No search rules out better ones."""
        return {
            "at_local_optimum": settled,
            "convergence": in_words(found, what),
            "n_solves": self.features.n_solves,
            "n_annealed_steps": ANNEALED_STEPS * self.n_starts if annealed else 0,
        }
