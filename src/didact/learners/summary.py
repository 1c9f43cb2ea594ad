"""A belief for people and other tools: rows by feature, a few lines, a JSON object, ArviZ."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from importlib import metadata
from typing import Any

import numpy as np

from didact.errors import InvalidParameter
from didact.inputs import counted, plain_document
from didact.learners.belief import Belief
from didact.mdp import MDP

QUANTILES = {"5%": 0.05, "95%": 0.95}
MOST_LINES = 12
"""So many features are told one by one in text."""


def feature_rows(belief: Belief) -> list[dict[str, Any]]:
    """name, map, mean, sd, 5%, 95%, r_hat, ess_bulk and ess_tail of each feature.

    A point learner has no spread and no diagnostics: NaN.
    """
    draws = belief.samples_flat
    spread = np.full(draws.shape[1], np.nan)
    low, high = np.full((2, draws.shape[1]), np.nan)
    if not belief.is_point:
        spread = draws.std(axis=0, ddof=1)
        low, high = np.quantile(draws, list(QUANTILES.values()), axis=0)
    columns = {
        "map": belief.map_weights,
        "mean": belief.mean_weights,
        "sd": spread,
        "5%": low,
        "95%": high,
        "r_hat": belief.r_hat,
        "ess_bulk": belief.ess_bulk,
        "ess_tail": belief.ess_tail,
    }
    return [
        {"name": name, **{column: float(values[i]) for column, values in columns.items()}}
        for i, name in enumerate(feature_names(belief.mdp))
    ]


def feature_names(mdp: MDP) -> list[str]:
    """The names of the features; a name that stands twice gets its number."""
    names = [mdp.feature_name(i) for i in range(mdp.n_features)]
    often = Counter(names)
    return [name if often[name] == 1 else f"{name} [{i}]" for i, name in enumerate(names)]


def size_in_words(belief: Belief) -> str:
    """'birl: 4 chains of 8000 draws after 17 pairs, confidence 100'."""
    n_pairs = sum(len(demonstration) for demonstration in belief.demonstrations)
    kept = (
        "one weight vector"
        if belief.is_point
        else f"{counted(belief.n_chains, 'chain')} of {counted(belief.n_draws, 'draw')}"
    )
    sure = "" if belief.confidence is None else f", confidence {belief.confidence:g}"
    said = f" and {counted(len(belief.feedback), 'answer')}" if belief.feedback else ""
    return f"{belief.learner}: {kept} after {counted(n_pairs, 'pair')}{said}{sure}"


def in_words(belief: Belief) -> str:
    """A few lines: what it is, the weights by feature, the certificate, the warnings."""
    lines = [size_in_words(belief)]
    for row in feature_rows(belief)[:MOST_LINES]:
        span = "" if belief.is_point else f", 90% from {row['5%']:.3g} to {row['95%']:.3g}"
        lines.append(f"  {row['name']}: {row['map']:.3g}{span}")
    if belief.mdp.n_features > MOST_LINES:
        lines.append(f"  ({counted(belief.mdp.n_features - MOST_LINES, 'more feature')})")
    if belief.certificate is not None:
        lines.append(str(belief.certificate))
    if belief.settings.get("pilots"):
        lines.append(f"Note: {belief.settings['pilots']}")
    lines += [f"Warning: {line}" for line in belief.warnings]
    return "\n".join(lines)


def as_document(belief: Belief) -> dict[str, Any]:
    """The belief as a JSON object, without its draws; what does not exist is null."""
    certificate = belief.certificate
    found: dict[str, Any] = plain_document(
        {
            "learner": belief.learner,
            "confidence": belief.confidence,
            "n_demonstrations": len(belief.demonstrations),
            "n_pairs": sum(len(demonstration) for demonstration in belief.demonstrations),
            "n_answers": len(belief.feedback),
            "n_chains": belief.n_chains,
            "n_draws": belief.n_draws,
            "features": belief.summary(),
            "map_log_posterior": belief.map_log_posterior,
            "best_by_chain": belief.best_by_chain,
            "acceptance": belief.acceptance,
            "modes": [{"share": mode.share, "mean": mode.mean} for mode in belief.modes],
            "is_mixed": belief.is_mixed,
            "warnings": belief.warnings,
            "certificate": None if certificate is None else asdict(certificate),
            "settings": plain_settings(belief),
        }
    )
    return found


def as_arviz(belief: Belief) -> Any:
    """What the installed ArviZ works on: a DataTree from 1.0 on, before that InferenceData."""
    try:
        version = metadata.version("arviz")
        tree = as_datatree(belief)
        if int(version.partition(".")[0]) >= 1:
            return tree
        from arviz import InferenceData
    except (ImportError, metadata.PackageNotFoundError):
        raise InvalidParameter(
            "to_arviz needs ArviZ and xarray; install them with `pip install didact[arviz]`"
        ) from None
    converted: Any = InferenceData
    return converted.from_datatree(tree)


def as_datatree(belief: Belief) -> Any:
    """Groups posterior (weights: chain, draw, feature) and sample_stats (lp), with attributes."""
    from xarray import Dataset, DataTree

    places = {"chain": np.arange(belief.n_chains), "draw": np.arange(belief.n_draws)}
    weights = Dataset(
        {"weights": (("chain", "draw", "feature"), belief.samples.copy())},
        coords={**places, "feature": feature_names(belief.mdp)},
        attrs={"learner": belief.learner, "inference_library": "didact"},
    )
    densities = Dataset(
        {"lp": (("chain", "draw"), belief.log_posterior.copy())},
        coords=places,
        attrs={"acceptance": belief.acceptance.tolist()},
    )
    tree = DataTree.from_dict({"posterior": weights, "sample_stats": densities})
    tree.attrs["settings"] = json.dumps(plain_settings(belief))
    return tree


def plain_settings(belief: Belief) -> dict[str, Any]:
    """The settings as JSON can hold them: NumPy's numbers as plain ones, NaN as null."""
    return {str(name): plain_document(value) for name, value in belief.settings.items()}
