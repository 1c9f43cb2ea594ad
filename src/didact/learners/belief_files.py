"""Files of beliefs, `didact.belief/1`: an .npz of plain arrays and one JSON text, no pickle.

A file names the model that it belongs to by its sizes and by a few checksums, and is refused with
any other. Sizes are compared before memory is taken.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
import zipfile
from typing import Any

import numpy as np

from didact.errors import InvalidFile, InvalidInput
from didact.files.arrays import DAMAGED
from didact.files.json import parse_json, plain_numbers, write_bytes
from didact.files.reading import open_file, shown_path
from didact.inputs import is_number, reason_of, shown
from didact.learners.belief import Belief, Mode
from didact.learners.certificate import Certificate
from didact.learners.summary import plain_settings
from didact.mdp import MDP, Demonstration, as_demonstrations
from didact.mdp.items import Feedback, as_items
from didact.numerics.exact import Floats
from didact.planning.many_rewards import MOST_BYTES

BELIEF_FORMAT = "didact.belief/1"
HEADER = "header"
ARRAYS = ("samples", "log_posterior", "map_weights", "best_by_chain", "acceptance")
SHOWN = ("pairs", "lengths")


def save_belief(belief: Belief, path: str | os.PathLike[str]) -> None:
    """Write the belief; the file appears whole or not at all."""
    certificate = belief.certificate
    header = {
        "format": BELIEF_FORMAT,
        **_sizes(belief.mdp),
        "checksums": _checksums(belief.mdp).tolist(),
        "learner": belief.learner,
        "map_log_posterior": _or_none(belief.map_log_posterior),
        "confidence": belief.confidence,
        "certificate": None if certificate is None else _document_of(certificate),
        "settings": plain_settings(belief),
        "notes": list(belief.notes),
        "modes": [{"share": mode.share, "mean": mode.mean.tolist()} for mode in belief.modes],
        **({"feedback": [item.document() for item in belief.feedback]} if belief.feedback else {}),
    }
    pairs = [pair for demonstration in belief.demonstrations for pair in demonstration]
    arrays: dict[str, Any] = {
        HEADER: np.array(json.dumps(header, allow_nan=False)),
        **{name: getattr(belief, name) for name in ARRAYS},
        "pairs": np.array(pairs, dtype=np.int64).reshape(-1, 2),
        "lengths": np.array([len(d) for d in belief.demonstrations], dtype=np.int64),
    }
    content = io.BytesIO()
    try:
        np.savez(content, **arrays)  # NumPy before 2.2 takes allow_pickle for one more array
    except ValueError as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # the archive was open when it came
            raise KeyboardInterrupt from None
        raise
    write_bytes(content.getvalue(), path)


def load_belief(path: str | os.PathLike[str], mdp: MDP) -> Belief:
    """The belief in a `didact.belief/1` file about this MDP.

    path: of the file.
    mdp: the model that the belief is about.
    """
    place = shown_path(path)
    with open_file(path) as file:
        try:
            return _read(file, mdp)
        except InvalidInput as error:
            raise InvalidFile(f"{place}: {error}") from None
        except OSError as error:
            raise InvalidFile(f"{place}: cannot be read: {error.strerror or error}") from None
        except DAMAGED as error:
            raise InvalidFile(
                f"{place}: is not a whole {BELIEF_FORMAT} file: {reason_of(error, 120)}"
            ) from None


def _read(file: Any, mdp: MDP) -> Belief:
    if not zipfile.is_zipfile(file):
        raise InvalidFile(f"must be a {BELIEF_FORMAT} file, as `belief.save` writes it; it is not")
    with zipfile.ZipFile(file) as archive:
        _require_members(archive)
        header = _read_header(archive, mdp)
        arrays = {name: _read_array(archive, name) for name in (*ARRAYS, *SHOWN)}
    density = header["map_log_posterior"]
    return Belief(
        mdp=mdp,
        learner=_as_text(header["learner"]),
        demonstrations=_demonstrations(arrays["pairs"], arrays["lengths"], mdp),
        **{name: arrays[name] for name in ARRAYS},
        map_log_posterior=math.nan if density is None else _as_number(density),
        confidence=None if header["confidence"] is None else _as_number(header["confidence"]),
        certificate=_certificate(header["certificate"]),
        settings=_as_object(header["settings"]),
        notes=tuple(_as_text(note) for note in header["notes"]),
        modes=tuple(_mode(mode) for mode in header.get("modes", [])),
        feedback=_feedback(header.get("feedback", []), mdp),
    )


def _require_members(archive: zipfile.ZipFile) -> None:
    """Exactly the arrays of this format, and no more bytes than a belief may have."""
    expected = sorted(f"{name}.npy" for name in (HEADER, *ARRAYS, *SHOWN))
    if sorted(archive.namelist()) != expected:
        raise InvalidFile(f"must hold the arrays of a {BELIEF_FORMAT} file; it holds others")
    n_bytes = sum(entry.file_size for entry in archive.infolist())
    if n_bytes > MOST_BYTES:
        raise InvalidFile(f"must hold at most {MOST_BYTES} bytes; it says it holds {n_bytes}")
    if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
        raise InvalidFile("must hold its arrays as they are; some are compressed. Unpack them")


def _read_array(archive: zipfile.ZipFile, name: str) -> Any:
    """An array whose own sizes agree with those of its entry, before memory is taken."""
    with archive.open(f"{name}.npy") as entry:
        version = np.lib.format.read_magic(entry)
        if version != (1, 0):
            raise ValueError(f"{name} has another .npy version")
        shape, _, dtype = np.lib.format.read_array_header_1_0(entry)
        n_bytes = math.prod(shape) * dtype.itemsize
        if entry.tell() + n_bytes != archive.getinfo(f"{name}.npy").file_size:
            raise ValueError(f"{name} says it has the shape {shape}, which its bytes are not")
        kind = "U" if name == HEADER else "i" if name in SHOWN else "f"
        if dtype.kind != kind or (kind != "U" and dtype.itemsize != 8):
            raise ValueError(f"{name} has the type {dtype}")
        entry.seek(0)
        array = np.lib.format.read_array(entry, allow_pickle=False)
    if kind == "U" and _signs(array).max(initial=0) > sys.maxunicode:
        raise ValueError(f"{name} holds what is no text")
    return array


def _signs(text: Any) -> Any:
    """The numbers of the signs of a text, which NumPy does not check."""
    return np.frombuffer(text.tobytes(), np.dtype(np.uint32).newbyteorder(text.dtype.byteorder))


def _read_header(archive: zipfile.ZipFile, mdp: MDP) -> dict[str, Any]:
    header = _as_object(plain_numbers(parse_json(str(_read_array(archive, HEADER)))))
    if header.get("format") != BELIEF_FORMAT:
        raise InvalidFile(
            f"format must be {BELIEF_FORMAT!r}, which this didact reads; "
            f"it is {shown(header.get('format'))}"
        )
    sizes = _sizes(mdp)
    if {name: header[name] for name in sizes} != sizes:
        raise InvalidFile(f"belongs to a model of {_told(header)}; this one has {_told(sizes)}")
    given, own = np.array(header["checksums"], dtype=np.float64), _checksums(mdp)
    if given.shape != own.shape or not np.allclose(given, own, rtol=1e-9, atol=1e-9):
        raise InvalidFile(
            "belongs to another model of the same sizes: its moves, features or discount differ"
        )
    return header


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


def _feedback(given: Any, mdp: MDP) -> tuple[Feedback, ...]:
    if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
        raise ValueError(f"feedback must be a list of objects, not {shown(given)}")
    items = as_items(given, mdp)
    return tuple(item for item in items if not isinstance(item, Demonstration))


def _document_of(certificate: Certificate) -> dict[str, Any]:
    """What a file keeps of it: the reason in words, without the pair that they name."""
    return {name: value for name, value in vars(certificate).items() if name != "pair"}


def _certificate(given: Any) -> Certificate | None:
    if given is None:
        return None
    entries = _as_object(given)
    holds, by_likelihood = entries["holds"], entries["by_likelihood"]
    if not isinstance(by_likelihood, bool) or not (holds is None or isinstance(holds, bool)):
        raise ValueError("a certificate holds, does not, or is open")
    return Certificate(
        log_likelihood=_as_number(entries["log_likelihood"]),
        confidence=_as_number(entries["confidence"]),
        by_likelihood=by_likelihood,
        holds=holds,
        reason=_as_text(entries["reason"]),
    )


def _mode(given: Any) -> Mode:
    entries = _as_object(given)
    mean = np.array([_as_number(number) for number in entries["mean"]])
    return Mode(_as_number(entries["share"]), mean)


def _as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"an object is expected, not {shown(value)}")
    return value


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is expected, not {shown(value)}")
    return value


def _as_number(value: Any) -> float:
    if not is_number(value):
        raise ValueError(f"a number is expected, not {shown(value)}")
    if not math.isfinite(value):
        raise ValueError("numbers must be finite; one is not")
    return float(value)


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
