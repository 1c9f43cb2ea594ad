"""Observe a policy in a simulator: roll it out, branch the visited states, measure the rows.

Scale, tolerance and horizon are fixed by a first measurement of a few states, before any state is
judged. A tolerance is refused if it is smaller than what cannot be measured: rows end at the
horizon, move with the last digits of states (the noise floor of chaotic simulators), miss what the
features miss of the reward, and are means where steps depend on chance. Errors add up: for r = sum
lambda_i r_i + e the true openness is at most |e| + error of r + sum lambda_i error of r_i.

Chance is found where a simulator draws from a generator that is not part of its saved state
(`DrawsChance`); then everything is observed again with repeats.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from didact.bec.observed.branches import Measured, measure
from didact.bec.observed.episodes import (
    WINDOW,
    Walked,
    WholeEpisodes,
    drawn_windows,
    followed,
    probed_rewards,
    replayed,
    whole_episodes,
)
from didact.bec.observed.result import Observed, on_first_steps
from didact.bec.observed.setting import (
    Alternatives,
    BranchRewards,
    Floats,
    ObserveWorkers,
    Setting,
    StepRewards,
    blind_directions,
    enough_repeats,
    fit_notes,
    fitted_weights,
)
from didact.errors import DidactWarning, InvalidModel, InvalidParameter
from didact.inputs import (
    FAILURES,
    as_float,
    as_text,
    entries,
    explains_names,
    is_number,
    nearest_spelling,
    shown,
    whole_number,
)
from didact.mdp.recordings.minari import read_episodes
from didact.mdp.recordings.recording import Episode
from didact.random import Seed, as_generator
from didact.stages import Forecast, deadline, stage, unhurried, within
from didact.worlds.gym.environments import make_environment
from didact.worlds.simulators.arrays import ArraySimulator
from didact.worlds.simulators.batches import (
    DrawsChance,
    Features,
    Policy,
    Simulator,
    as_weights,
)
from didact.worlds.simulators.opening import named_environment, open_simulator, seen_by
from didact.worlds.simulators.terms import RewardTerms, find_terms, ready_features

LOOK = 3
"""Steps of a branch of the first measurement, in units of 1 / (1 - discount)."""
FAR = 10
"""Steps for which episodes, and branches of a few states, are followed to see what they pay, in the
same units: what comes later counts less than a 20,000th (e^-10)."""
RANDOM_ACTIONS = 4
"""Of a continuous space, tried beside the steps around the policy's own."""
REPEATS = 100
"""Default number of branches of each action where steps depend on chance."""
MIN_REPEATS, SOME_STATES = 10, 30
"""Where time is short: at least so many, and so few that about so many states can be branched."""
WIDTH = 0.1
"""Default step around a continuous action, as a share of its range."""
DEFAULT_LENGTH = 40
"""States of each rollout, in the mean, that are looked at by default."""
N_RETURNS = 10
"""Episodes whose return is told, where rollouts do not go to their end."""
PILOTS = 40
"""States of the first measurement, by which scale, tolerance and horizon are fixed."""
FAR_BELOW = 0.2
"""Share of the expected return, and three standard errors, by which a mean return is far below."""
MIN_PILOTS = 3
"""Where time is short."""
ROLLED, PROBED, PILOTED, FLOORED = 0.25, 0.15, 0.35, 0.15
"""Shares of the time that is left, where it is short: for episodes to their end, for branches that
are followed far, for the first measurement, and for the noise floor after all others."""
LONGER = (1, 16)
"""For how many steps actions are taken where taking them once makes no difference."""
ABOVE = 1.1
"""By which a default tolerance is larger than what cannot be measured."""
SMALL = 0.05
"""Default tolerance, as a share of the typical difference that an action makes."""
ROUNDING = 1e-12
"""Share of the largest return below which differences of sums of floats are rounding."""
JITTER = 1e-9
"""Relative size of the nudges that measure the noise floor: far above rounding, far below what
anybody would call another state."""

Options = TypeVar("Options")
Four = tuple[Any, Any, Any, Any]


