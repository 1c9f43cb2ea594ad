"""What a caller gives: checked once, shown in a message, kept in a file.

A check returns the value in its own type or raises one line that names the rule, the place, the
value and the remedy. Values in messages are short and on one line, whatever was given.
"""

from __future__ import annotations

import array
import difflib
import inspect
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

from didact.errors import DidactError, InvalidInput, InvalidNumber, InvalidParameter

Kind = TypeVar("Kind")
Given = ParamSpec("Given")

LARGEST_COUNT = 2**53
"""Nobody counts further, and floats cannot."""

FAILURES = (Exception, SystemExit)
"""What somebody else's code may raise; to leave the process is a failure of it too."""

LONGEST_NAME = 40
"""How many signs of a name that others chose are shown."""

MAX_DIGITS = 1000
"""How many digits a number may have that is written out; of a fraction above and below."""

MAX_WHOLE_DIGITS = 30
"""How many digits a count, a state, an action or a seed may have where it is written as a text."""

_WHOLE = re.compile(rf"-?[0-9]{{1,{MAX_WHOLE_DIGITS}}}")

MAX_ENTRIES = 2**28
"""How many entries a sparse matrix may have, zeros included, to be written out: 2 GiB."""


def shown(value: Any) -> str:
    """A value in a few characters on one line, for a message."""
    if isinstance(value, np.generic):
        value = value.item()
    try:
        text = str(value) if isinstance(value, Decimal | Fraction) else reprlib.repr(value)
    except (ValueError, RecursionError):
        text = f"a very long {type(value).__name__}"
    except FAILURES:  # whatever a stranger's own repr raises
        text = f"a {type(value).__name__} that cannot be written out"
    text = " ".join(text.splitlines())
    return text if len(text) <= 60 else text[:57] + "..."


def printable(text: str) -> str:
    """The text with a space for every sign that is not printable: ends of lines, escapes, marks."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " for sign in text)


def shown_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A name on one line of printable signs, cut where it is too long."""
    shown_whole = printable(name)
    return shown_whole if len(shown_whole) <= longest else shown_whole[: longest - 1] + "…"


def in_one_line(text: object) -> str:
    """A text, or an error's message: single spaces instead of breaks and what cannot be printed."""
    return " ".join(printable(str(text)).split())


def reason_of(error: BaseException, longest: int = 200) -> str:
    """An error of somebody else's code in one line: 'ValueError: what it says', cut if too long."""
    return in_one_line(f"{type(error).__name__}: {error}")[:longest]


@contextmanager
def own_code(what: str) -> Iterator[None]:
    """Tell a failure of somebody else's code in one line; refusals of didact stay what they are."""
    try:
        yield
    except DidactError:
        raise
    except FAILURES as error:
        raise InvalidParameter(f"{what} failed: {reason_of(error)}") from error


def counted(n: int, thing: str) -> str:
    """'1 state', '2 states'."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


GUESSES = {
    "alpha": ("confidence",),
    "beta": ("confidence",),
    "temperature": ("confidence",),
    "inverse_temperature": ("confidence",),
    "lambda": ("trust",),
    "lambda_": ("trust",),
    "lam": ("trust",),
    "gamma": ("discount",),
    "m": ("rollouts",),
    "n_rollouts": ("rollouts",),
    "n_trajectories": ("rollouts", "n"),
    "h": ("horizon",),
    "max_steps": ("horizon",),
    "epsilon": ("loss", "threshold"),
    "eps": ("loss", "threshold"),
    "random_state": ("seed",),
    "rng": ("seed",),
    "n_jobs": ("jobs", "threads"),
    "algorithm": ("teacher", "learner", "strategy"),
    "method": ("teacher", "learner", "strategy"),
}
"""Names that other libraries and the paper's letters suggest, and the names that are meant."""

ELSEWHERE = {
    "discount": "the discount (the paper's gamma) belongs to the world: give it to make or MDP",
    "loss": "for a bound on the loss (the paper's epsilon) use teach_within(task, loss)",
    "trust": "trust (the paper's lambda) is for the learner bio-irl",
    "confidence": "confidence (the paper's alpha) is for learners",
    "horizon": "horizon (the paper's H) is for teachers and for the learner bio-irl",
    "rollouts": "rollouts (the paper's m) is for teachers",
    "jobs": "jobs is for run_study and compare",
}
"""Where a name that is meant belongs, for calls that do not take it."""


