"""Learn from what was shown and said: find the learner by name, ask it, and say how far it goes.

A learner is a function of `Evidence` and a generator that returns a `Belief`, or plain weights
(k,). The built-in ones are named by module and function, and loaded when they are first asked.

**Clips.** A state that clips of a policy in a simulator show is one decision: its action against
each alternative, what follows being known from branching. So log P(w) is a sum of softmaxes of rows
. w, and a model in which every such state has actions pay minus their row, once, has exactly this
likelihood: the chains of BIRL sample it as they sample any other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, overload

import numpy as np
from scipy.sparse import csr_array

from didact.bec.observed.result import Observed
from didact.errors import InvalidInput, InvalidParameter, NotMixed, Unsupported
from didact.inputs import choice, counted, instance, is_whole, plain
from didact.learners.belief import Belief, point_belief
from didact.learners.evidence import Evidence, as_evidence, as_one_model
from didact.mdp import MDP, Family, Task
from didact.mdp.model import as_weights
from didact.numerics.exact import Floats
from didact.numerics.geometry import singular_directions
from didact.random import Seed, as_generator
from didact.registry import Registry
from didact.teaching.clips.lesson import ClipLesson, as_said
from didact.worlds.opening import named_world

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


Learner = Callable[..., Any]
Function = TypeVar("Function", bound=Learner)

ENTRY_POINTS = "didact.learners"

BUILT_IN = {
    "birl": "didact.learners.chains.birl:birl",
    "bio-irl": "didact.learners.chains.bio_irl:bio_irl",
    "ml-irl": "didact.learners.points.unit_weights:ml_irl",
    "policy-matching": "didact.learners.points.unit_weights:policy_matching",
    "max-entropy": "didact.learners.points.max_entropy:max_entropy",
}

WITH_FEEDBACK = ("birl", "ml-irl", "max-entropy")
"""Built-in learners that read answers; one of your own says so by `takes_feedback = True`."""

_learners: Registry[Learner] = Registry(
    "learner", ENTRY_POINTS, BUILT_IN, shared=("learner", "preset", "seed")
)


def register_learner(name: str) -> Callable[[Function], Function]:
    """Make the decorated function the learner `name`; it stays an ordinary function.

    name: by which `learn` and the command line know it. The function takes evidence and a
        generator and returns a `Belief` or weights; its further parameters become options of
        `learn`. With an attribute `takes_feedback = True` it is also given other feedback than
        demonstrations, as `evidence.answers`.
    """
    return _learners.decorator(name)


def learners() -> Mapping[str, Learner]:
    """Every learner by name: the built-in, the registered, the installed (entry points)."""
    return _learners.everything()


@overload
def learn(mdp: MDP | Task | Family, demonstrations: Any, **settings: Any) -> Belief: ...


@overload
def learn(mdp: Observed, demonstrations: Any, **settings: Any) -> ClipBelief: ...


def learn(
    mdp: MDP | Task | Family | Observed,
    demonstrations: Any,
    *,
    learner: str = "birl",
    preset: str | None = None,
    seed: Seed = 0,
    **options: Any,
) -> Belief | ClipBelief:
    """What a learner believes about the reward after demonstrations and answers in this MDP.

    mdp: the model, or a task, whose reward the learner never sees; or a family, whose members stand
        side by side in the belief's model; or a policy seen in a simulator, from `observe`: then
        demonstrations are its lesson, learners are 'birl' (whose confidence is 30 over the
        tolerance by default) and 'max-margin', and a ClipBelief is returned.
    demonstrations: a lesson, a selection, a recording, the path of a file, or lists of (state,
        action) or (observation, action) pairs; repeated pairs count each time, and there may be
        none. For birl, ml-irl and max-entropy also comparisons, preferences, corrections, rankings
        and stops among them: who answers chooses what is worth more with a probability
        proportional to exp(confidence worth).
    learner: 'birl', 'bio-irl', 'ml-irl', 'policy-matching', 'max-entropy', or one of your own.
    preset: 'paper' for the paper's settings of birl (one chain of 10,000 steps of size 0.005) and
        of bio-irl (1,000 steps of size 0.05, trust 100, greedy matching), see
        `didact.paper.published_chain`; options that are given besides win.
    seed: None, a whole number, or a generator; the same seed gives the same draws.
    options: of the learner, as follows.

    Each of `belief.warnings` is also issued as a `NotMixed` warning.

    Options of birl, draws from the posterior:

    confidence: what values are multiplied by, from 0 (the prior) on; 100 by default.
    sampler: 'mixture' (the default) runs until the chains have mixed; 'walk' takes a number of
        steps, and is the default where an option of a walk is given.
    lies: how many of the demonstrations may be forged; 0 by default. Rewards that at most so many
        exclude are kept; `belief.settings["forged"]` has the probability of each to be forged.
    max_likelihoods: how many a mixture may compute; 1000000 by default. Where they end before the
        chains have mixed, a warning says so.
    n_chains: how many chains; 4 by default.
    n_steps: of a walk, steps of each chain, burn-in included; 10000 by default.
    step_size: of a walk's proposals; by default adapted during burn-in, then frozen.
    burn_in: steps of each walk that are thrown away; a fifth of them by default.
    thin: keep every thin-th step of a walk after burn-in; 1 by default.
    prior: 'l2-sphere' (the default), 'l1-sphere', 'box', 'gaussian', or a log density on R^k.
    proposal: a walk's move that fits the prior; by default the prior's first.
    log_prior: a function of weights (k,) that tilts a named prior.
    start: of a walk, weights (k,) or (n_chains, k); by default each chain looks for a start.
    threads: how many chains run at once, by default one for each processor; the draws do not
        depend on it.
    progress: True, or a function (done, total).

    Options of bio-irl, the same for a learner that knows it is being taught; those of birl except
    lies, and:

    trust: how much it trusts its teacher to choose well (lambda); 0 is birl, 100 the default;
        'estimate' takes what `informativeness` finds, and 0 where teaching is not probable.
    matching: of half-spaces: 'optimal' (the default), or 'greedy' as in the paper.
    horizon: steps of a demonstration in the lesson to compare with; by default the longest shown.
    scope: 'reachable' (the default) or 'all': whose states' half-spaces are compared.

    Options of ml-irl, the most likely weights:

    confidence: what values are multiplied by; 100 by default.
    n_starts: how many climbs end the search, each from the best of 90 random directions; 8 by
        default.
    norm: what has length 1: 'l2-sphere' (the default) or 'l1-sphere'.
    raise_confidence: multiply the confidence by ten until the weights make every shown action
        optimal and every other one worse; False by default.

    Options of policy-matching, the weights whose policy acts as often as was shown:

    confidence: what values are multiplied by; 100 by default.
    n_starts: how many climbs end the search, each from the best of 90 random directions; 8 by
        default.
    norm: what has length 1: 'l2-sphere' (the default) or 'l1-sphere'.

    Options of max-entropy, the weights of the maximum causal entropy policy:

    penalty: of F(w) - penalty/2 |w|^2, a Gaussian prior of variance 1/penalty; 0 by default.
    most_norm: the largest |w| allowed; 100 by default.
    """
    mdp = named_world(mdp)
    if isinstance(mdp, Observed):
        if preset is not None:
            raise InvalidParameter("preset is for tasks; leave it out for a policy in a simulator")
        find_learner("birl", options)
        return learn_from_clips(mdp, demonstrations, learner=learner, seed=seed, **options)
    learner = _learners.name_of(learner)
    method = find_learner(learner, options)
    one, demonstrations = as_one_model(mdp, demonstrations)
    evidence = as_evidence(one, demonstrations)
    if preset is not None:
        from didact.learners.chains.options import preset_options

        options = preset_options(preset, learner, evidence.mdp.n_features, options)
    takes_feedback = learner in WITH_FEEDBACK or getattr(method, "takes_feedback", False)
    if len(evidence.answers) and not takes_feedback:
        raise Unsupported(
            f"learner {learner!r} learns from demonstrations alone; for comparisons, preferences, "
            f"rankings and stops use {', '.join(WITH_FEEDBACK[:-1])} or {WITH_FEEDBACK[-1]}"
        )
    with _learners.running(learner):
        returned = method(evidence, as_generator(seed, "learn"), **options)
    belief = _as_belief(returned, evidence, learner, options)
    number = int(seed) if is_whole(seed) else None
    belief = replace(belief, settings={**belief.settings, "seed": number})
    if isinstance(one, Task):
        belief._derived["task"] = one
    for line in belief.warnings:
        warnings.warn(line, NotMixed, stacklevel=2)
    return belief


def learner_name(name: str) -> str:
    """The name of a learner as it is registered: 'BIRL' is 'birl'."""
    return _learners.name_of(name)


def find_learner(name: str, options: Iterable[str] | None = None) -> Learner:
    """The learner of this name; refuses a name or an option that there is not.

    options: the names of those that are given, where they are to be checked.
    """
    return _learners.find(name, options)


def option_names(learner: str) -> tuple[str, ...] | None:
    """The options that a learner takes; None where it takes any."""
    options = _learners.options(learner)
    return None if options.open_ended else tuple(options.defaults)


def _as_belief(
    returned: Any, evidence: Evidence, learner: str, options: Mapping[str, Any]
) -> Belief:
    """A belief about this MDP; plain weights become the belief of a point."""
    if isinstance(returned, Belief):
        if returned.mdp is not evidence.mdp:
            raise InvalidParameter(
                f"learner {learner!r} must return a belief about evidence.mdp; "
                "its belief is about another MDP"
            )
        return returned
    try:
        weights = as_weights(returned, evidence.mdp.n_features).floats
    except InvalidInput as error:
        raise InvalidParameter(
            f"learner {learner!r} must return a Belief or weights "
            f"({evidence.mdp.n_features},): {error}"
        ) from None
    settings = {name: plain(value) for name, value in options.items()}
    return point_belief(
        evidence.mdp,
        learner,
        evidence.demonstrations,
        weights,
        settings=settings,
        feedback=evidence.answers.items,
    )