class NoDifference(InvalidModel):
    """No action that was tried makes a difference to the return."""


@dataclass(frozen=True)
class ObserveSettings:
    """Where episodes begin and how states are branched. Checked when it is made.

    starts: where episodes begin, each as likely: states (n, d) of a simulator that steps arrays,
        or seeds of resets; by default where the environment lets them begin.
    recorded: a Minari dataset, by its name or folder, or a table (.csv) of observations, of which
        demonstrations are cut instead of rollouts of the policy. Episodes without seeds begin in
        what they show, where observations are states. The policy goes on after branches.
    actions: for continuous actions, how far around the policy's own to try others; by default a
        tenth of their range.
    held: for how many steps another action is taken before the policy goes on; several numbers of
        steps are alternatives of their own, as (1, 4, 16). By default once, and where no action
        that is taken once makes a difference, for 16 steps, too.
    horizon: steps of a branch; by default until what follows counts less than a quarter of the
        tolerance.
    repeats: where steps depend on chance, branches of each action; 100 by default. Giving it says
        that an environment object has chance, also where none was found.
    restore: how states are put back: 'auto', the first way that holds to the bit, or 'own',
        'mujoco', 'copy' or 'replay'.
    reward_range: the least and the largest reward of a step, where they are known; without them
        certificates assume that rewards stay within those of the steps that were made.
    expected_return: the policy's mean return of an episode where it is known, as of its training:
        it is warned where the one that is seen is far below, and what it sees is likely wrong.
    seconds: that observing may take, about: fewer episodes and states are looked at where all would
        take longer.
    """

    starts: Any = None
    recorded: Any = None
    actions: Any = None
    held: Any = None
    horizon: int | None = None
    repeats: int | None = None
    restore: str = "auto"
    reward_range: Any = None
    expected_return: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.horizon is not None:
            whole_number(self.horizon, "horizon", 1)
        if self.repeats is not None:
            whole_number(self.repeats, "repeats", 2)
        if self.seconds is not None and not as_float(self.seconds) > 0:
            raise InvalidParameter(f"seconds must be above 0; it is {shown(self.seconds)}")
        if self.held is not None:
            object.__setattr__(self, "held", _held(self.held))
        object.__setattr__(self, "reward_range", _reward_range(self.reward_range))
        if self.expected_return is not None and not math.isfinite(as_float(self.expected_return)):
            raise InvalidParameter(
                f"expected_return must be a number; it is {shown(self.expected_return)}"
            )