def nearest_spelling(word: Any, known: Iterable[str]) -> str:
    """ " (did you mean 'size'?)" when a known word is near or is meant, else nothing."""
    text, names = word if isinstance(word, str) else "", list(known)
    meant = GUESSES.get(text.lower(), ())
    same = [name for name in names if name.lower() == text.lower()]
    near = [name for name in meant if name in names] or same
    if not near and meant and meant[0] in ELSEWHERE:
        return f" ({ELSEWHERE[meant[0]]})"
    near = near or difflib.get_close_matches(text, names, n=1, cutoff=0.5)
    return f" (did you mean {near[0]!r}?)" if near else ""


def explains_names(function: Callable[Given, Kind]) -> Callable[Given, Kind]:
    """The function, which tells what a guessed name of an argument means: random_state is seed.

    Only the TypeError of the call itself is replaced, so that right calls take no time.
    """

    @wraps(function)
    def called(*args: Given.args, **kwargs: Given.kwargs) -> Kind:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            is_of_call = error.__traceback__ is not None and error.__traceback__.tb_next is None
            known = list(inspect.signature(function).parameters)
            hints = [(name, nearest_spelling(name, known)) for name in kwargs if name not in known]
            name, hint = next((each for each in hints if each[1]), ("", ""))
            if not (is_of_call and hint):
                raise
            message = f"{function.__name__} has no argument {name!r}{hint}"
        raise InvalidParameter(message)

    return called


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number of Python or NumPy; truth values are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole_in(text: str) -> int | None:
    """The whole number that a text writes in ASCII digits; None for all other texts.

    `int` also takes 1_000, Arabic digits and blanks, and raises where there are too many digits.
    """
    return int(text) if _WHOLE.fullmatch(text) else None


