"""A lesson of clips, and what a certificate says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from didact.bec.nearest import SURE, most_likely, nearest_reward
from didact.bec.observed import Observed, Setting
from didact.bec.openness import distances_to_cone
from didact.errors import InvalidModel
from didact.inputs import choice, counted, instance
from didact.teaching.clips.cover import FINE, chosen_clips, kernel_rows, rows_said
from didact.teaching.clips.cutting import Clip, clips_of

Floats = NDArray[np.float64]

THIN = 1e-6
"""A margin, as a sine, below which the rewards that fit have no middle worth the name."""


@dataclass(frozen=True)
class Certificate:
    """Upper bounds from fresh, independent situations: a statement with a confidence, no proof.

    n_situations: of the last round. n_open, n_mistaken: how many of them leave something open, or
    are mistakes of the policy. open_share, mistaken_share: bounds that hold together with the
    confidence. rounds: how often clips were added and fresh situations drawn; they are paid for.
    assumptions: what nobody can know of a simulator by stepping it, and the bounds rest on.
    """

    n_situations: int
    n_open: int
    n_mistaken: int
    open_share: float
    mistaken_share: float
    confidence: float
    target: float
    rounds: int
    assumptions: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the open share is certified to be within the target."""
        return self.open_share <= self.target


@dataclass(frozen=True, eq=False)
class LeftOpen:
    """A situation that a lesson leaves open: what it shows and the policy does there.

    other: the action that weights, which fit the whole lesson, prefer; worth: by how much return,
    were they as large as the true ones; held: for how many steps it is taken.
    """

    observation: Any
    own: Any
    other: Any
    worth: float
    weights: Floats
    held: int = 1


@dataclass(frozen=True, eq=False)
class ClipLesson:
    """Clips of a policy, chosen so that they leave little open.

    candidates: clips that could be shown. left_open: of the fresh situations of the certificate
    that are open, those of which most is open. open_seen: situations that were observed, without a
    mistake, and that the clips leave open.
    """

    seen: Observed
    clips: tuple[Clip, ...]
    candidates: tuple[Clip, ...]
    certificate: Certificate | None = None
    left_open: tuple[LeftOpen, ...] = ()

    @cached_property
    def cone(self) -> Floats:
        """Generators of what the clips say, scaled, (m, k)."""
        setting = self.seen.setting
        return kernel_rows(rows_said(self.clips, setting), FINE * setting.tolerance)

    @property
    def is_empty(self) -> bool:
        """Whether no row is shown, so that nothing is taught, however little is left open."""
        return not len(self.cone)

    @property
    def n_candidates(self) -> int:
        """How many clips could be shown."""
        return len(self.candidates)

    @property
    def n_steps(self) -> int:
        """Steps shown."""
        return sum(map(len, self.clips))

    def openness(self, rows: Floats) -> Floats:
        """For situations, scaled rows (n, B, k): the most return that a reward which fits the
        clips may give to another action, (n,)."""
        n, n_others, k = rows.shape
        lengths = distances_to_cone(self.cone, rows.reshape(-1, k)).lengths
        return np.asarray(lengths.reshape(n, n_others).max(axis=1))

    @cached_property
    def open_seen(self) -> int:
        """Of the observed situations without a mistake, those that are open."""
        seen = self.seen
        right = seen.certain_rows[~seen.mistaken]
        return int((self.openness(right) > seen.setting.tolerance).sum()) if len(right) else 0

    @cached_property
    def width(self) -> float:
        """How wide the class of rewards that fit is: the most by which a scaled weight of them
        varies, where their part along the truth is 1; infinite where it has no end. What no row
        sees does not count."""
        from scipy.optimize import linprog

        setting = self.seen.setting
        if not len(self.cone):
            return np.inf
        fits = {"A_ub": -self.cone, "b_ub": np.zeros(len(self.cone))}
        fits |= {"A_eq": setting.visible[None], "b_eq": np.ones(1)}
        ends = [
            linprog(sign * direction, **fits, bounds=(None, None))
            for direction in _across(setting)
            for sign in (1.0, -1.0)
        ]
        if any(end.status != 0 for end in ends):
            return np.inf
        return float(
            max(-(one.fun + other.fun) for one, other in zip(ends[::2], ends[1::2], strict=True))
        )

    @cached_property
    def weights(self) -> Floats:
        """The reward in the middle of those that fit: the widest margin from every row, unit."""
        scale = self.seen.setting.scale
        lengths = np.linalg.norm(self.cone, axis=1)
        units = self.cone[lengths > 0] / lengths[lengths > 0, None]
        middle = _nearest_of_hull(units) if len(units) else np.zeros(len(scale))
        if len(units) and np.linalg.norm(middle) < THIN:
            # steps of clips contradict each other within the tolerance: give way a little to each
            middle = most_likely(self.cone, SURE / self.seen.setting.tolerance)
        own = middle / scale
        size = float(np.linalg.norm(own))
        return own / size if size > 0 else own

    def with_clips(self, more: Sequence[Clip]) -> ClipLesson:
        """The lesson with further clips, and without a certificate."""
        clips, candidates = (*self.clips, *more), (*self.candidates, *more)
        return replace(self, clips=clips, candidates=candidates, certificate=None, left_open=())

    def chosen_anew(self) -> ClipLesson:
        """The lesson with the fewest of all candidates, and without a certificate."""
        numbers = chosen_clips(self.candidates, self.seen.setting)
        clips = tuple(self.candidates[number] for number in numbers)
        return replace(self, clips=clips, certificate=None, left_open=())

    def save_minari(self, target: str, *, replace: bool = False) -> None:
        """Write the clips as episodes of a Minari dataset, with their rewards.

        target: its name among Minari's datasets, or a path; it ends in a version, as lesson-v0.
        replace: whether a dataset of that name gives way.
        """
        from didact.teaching.clips.exporting import save_clips

        save_clips(self, target, replace=replace)

    def statement(self) -> str:
        """What is known of the lesson, in one or two sentences."""
        setting, told = self.seen.setting, self.certificate
        nothing = (
            "Nothing is taught: no action that was seen makes a difference of more than "
            f"{setting.tolerance:.3g} return. "
            if self.is_empty
            else ""
        )
        if told is None:
            return nothing + (
                f"{counted(self.open_seen, 'situation')} of {len(self.seen.rows)} that were seen "
                "stay open; nothing is said of others before didact.certify."
            )
        leave = "leave open an action worth more than"
        if setting.repeats > 1:
            leave = "let the weights that are taught prefer another action by more than"
        return nothing + (
            f"With {told.confidence:.0%} confidence at most {told.open_share:.2%} of situations "
            f"(these starts, this policy, discount {setting.discount:g}) {leave} "
            f"{setting.tolerance:.3g} return; in at most {told.mistaken_share:.2%} "
            "the policy itself errs by more. This is a statistical statement, not a proof."
            + (f" It assumes that {'; that '.join(told.assumptions)}." if told.assumptions else "")
        )

    def __repr__(self) -> str:
        clips = counted(len(self.clips), "clip")
        return f"ClipLesson({clips}, {counted(self.n_steps, 'step')}: {self.statement()})"