@explains_names
def observe(
    env: Any,
    policy: Any = None,
    *,
    features: Any = None,
    weights: Any = None,
    feature_names: Sequence[str] | None = None,
    discount: float = 0.99,
    n_rollouts: int = 100,
    length: int | None = None,
    tolerance: float | None = None,
    settings: ObserveSettings | Mapping[str, Any] | None = None,
    workers: ObserveWorkers | Mapping[str, Any] | None = None,
    seed: Seed = 0,
) -> Observed:
    """Half-spaces of a policy in a simulator: its action against every alternative, by branching.

    env: an environment of Gymnasium, its id, a function that makes one, an object that steps arrays
        of states, or 'point-robot', 'pendulum', 'mountain-car' or 'lqr', which are built in.
    policy: an object with `predict`, as Stable-Baselines3 has it, or a function of observations;
        by default `env.best_policy(discount)`, which built-in simulators have.
    features: a function that gives k numbers for a step, or for many, and names what it takes:
        observation (obs), action, next_observation (next_obs), terminated, info; by default
        `env.features`. 'auto': the terms of the reward that are known of this environment, or that
        its steps report in `info`.
    weights: of the features in the reward; by default `env.weights` where features are its own,
        else they are fitted to the environment's rewards.
    feature_names: one for each feature.
    discount: below 1.
    n_rollouts: episodes of the policy, from which demonstrations are cut.
    length: their most steps; by default they go to their end, and of long ones runs of 40 steps are
        looked at, drawn from all.
    tolerance: return below which a difference counts as none; by default a twentieth of what an
        action typically makes a difference, or what chance and rounding leave undecided if that is
        more.
    settings: where episodes begin and how states are branched: `ObserveSettings` or a dict of its
        fields: starts, recorded, actions, held, horizon, repeats, restore, reward_range,
        expected_return, seconds.
    workers: who steps branches: `ObserveWorkers` or a dict of its fields: jobs, cluster,
        checkpoint, progress. The result does not depend on them.
    seed: None, a whole number, or a generator.
    """
    if not is_number(discount) or not 0 < discount < 1:
        raise InvalidParameter(f"discount must be between 0 and 1; it is {shown(discount)}")
    whole_number(n_rollouts, "n_rollouts", 1)
    if length is not None:
        whole_number(length, "length", 1)
    chosen = _options(settings, ObserveSettings, "settings")
    helpers = _options(workers, ObserveWorkers, "workers")
    names = None
    if feature_names is not None:
        given = entries(feature_names, "feature_names", "names")
        names = [as_text(name, "feature_names") for name in given]
    env = seen_by(policy, named_environment(env))
    episodes = None if chosen.recorded is None else read_episodes(chosen.recorded)
    if episodes and isinstance(env, str):
        # seeds of recordings are those of one environment, and not of its vector entry point
        env = partial(make_environment, env, {})
    simulator = open_simulator(env, restore=chosen.restore)
    if chosen.starts is not None:
        simulator.start_from(chosen.starts)
    if isinstance(features, str) and features == "auto":
        ready = ready_features(simulator)
        features, names = ready.features, list(ready.names) if names is None else names
        weights = ready.weights if weights is None else weights
    asked = _completed(env, (policy, features, weights, names), float(discount))
    others = _alternatives(simulator.action_space, chosen, seed)
    observer = _Observer(
        *(simulator, *asked, float(discount), chosen),
        *(replace(others, masks=simulator.masks), n_rollouts, length, episodes),
    )

    with within(chosen.seconds):
        try:
            return observer.run(tolerance, helpers, as_generator(seed, "observe"))
        except DrawsChance:
            if simulator.is_random:
                raise
            simulator.is_random = True  # chance that comes late: all over again, with repeats
            return observer.run(tolerance, helpers, as_generator(seed, "observe"))


def reward_terms(
    env: Any, policy: Any = None, *, n_steps: int = 2000, seed: Seed = 0
) -> RewardTerms:
    """Which linear terms reproduce the rewards of an environment, and what they leave unsaid.

    Terms are looked for among 1, the end, numbers of `info`, actions, and observations with their
    squares and absolute values.

    env: as for `observe`.
    policy: follows every second episode, so that rewards that chance never meets are seen.
    n_steps: steps whose rewards are compared.
    seed: None, a whole number, or a generator.
    """
    simulator = open_simulator(env, restore="auto", plain=True)
    return find_terms(simulator, policy, n_steps, seed)


def _options(given: Any, kind: type[Options], name: str) -> Options:
    """Settings as they are, or made of a dict of their fields."""
    if isinstance(given, kind):
        return given
    if given is None:
        return kind()
    if not isinstance(given, Mapping):
        raise InvalidParameter(
            f"{name} must be {kind.__name__} or a dict of its fields; it is {shown(given)}"
        )
    known = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for key in given:
        if key not in known:
            hint = nearest_spelling(key, known)
            raise InvalidParameter(f"{name} has no {shown(key)}; it has {', '.join(known)}{hint}")
    return kind(**given)


def _held(given: Any) -> tuple[int, ...]:
    steps = [given] if is_number(given) else entries(given, "held", "numbers of steps")
    found = tuple(whole_number(number, "held", 1) for number in steps)
    if not found or len(set(found)) < len(found):
        raise InvalidParameter(f"held must be different numbers of steps; it is {shown(given)}")
    return found


def _reward_range(given: Any) -> tuple[float, float] | None:
    """The least and the largest reward, as somebody gives them; None without."""
    if given is None:
        return None
    try:
        low, high = (
            float(bound) if isinstance(bound, str) else as_float(bound)
            for bound in entries(given, "reward_range", "two numbers")
        )
    except FAILURES:
        low = high = np.nan
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise InvalidParameter(
            f"reward_range must be the least and the largest reward of a step; it is {shown(given)}"
        )
    return float(low), float(high)


