"""Priors over reward weights, and the moves that keep each of them.

The likelihood multiplies values by the confidence, so the length of the weights matters: each
prior says what it holds fixed. A move belongs to a prior when, without any evidence, it leaves the
prior as it is; others are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import shown
from didact.learners.chains import steps as moves
from didact.numerics.exact import Floats

Density = Callable[[Floats], float]


@dataclass(frozen=True)
class Prior:
    """A named prior: where weights may lie, and the proposals that fit, the default first.

    proposals: the name of each, and its number in the kernels.
    """

    name: str
    where: str
    proposals: dict[str, int]
    draw: Callable[[np.random.Generator, int, int], Floats]

    def kind(self, proposal: str, k: int) -> int:
        """The kernel's number of a proposal. On a sphere of two points every move is a flip."""
        if k == 1 and self.name in ("l2-sphere", "l1-sphere"):
            return moves.FLIP
        return self.proposals[proposal]

    def placed(self, weights: Floats) -> Floats:
        """The weights (n, k) exactly on the prior's support; refuses those that are not near it."""
        norms = {
            "l2-sphere": np.sqrt((weights**2).sum(axis=1)),
            "l1-sphere": np.abs(weights).sum(axis=1),
        }.get(self.name)
        if norms is not None:
            wrong = np.abs(norms - 1.0) > 1e-6
            if wrong.any():
                raise InvalidParameter(
                    f"start must lie on {self.where}; its norm is {norms[wrong][0]:.6g}. "
                    "Divide it by its norm"
                )
            return np.asarray(weights / norms[:, None])
        if self.name == "box" and np.abs(weights).max() > 1.0:
            raise InvalidParameter(
                f"start must lie in {self.where}; an entry is "
                f"{weights.flat[np.abs(weights).argmax()]:.6g}"
            )
        return weights

    def nearest(self, weights: Floats) -> Floats:
        """A multiple of the weights (k,) that lies on the prior's support."""
        if self.name == "l2-sphere":
            return np.asarray(weights / np.sqrt((weights**2).sum()))
        if self.name == "l1-sphere":
            return np.asarray(weights / np.abs(weights).sum())
        if self.name == "box":
            return np.asarray(weights / max(1.0, float(np.abs(weights).max())))
        return weights


def _on_l2_sphere(rng: np.random.Generator, n: int, k: int) -> Floats:
    normal = rng.standard_normal((n, k))
    return np.asarray(normal / np.sqrt((normal**2).sum(axis=1, keepdims=True)))


def _on_l1_sphere(rng: np.random.Generator, n: int, k: int) -> Floats:
    sizes = rng.standard_exponential((n, k))
    signs = np.where(rng.random((n, k)) < 0.5, -1.0, 1.0)
    return np.asarray(signs * sizes / sizes.sum(axis=1, keepdims=True))


def _in_box(rng: np.random.Generator, n: int, k: int) -> Floats:
    return 2.0 * rng.random((n, k)) - 1.0


def _normal(rng: np.random.Generator, n: int, k: int) -> Floats:
    return rng.standard_normal((n, k))


PRIORS = {
    prior.name: prior
    for prior in (
        Prior(
            "l2-sphere",
            "the unit sphere, sum of w^2 = 1",
            {"gaussian": moves.GAUSSIAN, "geodesic": moves.GEODESIC},
            _on_l2_sphere,
        ),
        Prior(
            "box",
            "the box [-1, 1]^k",
            {"reject": moves.REJECT, "reflect": moves.REFLECT},
            _in_box,
        ),
        Prior(
            "l1-sphere",
            "the surface sum of |w| = 1",
            {"pairs": moves.PAIRS, "lattice": moves.LATTICE},
            _on_l1_sphere,
        ),
        Prior("gaussian", "R^k", {"walk": moves.WALK}, _normal),
        Prior("flat", "R^k", {"walk": moves.WALK}, _normal),
    )
}
"""By name. 'gaussian' is the standard normal; 'flat' is no distribution until log_prior tilts it,
and its draws, which chains start from, are standard normal."""


def as_prior(prior: Any, log_prior: Any) -> tuple[Prior, Density | None]:
    """A prior by its name, or 'flat' tilted by a given log density; and the tilt."""
    if log_prior is not None and not callable(log_prior):
        raise InvalidParameter(
            f"log_prior must be a function of weights (k,); it is {shown(log_prior)}"
        )
    if callable(prior):
        if log_prior is not None:
            raise InvalidParameter(
                "a function as prior is short for prior='flat' and log_prior; give one of the two"
            )
        return PRIORS["flat"], prior
    if not isinstance(prior, str) or prior not in PRIORS:
        raise InvalidParameter(
            f"prior must be one of {', '.join(PRIORS)}, or a log density; it is {shown(prior)}"
        )
    if prior == "flat" and log_prior is None:
        raise InvalidParameter(
            "prior 'flat' needs log_prior, a log density on R^k: alone it is no distribution"
        )
    return PRIORS[prior], log_prior


def as_proposal(prior: Prior, proposal: Any) -> str:
    """The proposal's name; the prior's default where none is given."""
    if proposal is None:
        return next(iter(prior.proposals))
    if not isinstance(proposal, str) or proposal not in prior.proposals:
        raise InvalidParameter(
            f"prior {prior.name!r} is kept by the proposals {', '.join(prior.proposals)}; "
            f"not by {shown(proposal)}"
        )
    return proposal