def is_nearly_whole(value: Decimal) -> bool:
    """Whether a finite number is not whole and its nearest float is, as 2.000000000000000001."""
    nearest = float(value)
    return math.isfinite(nearest) and nearest == int(nearest) and value != int(value)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a real number of Python or NumPy, NaN and infinities too; no truth value."""
    return is_whole(value) or isinstance(value, float | np.floating)


def whole_number(
    value: Any,
    place: str,
    lowest: int,
    highest: int | float | None = None,
    *,
    error: type[InvalidInput] = InvalidParameter,
) -> int:
    """A whole number from lowest to highest, both allowed; what else was given raises `error`.

    highest: `math.inf` where the caller has a limit of its own to name; LARGEST_COUNT by default.
    """
    most = LARGEST_COUNT if highest is None else highest
    if is_whole(value) and lowest <= value <= most:
        return int(value)
    told = highest is not None or (is_whole(value) and value > most)
    allowed = f"from {lowest} to {most}" if told and most != math.inf else f"from {lowest}"
    raise error(f"{place} must be a whole number {allowed}; it is {shown(value)}")


def finite_number(value: Any, place: str, lowest: float) -> float:
    """A finite number from lowest, as a float."""
    number = as_float(value)
    if not (math.isfinite(number) and number >= lowest):
        raise InvalidParameter(
            f"{place} must be a finite number from {lowest:g}; it is {shown(value)}"
        )
    return number


def seconds(value: Any, place: str) -> float:
    """A positive length of time; infinity is none."""
    number = as_float(value)
    if not number > 0:
        raise InvalidParameter(f"{place} must be positive seconds; it is {shown(value)}")
    return number


def as_float(value: Any) -> float:
    """A number as a float, infinite where it is too large for one; NaN for all else."""
    if not is_number(value):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def instance(value: Any, kind: type[Kind], place: str, remedy: str = "") -> Kind:
    """The value, which must be of this kind."""
    if isinstance(value, kind):
        return value
    article = "an" if kind.__name__[0] in "AEIOU" or kind.__name__ == "MDP" else "a"
    advice = f", {remedy}" if remedy else ""
    raise InvalidParameter(
        f"{place} must be {article} {kind.__name__}{advice}; it is {shown(value)}"
    )


def entries(value: Any, place: str, what: str) -> list[Any]:
    """What a list, an array or anything else that can be gone through holds; texts cannot."""
    value = plain_array(value, place)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        try:
            return list(value)
        except DidactError:
            raise
        except FAILURES as error:  # whatever a stranger's own iterator raises
            raise InvalidParameter(
                f"{place} must be a list of {what}; going through it failed: {reason_of(error)}"
            ) from None
    raise InvalidParameter(f"{place} must be a list of {what}; it is {shown(value)}")


def plain_array(value: Any, place: str) -> Any:
    """An array of any library as a plain ndarray of what it holds; all else as it is.

    Frames and series of pandas, arrays of xarray, tensors, buffers, sparse matrices, matrices of
    NumPy: entries count in their order, labels do not. An entry that is masked has no value, so
    none is read from below its mask.
    """
    if isinstance(value, np.ma.MaskedArray):
        return _unmasked(value, place)
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if isinstance(value, np.generic | type):
        return value
    if hasattr(value, "tocoo") and hasattr(value, "toarray"):
        if math.prod(value.shape) > MAX_ENTRIES:
            raise InvalidNumber(
                f"{place} as a sparse matrix must have at most {MAX_ENTRIES} entries, zeros "
                f"included; the shape is {value.shape}"
            )
        return value.toarray()
    if not (hasattr(value, "__array__") or isinstance(value, memoryview | array.array)):
        return value
    try:
        return plain_array(np.asanyarray(value), place)
    except DidactError:
        raise
    except FAILURES as error:  # tensors on other devices, released buffers
        raise InvalidNumber(f"{place} cannot be read as an array: {reason_of(error)}") from None


def _unmasked(value: Any, place: str) -> Any:
    if np.ma.is_masked(value):
        where = np.argwhere(np.ma.getmaskarray(value))[0].tolist()
        raise InvalidNumber(
            f"{place}{where if where else ''} must have a value; it is masked. Fill it in"
        )
    return np.asarray(value.data)


def as_text(value: Any, place: str, *, error: type[InvalidInput] = InvalidParameter) -> str:
    """A text; what else was given raises `error`."""
    if isinstance(value, str):
        return value
    raise error(f"{place} must be text; it is {shown(value)}")


def flag(value: Any, place: str) -> bool:
    """True or False, of Python or NumPy."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidParameter(f"{place} must be True or False; it is {shown(value)}")


def choice(value: Any, place: str, choices: Sequence[str]) -> str:
    """One of the named choices."""
    if isinstance(value, str) and value in choices:
        return value
    *others, last = (repr(name) for name in choices)
    listed = f"{', '.join(others)} or {last}" if others else last
    raise InvalidParameter(
        f"{place} must be {listed}; it is {shown(value)}{nearest_spelling(value, choices)}"
    )


def parameters_of(function: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of a function; none where it does not tell."""
    try:
        return inspect.signature(function).parameters
    except FAILURES:  # no function, or one whose own repr raises while Python says so
        return {}


def without_exploration(predict: Any) -> dict[str, bool]:
    """What tells an agent to act without exploration, where its `predict` knows of that."""
    return {"deterministic": True} if "deterministic" in parameters_of(predict) else {}


def plain(value: Any) -> Any:
    """A number, text, truth value or None as a file can hold it; all else as a message shows it."""
    scalar = value.item() if isinstance(value, np.generic) else value
    is_plain = scalar is None or isinstance(scalar, bool | int | float | str)
    return scalar if is_plain else shown(scalar)


def plain_document(value: Any) -> Any:
    """Nested values as JSON can hold them: arrays as lists, NaN and infinities as null."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain_document(entry) for entry in value]
    if isinstance(value, dict):
        return {str(name): plain_document(entry) for name, entry in value.items()}
    scalar = plain(value)
    return None if isinstance(scalar, float) and not math.isfinite(scalar) else scalar