def _own(env: Any, name: str) -> Any:
    """What an environment brings by itself."""
    found = getattr(env, name, None)
    if not callable(found):
        asked = {"features": "features", "best_policy": "policy"}[name]
        raise InvalidParameter(f"{asked} must be given: this environment has no {name} of its own")
    return found


def _alternatives(space: Any, settings: ObserveSettings, seed: Seed) -> Alternatives:
    actions, held = settings.actions, settings.held or (1,)
    is_one = hasattr(space, "n") and not space.shape
    # how many values each of a row of whole numbers has; MultiBinary has an n, too
    values: Any = np.full(space.shape, 2) if hasattr(space, "n") else getattr(space, "nvec", None)
    is_row = np.ndim(values) == 1
    if (is_one or is_row) and actions is not None:
        raise InvalidParameter("actions is for continuous actions; here all others are tried")
    if is_one:
        first = int(getattr(space, "start", 0))
        return Alternatives(n_actions=int(space.n), first=first, held=held)
    if is_row:
        most, zeros = np.asarray(values, dtype=float) - 1, np.zeros(len(values))
        return Alternatives(0, 0, zeros, most, zeros, 0, 0, held)
    if getattr(space, "low", None) is None:
        raise InvalidModel(
            "actions must be Discrete, Box, or one row (MultiDiscrete, MultiBinary); the space is "
            f"{shown(space)}"
        )
    low, high = np.asarray(space.low, dtype=float), np.asarray(space.high, dtype=float)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InvalidModel("continuous actions must have bounds; this action space has none")
    width = WIDTH * (high - low) if actions is None else as_float(actions)
    if not np.all(np.asarray(width) > 0):
        raise InvalidParameter(f"actions must be a step above 0; it is {shown(actions)}")
    own_seed = seed if isinstance(seed, int) else 0
    return Alternatives(0, 0, low, high, width, RANDOM_ACTIONS, own_seed, held)


def _completed(env: Any, given: Four, discount: float) -> Four:
    """Policy, features, weights and names: as given, else what the environment brings."""
    policy, features, weights, names = given
    if features is None:
        weights = getattr(env, "weights", None) if weights is None else weights
        features = _own(env, "features")
        names = getattr(env, "feature_names", None) if names is None else names
    if policy is None:
        policy = _own(env, "best_policy")(discount)
    return policy, features, weights, names


