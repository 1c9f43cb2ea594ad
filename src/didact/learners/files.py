"""A belief for people, other tools and files: rows by feature, words, JSON, ArviZ, `.npz`.

A file, `didact.belief/1`, is an .npz of plain arrays and one JSON text, no pickle. It names the
model that it belongs to by its sizes and by a few checksums, and is refused with any other. Sizes
are compared before memory is taken.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import asdict
from importlib import metadata
from typing import Any

import numpy as np

from didact.errors import InvalidFile
from didact.files.archives import Archive, read_archive, write_archive
from didact.files.extras import require_package
from didact.files.json import as_finite, as_list, as_object, as_texts
from didact.inputs import as_text, counted, plain_document, shown
from didact.learners.belief import Belief, Mode
from didact.learners.evidence import Certificate
from didact.mdp import MDP, Demonstration, as_demonstrations
from didact.mdp.items import as_items
from didact.numerics.exact import Floats

BELIEF_FORMAT = "didact.belief/1"
ARRAYS = ("samples", "log_posterior", "map_weights", "best_by_chain", "acceptance")
SHOWN = ("pairs", "lengths")
QUANTILES = {"5%": 0.05, "95%": 0.95}
MAX_LINES = 12
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
    for row in feature_rows(belief)[:MAX_LINES]:
        span = "" if belief.is_point else f", 90% from {row['5%']:.3g} to {row['95%']:.3g}"
        lines.append(f"  {row['name']}: {row['map']:.3g}{span}")
    if belief.mdp.n_features > MAX_LINES:
        lines.append(f"  ({counted(belief.mdp.n_features - MAX_LINES, 'more feature')})")
    if belief.certificate is not None:
        lines.append(str(belief.certificate))
    if belief.settings.get("warmup"):
        lines.append(f"Note: {belief.settings['warmup']}")
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
    require_package("xarray", "arviz", "posteriors for ArviZ")
    tree = as_datatree(belief)
    try:  # the version without ArviZ's import of seconds
        if int(metadata.version("arviz").partition(".")[0]) >= 1:
            return tree
    except metadata.PackageNotFoundError:
        pass  # then its import tells what to install
    arviz = require_package("arviz", "arviz", "posteriors for ArviZ")
    return arviz.InferenceData.from_datatree(tree)


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


def save_belief(belief: Belief, path: str | os.PathLike[str]) -> None:
    """Write the belief; the file appears whole or not at all."""
    certificate = belief.certificate
    header = {
        "format": BELIEF_FORMAT,
        **_sizes(belief.mdp),
        "checksums": _checksums(belief.mdp).tolist(),
        "learner": belief.learner,
        "map_log_posterior": plain_document(belief.map_log_posterior),
        "confidence": belief.confidence,
        # The reason in words, without the pair that they name.
        "certificate": None
        if certificate is None
        else {name: value for name, value in vars(certificate).items() if name != "pair"},
        "settings": plain_settings(belief),
        "notes": list(belief.notes),
        "modes": [{"share": mode.share, "mean": mode.mean.tolist()} for mode in belief.modes],
        **({"feedback": [item.document() for item in belief.feedback]} if belief.feedback else {}),
    }
    pairs = [pair for demonstration in belief.demonstrations for pair in demonstration]
    arrays: dict[str, Any] = {
        **{name: getattr(belief, name) for name in ARRAYS},
        "pairs": np.array(pairs, dtype=np.int64).reshape(-1, 2),
        "lengths": np.array([len(d) for d in belief.demonstrations], dtype=np.int64),
    }
    write_archive(header, arrays, path)


def load_belief(path: str | os.PathLike[str], mdp: MDP) -> Belief:
    """The belief in a `didact.belief/1` file about this MDP.

    path: of the file.
    mdp: the model that the belief is about.
    """
    belief: Belief = read_archive(path, BELIEF_FORMAT, lambda file: _read(file, mdp))
    return belief


def _read(file: Any, mdp: MDP) -> Belief:
    kinds = {**dict.fromkeys(ARRAYS, "f"), **dict.fromkeys(SHOWN, "i")}
    with Archive(file, BELIEF_FORMAT, kinds, "belief.save") as archive:
        header = archive.header()
        _require_own(header, mdp)
        arrays = archive.arrays()
    density, feedback = header["map_log_posterior"], header.get("feedback", [])
    if not isinstance(feedback, list) or not all(isinstance(item, dict) for item in feedback):
        raise ValueError(f"feedback must be a list of objects, not {shown(feedback)}")
    items = as_items(feedback, mdp)
    return Belief(
        mdp=mdp,
        learner=as_text(header["learner"], "learner", error=InvalidFile),
        demonstrations=_demonstrations(arrays["pairs"], arrays["lengths"], mdp),
        **{name: arrays[name] for name in ARRAYS},
        map_log_posterior=math.nan if density is None else as_finite(density, "map_log_posterior"),
        confidence=None
        if header["confidence"] is None
        else as_finite(header["confidence"], "confidence"),
        certificate=_certificate(header["certificate"]),
        settings=as_object(header["settings"], "settings"),
        notes=as_texts(header["notes"], "notes"),
        modes=tuple(_mode(mode) for mode in header.get("modes", [])),
        feedback=tuple(item for item in items if not isinstance(item, Demonstration)),
    )


def _require_own(header: dict[str, Any], mdp: MDP) -> None:
    """Refuse the belief about another model."""
    sizes = _sizes(mdp)
    if {name: header[name] for name in sizes} != sizes:
        raise InvalidFile(f"belongs to a model of {_told(header)}; this one has {_told(sizes)}")
    given, own = np.array(header["checksums"], dtype=np.float64), _checksums(mdp)
    if given.shape != own.shape or not np.allclose(given, own, rtol=1e-9, atol=1e-9):
        raise InvalidFile(
            "belongs to another model of the same sizes: its moves, features or discount differ"
        )


def _sizes(mdp: MDP) -> dict[str, int]:
    return {
        "n_states": mdp.n_states,
        "n_actions": mdp.n_actions,
        "n_features": mdp.n_features,
    }


def _told(sizes: dict[str, Any]) -> str:
    states, actions, features = (
        shown(sizes[name]) for name in ("n_states", "n_actions", "n_features")
    )
    return f"{states} states, {actions} actions and {features} features"


def _checksums(mdp: MDP) -> Floats:
    """The discount, and a wave over the moves, features and ends: another model has others."""
    moves = mdp.transitions
    parts = (
        moves.successors / mdp.n_states,
        moves.probabilities.floats,
        mdp.features.floats.ravel(),
        mdp.terminal,
    )
    waves = [float(part @ np.sin(np.arange(1.0, part.size + 1))) for part in parts]
    return np.array([mdp.discount, *waves])


def _demonstrations(pairs: Any, lengths: Any, mdp: MDP) -> tuple[Demonstration, ...]:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or lengths.ndim != 1 or (lengths < 1).any():
        raise ValueError("pairs and lengths do not make demonstrations")
    if lengths.sum() != pairs.shape[0]:
        raise ValueError("pairs and lengths do not agree")
    rows, ends = pairs.tolist(), np.cumsum(lengths).tolist()
    return as_demonstrations(
        [rows[end - length : end] for end, length in zip(ends, lengths.tolist(), strict=True)], mdp
    )


def _certificate(given: Any) -> Certificate | None:
    if given is None:
        return None
    entries = as_object(given, "certificate")
    holds, by_likelihood = entries["holds"], entries["by_likelihood"]
    if not isinstance(by_likelihood, bool) or not (holds is None or isinstance(holds, bool)):
        raise ValueError("a certificate holds, does not, or is open")
    return Certificate(
        log_likelihood=as_finite(entries["log_likelihood"], "log_likelihood"),
        confidence=as_finite(entries["confidence"], "confidence"),
        by_likelihood=by_likelihood,
        holds=holds,
        reason=as_text(entries["reason"], "reason", error=InvalidFile),
    )


def _mode(given: Any) -> Mode:
    entries = as_object(given, "modes")
    mean = [as_finite(number, "mean") for number in as_list(entries["mean"], "mean")]
    return Mode(as_finite(entries["share"], "share"), np.array(mean))