def assumptions_of(setting: Setting) -> tuple[str, ...]:
    """What a certificate takes for granted: stepping a simulator shows what it did, not what it may
    do."""
    told = [
        setting.rewards.assumption(),
        f"no reward that fits has more than the tolerance at stake after the {setting.horizon} "
        "steps of a branch",
        setting.simulator.chance_assumption,
    ]
    if setting.extremes is not None:
        told.append(_spread_assumption(setting))
    return tuple(filter(None, told))


def _spread_assumption(setting: Setting) -> str:
    """Of the empirical Bernstein bound, which needs the range of what is drawn."""
    what = "returns that rewards give to single branches"
    if setting.rewards.declared is not None:
        what += ", other rewards than the true one"
    return f"{what} differ by no more than was seen in all repeats together"


def teach_observed(seen: Any, *, demonstrations: str = "clips") -> ClipLesson:
    """The fewest clips, or whole rollouts, that say what all of them say, up to the tolerance."""
    instance(seen, Observed, "seen", "the result of observe")
    kind = choice(demonstrations, "demonstrations", ("clips", "rollouts"))
    clips = clips_of(seen, whole=kind == "rollouts")
    if not clips:
        raise InvalidModel(_nothing_to_show(seen, kind))
    return ClipLesson(seen, (), tuple(clips)).chosen_anew()


def _across(setting: Setting) -> Floats:
    """An orthonormal basis of directions across the truth, without those that no row sees."""
    blind = () if setting.blind is None else setting.blind
    left_out = np.vstack([setting.visible, *blind])
    return np.asarray(np.linalg.svd(left_out)[2][len(left_out) :])


def _nothing_to_show(seen: Observed, kind: str) -> str:
    """Why a policy that errs everywhere cannot be shown, and what it seems to want."""
    if kind == "rollouts" and not seen.mistaken.all():
        return "the policy errs in every rollout; show clips of them, demonstrations='clips'"
    near = nearest_reward(seen)
    told = ", ".join(f"{weight:.3g}" for weight in near.weights)
    return (
        f"the policy errs by more than {seen.setting.tolerance:.3g} return in every situation that "
        f"was seen; the nearest reward to what it does has the weights ({told}), for which it errs "
        f"in {near.mistaken:.0%}, and no reward explains {near.unexplained:.0%}; give those "
        "weights, or a larger tolerance"
    )


def _nearest_of_hull(units: Floats) -> Floats:
    """The point nearest to 0 of the convex hull of unit rows: its direction has the widest margin.

    It is 0 where rows and their negatives are among them.
    """
    from scipy.optimize import nnls

    k = units.shape[1]
    system = np.vstack([units.T, np.ones(len(units))])
    shares, _ = nnls(system, np.append(np.zeros(k), 1.0))
    point = units.T @ shares / max(float(shares.sum()), 1e-300)
    return np.asarray(point)