class _Observer(NamedTuple):
    """One observation, ready to run: who is observed and by which features, as given or as the
    environment brings them; weights None: to be fitted. It may run twice, because chance can show
    itself late."""

    simulator: Simulator
    policy: Any
    features: Any
    weights: Any
    names: Sequence[str] | None
    discount: float
    settings: ObserveSettings
    alternatives: Alternatives
    n_rollouts: int
    length: int | None
    episodes: list[Episode] | None

    def run(self, tolerance: Any, workers: ObserveWorkers, rng: np.random.Generator) -> Observed:
        """Roll out, calibrate, and measure the rows of all states along the rollouts."""
        length, discount = self.length, self.discount
        repeats = _repeats(self.simulator, self.settings.repeats)
        seeds = rng.integers(2**31, size=self.n_rollouts).tolist()
        given = self.policy, self.features, self.names
        act, phi = on_first_steps(self.simulator, given, seeds[:2])
        with within(share=ROLLED):
            whole = self._whole(act, phi, seeds if length is None else seeds[:N_RETURNS])
        each = whole.seconds_a_step
        repeats = self._fewer_repeats(repeats, whole)
        if deadline().is_set:
            in_time = ROLLED * deadline().left / (each * (length or 1))
            seeds = seeds[: len(whole.lengths) if length is None else max(1, int(in_time))]
        if self.episodes is not None:
            walked = replayed(self.simulator, phi, self.episodes, length or DEFAULT_LENGTH)
        elif length is not None:
            walked = followed(self.simulator.begin(seeds), act, phi, length)
        else:
            n_states = min(DEFAULT_LENGTH * self.n_rollouts, self._in_time(each))
            wanted = drawn_windows(whole.lengths, n_states, rng)
            batch = self.simulator.begin(seeds)
            walked = followed(batch, act, phi, wanted.shape[1], wanted)
            walked.later += whole.paid
        k = walked.features.shape[1]
        draft = Setting(
            *(self.simulator, act, phi, np.zeros(k), _names(self.names, k), discount),
            horizon=self.settings.horizon or math.ceil(LOOK / (1 - discount)),
            tolerance=1.0,
            scale=np.ones(k),
            alternatives=self.alternatives,
            rewards=StepRewards(None),
            repeats=repeats,
            workers=workers.quiet,
            seconds_a_step=each,
        )
        weighed, notes = self._with_weights(draft, walked)
        notes += _seed_notes(self.episodes)
        of_state = _tell_forecast(weighed, len(walked.states))
        n_pilots, end = PILOTS, deadline()
        if end.is_set:
            n_pilots = int(np.clip(PILOTED * end.left / of_state, MIN_PILOTS, PILOTS))
        before = end.left
        with within(share=2 * PILOTED):
            try:
                setting = _calibrated(weighed, walked, tolerance, self.settings, rng, n_pilots)
            except NoDifference:
                if self.settings.held is not None:
                    raise
                weighed = replace(weighed, alternatives=replace(self.alternatives, held=LONGER))
                notes += (
                    "no action that is taken once makes a difference to the return: each was also "
                    f"taken for {LONGER[1]} steps",
                )
                before = end.left
                setting = _calibrated(weighed, walked, tolerance, self.settings, rng, n_pilots)
        if end.is_set:
            longer = max(1.0, setting.horizon / weighed.horizon)
            of_state = (before - end.left) / min(n_pilots, len(walked.states)) * longer
            _fit_time(walked, (1 - 2 * FLOORED) * end.left / of_state, rng)
        _tell_forecast(setting, len(walked.states))
        found = _observed(replace(setting, workers=workers), walked, rng)
        own = None if whole.is_cut else float(whole.returns.mean())
        if own is not None:
            notes += _return_notes(whole.returns, self._expected())
        return _require_measurable(replace(found, notes=notes, episode_return=own), tolerance)

    def _expected(self) -> float | None:
        """The mean return that was given, or that of recorded episodes."""
        told = self.episodes or []
        if self.settings.expected_return is not None or not any(len(one.rewards) for one in told):
            return self.settings.expected_return
        return float(np.mean([np.sum(episode.rewards) for episode in told]))

    def _in_time(self, seconds_a_step: float) -> int:
        """How many states can be branched before the deadline, at most."""
        end = deadline()
        if not end.is_set:
            return 2**31
        n_steps = self._branch_steps(LOOK / (1 - self.discount))
        return max(1, int(end.left / (seconds_a_step * n_steps)))

    def _fewer_repeats(self, repeats: int, whole: WholeEpisodes) -> int:
        """Where time is short and no number of repeats was given, so few that some states can be
        branched; the tolerance is then what they leave undecided."""
        end = deadline()
        if repeats == 1 or self.settings.repeats is not None or not end.is_set:
            return repeats
        n_branches = 1 + self.alternatives.n_others(self.simulator.action_space)
        length = min(LOOK / (1 - self.discount), float(whole.lengths.mean()))
        of_repeat = SOME_STATES * n_branches * length * whole.seconds_a_step
        return int(np.clip(end.left / max(of_repeat, 1e-12), MIN_REPEATS, repeats))

    def _branch_steps(self, horizon: float) -> int:
        """The most simulator steps of the branches of a state."""
        n_others = self.alternatives.n_others(self.simulator.action_space)
        repeats = _repeats(self.simulator, self.settings.repeats)
        return math.ceil((1 + n_others) * repeats * (self.settings.horizon or horizon))

    def _whole(self, act: Policy, phi: Features, seeds: list[int]) -> WholeEpisodes:
        """Episodes to their end; where steps depend on chance they say nothing of one seed."""
        far = math.ceil(FAR / (1 - self.discount))
        limit = self.simulator.time_limit or far
        stage(f"following {len(seeds)} episodes to their end")

        def foretell(seconds_a_step: float) -> None:
            """Twice the episodes, and branches of those of their states that are looked at."""
            n_states = self.n_rollouts * min(DEFAULT_LENGTH, self.length or limit)
            n_branches = n_states * self._branch_steps(LOOK / (1 - self.discount))
            n_steps = 2 * len(seeds) * limit + n_branches
            seconds = min(n_steps * seconds_a_step, max(deadline().left, 1.0))
            words = (
                f"{len(seeds)} episodes of at most {limit:,} steps, and branches of {n_states:,} "
                f"states: about {int(seconds / seconds_a_step):,} steps"
            )
            stage(Forecast.of(words, seconds))

        batch = self.simulator.begin(seeds)
        return whole_episodes(batch, act, phi, limit, foretell)

    def _with_weights(self, draft: Setting, walked: Walked) -> tuple[Setting, tuple[str, ...]]:
        """The setting with its weights, given or fitted to episodes and branches, and with what
        all these steps paid; notes on the fit."""
        far = math.ceil(FAR / (1 - self.discount))
        with within(share=PROBED):
            steps = probed_rewards(draft, walked, far)
        notes: tuple[str, ...] = ()
        is_fitted = self.weights is None
        if is_fitted:
            record = BranchRewards(walked.paid(StepRewards(None))).add_all(steps).record()
            weights = fitted_weights(record, draft.feature_names)
            notes = fit_notes(record, draft.feature_names)
        else:
            weights = as_weights(self.weights, len(draft.weights))
        empty = replace(StepRewards(weights), declared=self.settings.reward_range, fitted=is_fitted)
        paid = walked.paid(empty)
        probed = BranchRewards(StepRewards(weights)).add_all(steps).record()
        rewards = paid.joined(probed).checked()
        return replace(draft, weights=weights, rewards=rewards), notes


