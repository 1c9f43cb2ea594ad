"""Whether a belief is well formed, and whether its draws can pass for the posterior."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import in_one_line, printable, shown
from didact.mdp import MDP
from didact.numerics.exact import Floats

if TYPE_CHECKING:
    from didact.learners.belief import Belief

WORST_R_HAT = 1.05
"""Chains with a larger R-hat disagree: their draws are not the posterior."""

FEWEST_EFFECTIVE = 100
"""With fewer effective draws, means and quantiles are mostly noise."""


def checked_fields(belief: Belief) -> dict[str, Any]:
    """The fields in their right shapes and finite, arrays frozen."""
    samples = _frozen(belief.samples, "samples")
    if samples.ndim != 3 or 0 in samples.shape or samples.shape[2] != belief.mdp.n_features:
        raise InvalidParameter(
            f"samples must have the shape (chains, draws, {belief.mdp.n_features}) with at least "
            f"one draw; the shape is {samples.shape}"
        )
    arrays = _shaped(belief, *samples.shape)
    for name, array in (("samples", samples), ("map_weights", arrays["map_weights"])):
        if not np.isfinite(array).all():
            raise InvalidParameter(f"{name} must be finite numbers; one is not")
    _require_densities(belief, arrays)
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


def _shaped(belief: Belief, n_chains: int, n_draws: int, k: int) -> dict[str, Floats]:
    """The other arrays, in the shapes that the samples ask for."""
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
    return arrays


def _require_densities(belief: Belief, arrays: Mapping[str, Floats]) -> None:
    """Either every log density is finite, or the learner has none and all are NaN."""
    densities = np.concatenate(
        (arrays["log_posterior"].ravel(), arrays["best_by_chain"], [belief.map_log_posterior])
    )
    if not (np.isfinite(densities).all() or np.isnan(densities).all()):
        raise InvalidParameter(
            "log densities must all be finite, or all NaN where the learner has none; "
            f"one is {float(densities[~np.isfinite(densities)][0])}"
        )


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


def mixing_problems(belief: Belief) -> tuple[str, ...]:
    """One line for each diagnostic that fails, with the feature where it is worst."""
    if belief.is_point:
        return ()
    if np.isnan(belief.ess_bulk).all():
        return (
            f"{belief.n_draws} draws are too few to tell whether the chains have mixed; "
            "at least 4 are needed. Run more steps",
        )
    if belief.settings.get("sampler") == "mixture":
        told = belief.settings.get("not_mixed")
        return () if told is None else (str(told),)
    problems = []
    worst = _where(belief.r_hat, np.nanargmax)
    if worst is not None and belief.r_hat[worst] > WORST_R_HAT:
        problems.append(
            f"the chains have not mixed: R-hat {belief.r_hat[worst]:.2f} for "
            f"{named_feature(belief.mdp, worst)}, at most {WORST_R_HAT} is wanted; run more steps, "
            "or start the chains elsewhere"
        )
    scarce = _where(belief.ess_bulk, np.nanargmin)
    if scarce is not None and belief.ess_bulk[scarce] < FEWEST_EFFECTIVE:
        problems.append(
            f"the draws are worth only {belief.ess_bulk[scarce]:.0f} independent ones for "
            f"{named_feature(belief.mdp, scarce)}, at least {FEWEST_EFFECTIVE} are wanted; "
            "run more steps"
        )
    return tuple(problems)


def _where(values: Floats, find: Any) -> int | None:
    return None if np.isnan(values).all() else int(find(values))


def named_feature(mdp: MDP, feature: int) -> str:
    """'feature 3', with its name where it has one."""
    number, name = f"feature {feature}", printable(mdp.feature_name(feature))
    return number if name == number else f"{number} ({name})"
