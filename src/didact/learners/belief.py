"""What a learner believes after demonstrations: likely weights, and how far to trust them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import choice, in_one_line, shown
from didact.learners.diagnostics import bulk_ess, mixing_problems, rank_r_hat, tail_ess
from didact.mdp import MDP, Demonstration, Task
from didact.mdp.items import Feedback
from didact.mdp.showing import draw, in_notebook
from didact.numerics.exact import Floats

if TYPE_CHECKING:
    from didact.learners.evidence import Certificate
    from didact.learners.risk import Fit, Risk


class Mode(NamedTuple):
    """A mode of a posterior: the share of the draws in it, and their mean weights (k,)."""

    share: float
    mean: Floats


@dataclass(frozen=True, eq=False)
class Belief:
    """Weights that a learner holds likely, from one or several chains; arrays are read-only.

    mdp: the model that it is about.
    learner: who believes it.
    demonstrations: what was seen.
    samples: (chains, draws, k), for point learners (1, 1, k).
    log_posterior: (chains, draws), log likelihood + log prior density of each sample up to one
        constant; all NaN where the learner has no density.
    map_weights: (k,), the densest weights seen anywhere, burn-in included.
    map_log_posterior: their log density.
    best_by_chain: (chains,), the best log density that each chain saw.
    acceptance: (chains,), the accepted share of proposals after burn-in; NaN for point learners.
    confidence: what the likelihood multiplies Q by; None where there is no such number.
    certificate: whether the weights make exactly the shown actions optimal; None where the learner
        gives none.
    settings: what the learner was given.
    notes: what the learner has to say, one line each.
    modes: groups of draws between which no way was found that stays within 3 nats of the lower
        group's top, the heaviest first, with the share of the draws in each; none where the
        learner did not look for them. A mode without draws is not among them.
    feedback: what was said besides: comparisons, preferences, rankings, stops.
    """

    mdp: MDP
    learner: str
    demonstrations: tuple[Demonstration, ...]
    samples: Floats
    log_posterior: Floats
    map_weights: Floats
    map_log_posterior: float
    best_by_chain: Floats
    acceptance: Floats
    confidence: float | None
    certificate: Certificate | None
    settings: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = ()
    feedback: tuple[Feedback, ...] = ()
    _derived: dict[str, Any] = field(default_factory=dict, repr=False, init=False)

    def __post_init__(self) -> None:
        for name, value in _checked_fields(self).items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle holds: the fields, of what was derived only the task."""
        task = {name: value for name, value in self._derived.items() if name == "task"}
        return {**vars(self), "settings": dict(self.settings), "_derived": task}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()  # arrays that are unpickled can be written to

    @property
    def where(self) -> MDP | Task:
        """The task that it was learned in, which knows its grid; the model where there was none."""
        found: MDP | Task = self._derived.get("task", self.mdp)
        return found

    @property
    def n_chains(self) -> int:
        """How many chains were run."""
        return int(self.samples.shape[0])

    @property
    def n_draws(self) -> int:
        """How many draws each chain kept."""
        return int(self.samples.shape[1])

    @property
    def is_point(self) -> bool:
        """Whether the learner gives one weight vector and no distribution."""
        return self.samples.shape[:2] == (1, 1)

    @property
    def samples_flat(self) -> Floats:
        """All draws, chain after chain, shape (chains * draws, k)."""
        return self.samples.reshape(-1, self.mdp.n_features)

    @property
    def mean_weights(self) -> Floats:
        """The posterior mean (k,): for returns linear in the weights the Bayes-optimal reward."""
        return self._once("mean", lambda: self.samples_flat.mean(axis=0))

    @property
    def r_hat(self) -> Floats:
        """Rank-normalised split R-hat by feature (k,); NaN where there is nothing to compare."""
        return self._once("r_hat", lambda: rank_r_hat(self.samples))

    @property
    def ess_bulk(self) -> Floats:
        """Effective draws in the middle of each feature's posterior (k,)."""
        return self._once("ess_bulk", lambda: bulk_ess(self.samples))

    @property
    def ess_tail(self) -> Floats:
        """Effective draws at the 5% and 95% quantiles of each feature (k,)."""
        return self._once("ess_tail", lambda: tail_ess(self.samples))

    @property
    def is_mixed(self) -> bool:
        """Whether the chains agree and have enough draws; a point learner has no chains to mix.

        A mode that no search found is in none of them, and cannot be seen.
        """
        return not mixing_problems(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know: the learner's notes, then the diagnostics that fail."""
        return (*self.notes, *mixing_problems(self))

    def policy(self, of: Literal["map", "mean"] = "map") -> Floats:
        """Equal probability for all optimal actions of the MAP or mean weights, shape (S, A).

        of: 'map' for the most likely weights, 'mean' for the posterior mean.
        """
        choice(of, "of", ("map", "mean"))
        from didact.planning import solve

        weights = self.map_weights if of == "map" else self.mean_weights
        return self._once(f"policy of {of}", lambda: solve(self.mdp, weights).policy)

    @property
    def action_probabilities(self) -> Floats:
        """The share of the draws for each action of each state (S, A): what the belief would do.

        A draw that holds several actions optimal counts in equal parts for each of them.
        """
        from didact.learners.risk import action_shares

        return self._once("action probabilities", lambda: action_shares(self))

    def risk(self, policy: Any = None, *, level: float = 0.95, delta: float = 0.05) -> Risk:
        """How much a policy may lose under this belief.

        policy: in any form that `evaluate` takes; by default the MAP weights' own.
        level: the value at risk is this quantile of the loss over the draws.
        delta: its bound holds with probability 1 - delta where there are enough effective draws.
        """
        from didact.learners.risk import risk_of

        return risk_of(self, policy, level=level, delta=delta)

    def fit(self) -> Fit:
        """How likely the demonstrations are to this learner, and which steps it does not believe.

        `log_likelihood`; `wrong` and `expected_wrong`, steps that the draws make worse and how many
        a teacher of this confidence would take; `doubted`, steps less probable than 5%.
        """
        from didact.learners.risk import fit_of

        return fit_of(self)

    def summary(self) -> list[dict[str, Any]]:
        """One row for each feature: name, map, mean, sd, quantiles, r_hat, ess_bulk, ess_tail."""
        from didact.learners.files import feature_rows

        return feature_rows(self)

    to_records = summary

    def to_dict(self) -> dict[str, Any]:
        """The same for machines: sizes, `summary()` as features, diagnostics, settings."""
        from didact.learners.files import as_document

        return as_document(self)

    def to_arviz(self) -> Any:
        """Posterior and sample_stats in the form that the installed ArviZ takes."""
        from didact.learners.files import as_arviz

        return as_arviz(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a `didact.belief/1` file (.npz, no pickle); `load_belief(path, mdp)` reads it.

        path: of the file.
        """
        from didact.learners.files import save_belief

        save_belief(self, path)

    def plot(self, ax: Any = None, **style: Any) -> Any:
        """Draw what is known of each weight, as intervals.

        ax: Matplotlib axes, new ones by default; they are returned.
        style: options of `didact.plots.posterior`.
        """
        return draw(self, ax, **style)

    def __str__(self) -> str:
        from didact.learners.files import in_words

        return in_words(self)

    def __repr__(self) -> str:
        size = "a point" if self.is_point else f"{self.n_chains} chains of {self.n_draws} draws"
        said = f", {len(self.feedback)} answers" if self.feedback else ""
        return (
            f"Belief({self.learner!r}, {size}, {self.mdp.n_features} features, "
            f"{len(self.demonstrations)} demonstrations{said})"
        )

    _repr_html_ = in_notebook

    def _once(self, name: str, find: Any) -> Floats:
        """The value, found when it is first asked for, and then read-only."""
        if name not in self._derived:
            found = find()
            found.setflags(write=False)
            self._derived[name] = found
        value: Floats = self._derived[name]
        return value


def point_belief(
    mdp: MDP,
    learner: str,
    demonstrations: tuple[Demonstration, ...],
    weights: Any,
    *,
    log_posterior: float = float("nan"),
    **others: Any,
) -> Belief:
    """The belief of a learner that gives one weight vector (k,) and no distribution.

    others: fields of `Belief`, such as settings; no confidence and no certificate by default.
    """
    point = np.asarray(weights, dtype=np.float64)
    density = np.full((1, 1), log_posterior)
    return Belief(
        mdp=mdp,
        learner=learner,
        demonstrations=demonstrations,
        samples=point.reshape(1, 1, -1),
        log_posterior=density,
        map_weights=point,
        map_log_posterior=float(log_posterior),
        best_by_chain=density[0],
        acceptance=np.full(1, np.nan),
        **{"confidence": None, "certificate": None, "settings": {}} | others,
    )


def _checked_fields(belief: Belief) -> dict[str, Any]:
    """The fields in their right shapes and finite, arrays frozen."""
    samples = _frozen(belief.samples, "samples")
    if samples.ndim != 3 or 0 in samples.shape or samples.shape[2] != belief.mdp.n_features:
        raise InvalidParameter(
            f"samples must have the shape (chains, draws, {belief.mdp.n_features}) with at least "
            f"one draw; the shape is {samples.shape}"
        )
    n_chains, n_draws, k = samples.shape
    shapes = {
        "log_posterior": (n_chains, n_draws),
        "map_weights": (k,),
        "best_by_chain": (n_chains,),
        "acceptance": (n_chains,),
    }
    arrays = {name: _frozen(getattr(belief, name), name) for name in shapes}
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise InvalidParameter(
                f"{name} must have the shape {shape}; the shape is {arrays[name].shape}"
            )
    for name, array in (("samples", samples), ("map_weights", arrays["map_weights"])):
        if not np.isfinite(array).all():
            raise InvalidParameter(f"{name} must be finite numbers; one is not")
    densities = np.concatenate(
        (arrays["log_posterior"].ravel(), arrays["best_by_chain"], [belief.map_log_posterior])
    )
    if not (np.isfinite(densities).all() or np.isnan(densities).all()):
        raise InvalidParameter(
            "log densities must all be finite, or all NaN where the learner has none; "
            f"one is {float(densities[~np.isfinite(densities)][0])}"
        )
    rates = arrays["acceptance"]
    if not (np.isnan(rates) | ((rates >= 0.0) & (rates <= 1.0))).all():
        raise InvalidParameter("acceptance must be shares from 0 to 1, or NaN; one is not")
    return {
        "samples": samples,
        **arrays,
        "map_log_posterior": float(belief.map_log_posterior),
        "demonstrations": tuple(belief.demonstrations),
        "feedback": tuple(belief.feedback),
        "settings": MappingProxyType(dict(belief.settings)),
        "notes": tuple(in_one_line(note) for note in belief.notes),
        "modes": tuple(_checked_mode(mode, samples.shape[2]) for mode in belief.modes),
    }


def _checked_mode(mode: Any, k: int) -> Any:
    """A share from 0 to 1, and a mean (k,)."""
    share, mean = float(mode[0]), _frozen(mode[1], "the mean of a mode")
    if not 0.0 <= share <= 1.0 or mean.shape != (k,) or not np.isfinite(mean).all():
        raise InvalidParameter(
            f"a mode must be a share from 0 to 1 and a mean of {k} finite numbers; "
            f"the share is {share}, the shape of the mean {mean.shape}"
        )
    return type(mode)(share, mean)


def _frozen(given: Any, place: str) -> Floats:
    """A read-only float array; copied unless it is one that nobody can write to."""
    try:
        array = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{place} must be numbers; it is {shown(given)}") from None
    if array.flags.writeable or not array.flags.owndata:
        array = array.copy()
        array.setflags(write=False)
    return array