def _seed_notes(episodes: Sequence[Episode] | None) -> tuple[str, ...]:
    """A note where recorded episodes have no seeds."""
    if all(episode.seed is not None for episode in episodes or ()):
        return ()
    return (
        "recorded episodes have no seeds: states were written from observations, and each step "
        "showed what was recorded",
    )


def _return_notes(returns: Floats, expected: float | None) -> tuple[str, ...]:
    """A note, and a warning, where returns of episodes are far below the expected one."""
    if expected is None:
        return ()
    mean, n = float(returns.mean()), len(returns)
    error = float(returns.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if expected - mean <= max(FAR_BELOW * abs(expected), 3 * error):
        return ()
    told = (
        f"the mean return of an episode, {mean:.4g}, is far below the expected {expected:.4g}: "
        "look at the agent's normalisation and wrappers"
    )
    warnings.warn(told, DidactWarning, stacklevel=4)
    return (told,)


def _tell_forecast(setting: Setting, n_states: int) -> float:
    """Say how many simulator steps branches may take, and how long, before they are made; the
    seconds of a state."""
    n_branches = (
        1 + setting.alternatives.n_others(setting.simulator.action_space)
    ) * setting.repeats
    n_steps = n_states * n_branches * setting.horizon
    seconds = n_steps * setting.seconds_a_step / setting.workers.jobs
    told = min(seconds, max(deadline().left, 1.0))
    words = (
        f"{n_states:,} states, {n_branches} branches each of at most {setting.horizon} steps: "
        f"at most {n_steps:,} steps"
    )
    stage(Forecast.of(words, told))
    return seconds / n_states


def _fit_time(walked: Walked, n_states: float, rng: np.random.Generator) -> None:
    """Leave out runs of states, drawn at random, until so many are left; one run of 4 stays."""
    starts = np.flatnonzero(
        np.append(True, (np.diff(walked.rollout) != 0) | (np.diff(walked.step) != 1))
    )
    runs = np.split(np.arange(len(walked.states)), starts[1:])
    size = int(np.clip(n_states, 4, WINDOW))
    pieces = [run[low : low + size] for run in runs for low in range(0, len(run), size)]
    order = rng.permutation(len(pieces))
    sizes = np.cumsum([len(pieces[i]) for i in order])
    n = max(1, int((sizes <= n_states).sum()))
    walked.only(np.sort(np.concatenate([pieces[i] for i in order[:n]])))


def _names(given: Sequence[str] | None, k: int) -> tuple[str, ...]:
    return tuple(given or map("feature {}".format, range(k)))


def _repeats(simulator: Simulator, given: int | None) -> int:
    if simulator.is_random:
        return REPEATS if given is None else given
    if given is None:
        return 1
    if isinstance(simulator, ArraySimulator):
        raise InvalidParameter(
            f"repeats is for simulators with chance; {simulator.name} has none, leave it out"
        )
    simulator.is_random = True  # whoever gives repeats knows of chance
    return given


def _observed(told: Setting, walked: Walked, rng: np.random.Generator) -> Observed:
    """Rows of every state along the rollouts; told: the setting that reports progress."""
    left = deadline().left
    with within(share=1 - FLOORED) as end:
        rows, others, covariances, setting, numbers = _measured(
            told, walked.states, walked.observations, rng, walked.actions
        )
    of_state = (left - deadline().left) / max(len(numbers), 1) if end.is_set else 0.0
    if len(numbers) < len(walked.states):
        walked.only(numbers)
    blind = blind_directions(rows, setting.scale)
    setting = replace(setting, workers=setting.workers.quiet, blind=blind)
    return Observed(
        *(setting, tuple(walked.states), walked.observations, walked.actions, others, rows),
        *(walked.rollout, walked.step),
        jitter=_noise_floor(setting, walked, rng, of_state),
        n_steps=setting.simulator.n_steps,
        covariances=covariances,
    )


def _calibrated(
    setting: Setting,
    walked: Walked,
    tolerance: Any,
    settings: ObserveSettings,
    rng: np.random.Generator,
    n_pilots: int,
) -> Setting:
    """The setting with scale, tolerance and horizon fixed by a measurement of a few states."""
    horizon = settings.horizon
    some = _some_states(walked, rng, n_pilots)
    states = [walked.states[i] for i in some]
    rows, _, _, setting, _ = _measured(setting, states, walked.observations[some], rng)
    flat = rows.reshape(-1, rows.shape[-1])
    scale = np.sqrt((flat**2).mean(axis=0))
    # a feature that no action changes has no scale: dividing by rounding would blow it up
    scale = np.where(scale > 1e-9 * max(float(scale.max()), 1e-300), scale, 1.0)
    steps_held = np.array(setting.alternatives.steps_held(rows.shape[1]))[1:]
    # actions that are held long differ by more; they must not raise the tolerance
    briefly = rows[:, steps_held == steps_held.min()] @ setting.weights
    typical = float(np.sqrt((briefly**2).mean()))
    noise = ROUNDING * setting.rewards.largest_return(setting.discount)
    if typical <= noise:
        typical = float(np.sqrt(((rows @ setting.weights) ** 2).mean()))
    if tolerance is None:
        if typical <= noise:
            raise NoDifference(
                "no action makes a difference to the return in what was seen: the policy makes it "
                "good again. Try actions for longer, settings={'held': (1, 64)} (--held 1,64), or "
                "give a tolerance, or other features"
            )
        chosen = SMALL * typical
    else:
        chosen = as_float(tolerance)
        if not chosen > 0:
            raise InvalidParameter(f"tolerance must be above 0; it is {shown(tolerance)}")
    if chosen <= noise:
        raise InvalidParameter(
            f"tolerance must be above the rounding of returns, {noise:.2g}; it is {chosen:.2g}"
        )
    steps = horizon or setting.horizon
    if horizon is None:
        # a quarter of the tolerance leaves room for the other errors
        steps = setting.rewards.horizon(setting.discount, chosen / 4)
    return replace(setting, scale=scale, tolerance=chosen, horizon=steps)


def _measured(
    setting: Setting,
    states: Sequence[Any],
    observations: Any,
    rng: np.random.Generator,
    actions: Any = None,
) -> Measured:
    """Rows of the states that are branched in time; of the first one in any case."""
    found = measure(setting, states, observations, rng, actions)
    if len(found.numbers):
        return found
    own = None if actions is None else actions[:1]
    with unhurried():
        return measure(setting, states[:1], observations[:1], rng, own)


def _some_states(walked: Walked, rng: np.random.Generator, most: int = PILOTS) -> Any:
    n = len(walked.states)
    return np.sort(rng.choice(n, size=min(most, n), replace=False))


def _noise_floor(
    setting: Setting, walked: Walked, rng: np.random.Generator, seconds_a_state: float
) -> float | None:
    """The median move of rows, in return, when states move in their last digits; None where the
    simulator's states cannot be moved, chance moves rows anyway, or there is no time."""
    if setting.simulator.is_random:
        return None
    n_moved, end = PILOTS, deadline()
    if end.is_set:  # half of the time for either measurement
        n_moved = int(np.clip(end.left / 2 / max(seconds_a_state, 1e-12), MIN_PILOTS, PILOTS))
    some = _some_states(walked, rng, n_moved)
    states = [walked.states[i] for i in some]
    moved = setting.simulator.nudged(states, JITTER, rng)
    if moved is None:
        return None
    given = (walked.observations[some], rng, walked.actions[some])
    with within(share=0.5):
        here = measure(setting, states, *given).rows
    there = measure(setting, moved, *given).rows
    n = min(len(here), len(there))
    return float(np.median(np.abs((there[:n] - here[:n]) @ setting.weights))) if n else None


def _require_measurable(seen: Observed, given: Any) -> Observed:
    """The observation; refuses a given tolerance below what can be measured.

    One that nobody gave is raised above that, with a note.
    """
    setting, slack = seen.setting, np.zeros(len(seen.rows))
    if seen.covariances is not None:
        slack = np.max(setting.slack(seen.covariances, setting.weights), axis=1)
    middle = int(np.argsort(slack, kind="stable")[len(slack) // 2])
    least = max(float(slack[middle]), seen.jitter or 0.0, setting.error)
    if least <= setting.tolerance:
        return seen
    if given is None:
        told = (
            f"tolerance raised from {setting.tolerance:.3g} to {ABOVE * least:.3g} of return, "
            f"above what cannot be measured; more time, repeats ({setting.repeats} now) or a "
            "longer horizon keep it smaller"
        )
        raised = replace(setting, tolerance=ABOVE * least)
        return replace(seen, setting=raised, notes=(*seen.notes, told))
    for what, size in (("nudging states in their last digits", seen.jitter or 0.0),
                       ("the reward, where the features miss it,",
                        setting.rewards.unexplained(setting.discount)),
                       ("cutting branches off at the horizon", setting.error)):  # fmt: skip
        if size > setting.tolerance:
            raise InvalidParameter(
                f"tolerance must be above what {what} changes, {size:.3g} of return; it is "
                f"{setting.tolerance:.3g}{_longer(setting)}"
            )
    assert seen.covariances is not None
    weights = setting.weights
    each = np.einsum("bij,i,j->b", seen.covariances[middle], weights, weights)
    span, repeats = setting.span(weights), setting.repeats
    enough = enough_repeats(float(each.max()), repeats, span, setting.tolerance)
    raise InvalidParameter(
        f"tolerance must be above what chance leaves undecided, {slack[middle]:.3g} of return "
        f"with {repeats} repeats; it is {setting.tolerance:.3g}. Give more repeats, such as "
        f"{enough}"
    )


def _longer(setting: Setting) -> str:
    """The horizon that would be enough, where the horizon is too short."""
    left = setting.tolerance - setting.rewards.unexplained(setting.discount)
    if setting.tail <= setting.tolerance or left <= 0:
        return ""
    enough = setting.rewards.horizon(setting.discount, left / 2)
    low, high = setting.rewards.bounds
    return f". Rewards are between {low:.3g} and {high:.3g}: give horizon={enough}"
