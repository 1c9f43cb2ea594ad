"""Episodes in a simulator: rollouts, recorded episodes, and independently sampled states.

**Sampled states.** One state of each episode, at a time Geometric(1 - discount), drawn again if the
episode had ended by then. So states are independent, and distributed as discounted counts count
them: the mean of g over them, where those after an episode's end count 0, is (1 - discount) E sum
discount^t g(s_t). States of one rollout are not independent, and bounds that count them as such
miss too often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from didact.bec.observed.branches import held_actions
from didact.bec.observed.setting import Floats, Setting, StepRewards, in_step
from didact.errors import InvalidParameter, NotConverged
from didact.mdp.recordings.recording import Episode
from didact.random import stream
from didact.stages import Deadline, deadline, stage
from didact.worlds.simulators.batches import Features, Policy, Simulator, SimulatorBatch

Choose = Callable[[SimulatorBatch], Any]
"""The actions of a policy in every copy of a batch."""

ALIKE = 1e-5
"""Recorded observations may differ from replayed ones by this share: datasets keep few digits."""
MAX_REDRAWS = 2_000
"""Times that states are drawn again because episodes had ended: 600 of them need about 6 times
1 / (1 - discount) where episodes have one step."""
WINDOW = 40
"""Steps of a run that is cut from a long episode."""
TELL_SECONDS = 0.5
"""Between two words about how far episodes have come."""
FORETOLD = 1.0
"""Seconds after which the speed of steps is known well enough for a forecast."""
PROBES = 10
"""States whose branches are followed far, at most: one in PROBED."""
PROBED = 40
"""So that following them costs little beside the branches of all states."""
PROBE_REPEATS = 10
"""Repeats of these where steps depend on chance."""


class Walked:
    """States along episodes, what was done there, and the steps' features and rewards.

    later: features and rewards of the episodes' steps after these, and their numbers.
    """

    def __init__(self) -> None:
        self.states: list[Any] = []
        self.later: list[tuple[Floats, Floats, int]] = []
        self._parts: list[tuple[Any, ...]] = []

    def add(self, states: list[Any], *columns: Any) -> None:
        """Steps of some copies at one time."""
        self.states += states
        self._parts.append(columns)

    def only(self, which: NDArray[np.int64]) -> None:
        """Leave out all other states, and not what their steps paid."""
        self.later.append((self.features, self.rewards, 0))
        self.states = [self.states[i] for i in which]
        for name in ("observations", "actions", "features", "rewards", "ended", "rollout", "step"):
            setattr(self, name, getattr(self, name)[which])

    def close(self) -> Walked:
        """Sort all by episode and step."""
        columns = [np.concatenate(part) for part in zip(*self._parts, strict=True)]
        order = np.lexsort((columns[-1], columns[-2]))
        self.states = [self.states[i] for i in order]
        (
            self.observations,
            self.actions,
            self.features,
            self.rewards,
            self.ended,
            self.rollout,
            self.step,
        ) = (column[order] for column in columns)
        return self

    def paid(self, record: StepRewards) -> StepRewards:
        """The record with all steps of these episodes."""

        def place(at: int) -> str:
            return f"in step {self.step[at] + 1} of rollout {self.rollout[at] + 1}"

        record = record.with_steps(self.features, self.rewards, place)
        for features, rewards, number in self.later:
            record = record.with_steps(features, rewards, in_step(number, "a rollout"))
        return record


def followed(
    batch: SimulatorBatch, policy: Policy, features: Features, length: int, wanted: Any = None
) -> Walked:
    """What the policy does from where the copies of a batch stand, which is used up.

    wanted: which steps of which copies are kept, (n, length); all without it. What comes after the
    deadline is left out.
    """
    walked, alive, end = Walked(), np.arange(len(batch.observations)), deadline()
    for t in range(length):
        before, chosen = batch.observations, policy(batch.observations)
        kept = np.ones(len(alive), dtype=np.bool_) if wanted is None else wanted[alive, t]
        states = batch.saved_states() if kept.any() else []
        stepped = batch.step(chosen)
        if kept.any():
            phi = features(before, chosen, stepped)
            columns = (before, chosen, phi, stepped.rewards, stepped.ended, alive)
            some = [state for state, is_kept in zip(states, kept, strict=True) if is_kept]
            walked.add(some, *(column[kept] for column in columns), np.full(kept.sum(), t))
        stays = ~stepped.ended
        if wanted is not None:
            stays &= wanted[alive, t + 1 :].any(axis=1)
        batch.keep(stays)
        alive = alive[stays]
        if not len(alive) or (end.is_over and walked.states):
            break
    batch.keep(np.zeros(len(alive), dtype=np.bool_))
    return walked.close()


class WholeEpisodes(NamedTuple):
    """Episodes to their end, or to the environment's own time limit: steps, undiscounted returns,
    what their steps paid, how long a step took, and whether the deadline cut them off."""

    lengths: NDArray[np.int64]
    returns: Floats
    paid: list[tuple[Floats, Floats, int]]
    seconds_a_step: float
    is_cut: bool


def whole_episodes(
    batch: SimulatorBatch,
    act: Policy,
    phi: Features,
    limit: int,
    foretell: Callable[[float], object] | None = None,
) -> WholeEpisodes:
    """What the policy earns from where the copies of a batch stand, which is used up.

    Before a deadline only so many episodes are followed as will end in time: the first of them, so
    that their lengths have no part in it. foretell: takes the seconds of a step, once and early.
    """
    n, end, clock = len(batch.observations), deadline(), Deadline.clock
    began = told = clock()
    lengths, returns = np.zeros(n, dtype=np.int64), np.zeros(n)
    paid, alive, n_steps, t = [], np.arange(n), 0, 0
    rates, spent = [], 0.0  # of steps with many copies, as branches are made
    for t in range(limit):
        before, actions = batch.observations, act(batch.observations)
        stepped = batch.step(actions)
        paid.append((phi(before, actions, stepped).copy(), stepped.rewards.copy(), t))
        lengths[alive] += 1
        returns[alive] += stepped.rewards
        n_steps += len(alive)
        if 2 * len(alive) >= n:
            rates.append((clock() - began - spent) / len(alive))
        spent = clock() - began
        batch.keep(~stepped.ended)
        alive = alive[~stepped.ended]
        each = (clock() - began) / n_steps
        if foretell is not None and clock() - began > FORETOLD:
            # the first steps load and compile what later ones use
            foretell(float(np.median(rates)))
            foretell = None
        if end.is_set:
            in_time = int(max(end.left, 0.0) / max(each * (limit - t - 1), 1e-12))
            if in_time < len(alive):
                n = min(n, int(alive[max(in_time, 1) - 1]) + 1)
                batch.keep(alive < n)
                alive = alive[alive < n]
        if clock() - told > TELL_SECONDS:
            told = clock()
            stage(f"{n - len(alive)} of {n} episodes ended, after {t + 1} steps of at most {limit}")
        if not len(alive) or end.is_over:
            break
    batch.keep(np.zeros(len(alive), dtype=np.bool_))
    is_cut = len(alive) > 0 and t + 1 < limit
    return WholeEpisodes(lengths[:n], returns[:n], paid, float(np.median(rates)), is_cut)


def drawn_windows(
    lengths: NDArray[np.int64], n_states: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Which steps of episodes are looked at, (episodes, steps): all, or runs drawn at random."""
    wanted = np.arange(lengths.max())[None] < lengths[:, None]
    if wanted.sum() <= n_states:
        return wanted
    firsts = wanted[:, ::WINDOW]
    runs = np.argwhere(firsts)
    some = rng.permutation(len(runs))[: max(1, n_states // WINDOW)]
    chosen = np.zeros_like(firsts)
    chosen[tuple(runs[some].T)] = True
    return wanted & chosen.repeat(WINDOW, axis=1)[:, : wanted.shape[1]]


def replayed(
    simulator: Simulator, features: Features, episodes: Sequence[Episode], length: int
) -> Walked:
    """Recorded episodes, led through the simulator once more by their seeds and actions; without
    a seed each step begins in the state that was observed."""
    walked = Walked()
    shape = tuple(getattr(simulator.action_space, "shape", ()) or ())
    for number, episode in enumerate(episodes):
        if episode.seed is None:
            batch = _standing(simulator, episode, number, 0)
        else:
            batch = simulator.begin([episode.seed])
        _require_same(batch.observations, episode, number, 0)
        for t, action in enumerate(episode.actions):
            if episode.seed is None and t:  # rounding of what was recorded must not add up
                batch.keep(np.zeros(1, dtype=np.bool_))
                batch = _standing(simulator, episode, number, t)
            before = batch.observations
            states = batch.saved_states() if t < length else []
            chosen = np.asarray(action)
            if chosen.size == np.prod(shape, dtype=int):
                chosen = chosen.reshape(shape)
            chosen = chosen[None]
            stepped = batch.step(chosen)
            _require_same(stepped.observations, episode, number, t + 1)
            phi = features(before, chosen, stepped)
            where = (np.array([number]), np.array([t]))
            if t < length:
                walked.add(states, before, chosen, phi, stepped.rewards, stepped.ended, *where)
            else:
                walked.later.append((phi.copy(), stepped.rewards.copy(), t))
            if stepped.ended[0]:
                break
        batch.keep(np.zeros(1, dtype=np.bool_))
    return walked.close()


def _standing(simulator: Simulator, episode: Episode, number: int, step: int) -> SimulatorBatch:
    """A copy in the state that a recording shows; refused where observations are no states."""
    batch = simulator.standing(episode.observations[step])
    if batch is None:
        raise InvalidParameter(
            f"recorded episodes must have the seeds of their resets in {simulator.name}, whose "
            f"states cannot be written from what they show; episode {number} has none. Record it "
            "with DataCollector and reset(seed=...)"
        )
    return batch


def _require_same(shown: Any, episode: Episode, number: int, step: int) -> None:
    if step >= len(episode.observations):
        return
    given = np.asarray(episode.observations[step], dtype=np.float64)
    here = np.asarray(shown[0], dtype=np.float64)
    if given.shape != here.shape or not np.allclose(here, given, rtol=ALIKE, atol=ALIKE):
        raise InvalidParameter(
            f"recorded episodes must follow from their starts and actions; episode {number} shows "
            f"something else at step {step}. Name the very environment that was recorded"
        )


def probed_rewards(
    setting: Setting, walked: Walked, horizon: int
) -> list[tuple[Floats, Floats, int]]:
    """Features and rewards of steps after rollouts were cut off, and on branches of a few states.

    All copies step together: a batch costs little more than one copy. horizon: how far, unless the
    deadline comes before; it also leaves copies out.
    """
    numbers, firsts, until = _probe_copies(setting, walked)
    end = deadline()
    if end.is_set:
        in_time = max(1.0, end.left / max(setting.seconds_a_step * horizon, 1e-12))
        some = np.arange(0, len(numbers), max(1, int(np.ceil(len(numbers) / in_time))))
        numbers, firsts, until = numbers[some], firsts[some], until[some]
    seeds = stream(0, "probe").integers(2**31, size=len(numbers)) if setting.repeats > 1 else None
    states = [walked.states[i] for i in numbers]
    batch = setting.simulator.resume(states, seeds, watched=True)
    paid: list[tuple[Floats, Floats, int]] = []
    alive, actions = np.arange(len(numbers)), firsts
    for done in range(1, horizon + 1):
        before = batch.observations
        stepped = batch.step(actions)
        phi = setting.features(before, actions, stepped)
        # copies: functions of users may give the same array again, with other numbers
        paid.append((phi.copy(), stepped.rewards.copy(), done))
        batch.keep(~stepped.ended)
        alive = alive[~stepped.ended]
        if not len(alive) or end.is_over:
            break
        actions = held_actions(setting.policy(batch.observations), firsts, alive, until, done)
    batch.keep(np.zeros(len(alive), dtype=np.bool_))
    return paid


def _probe_copies(
    setting: Setting, walked: Walked
) -> tuple[NDArray[np.int64], Any, NDArray[np.int64]]:
    """The numbers of the states that copies begin in, their first actions, and for how many steps
    these are held."""
    n = len(walked.states)
    last = np.flatnonzero(np.append(walked.rollout[1:] != walked.rollout[:-1], True))
    last = last[~walked.ended[last]]
    some = np.unique(np.linspace(0, n - 1, min(PROBES, 2 + n // PROBED)).astype(int))
    others = setting.alternatives.beside(walked.actions[some], walked.observations[some])
    n_others = others.shape[1]
    held = np.array(setting.alternatives.steps_held(n_others)[1:])
    times = 1 if setting.repeats == 1 else PROBE_REPEATS
    numbers = np.concatenate([last, np.tile(some.repeat(n_others), times)])
    flat = others.reshape(-1, *others.shape[2:])
    firsts = np.concatenate([walked.actions[last], *[flat] * times])
    until = np.concatenate([np.ones(len(last), int), np.tile(held, len(some) * times)])
    return numbers, firsts, until


def own_actions(setting: Setting) -> Choose:
    """The observed policy's action in every copy."""
    return lambda batch: setting.policy(batch.observations)


Sampled = list[tuple[Any, Any, int]]
"""Where episodes stood at their times: states as the simulator saves them, what they show, and the
times."""


def sample_states(setting: Setting, n: int, rng: np.random.Generator) -> tuple[Sampled, Setting]:
    """n independent states of the policy, and the setting that knows what these episodes paid."""
    found: Sampled = []
    for _ in range(MAX_REDRAWS):
        if len(found) == n:
            return found, setting
        paid = walk_to_times(setting, own_actions(setting), n - len(found), rng, found)
        setting = replace(setting, rewards=setting.rewards.joined(paid).checked())
    raise NotConverged(
        f"episodes of {setting.simulator.name} end before the discount of {setting.discount:g} "
        f"lets states be drawn: {len(found)} of {n}; give a smaller discount"
    )


def walk_to_times(
    setting: Setting, choose: Choose, n: int, rng: np.random.Generator, found: Sampled
) -> StepRewards:
    """Follow n episodes to their times and add where they stand; what has ended is left out.

    Returns what their steps paid.
    """
    record = StepRewards(setting.weights)
    left = rng.geometric(1 - setting.discount, size=n) - 1
    batch, t = setting.simulator.begin(rng.integers(2**31, size=n).tolist()), 0
    while len(left):
        there = left == t
        if there.any():
            saved, shown_now = batch.saved_states(), batch.observations
            found += [(saved[i], shown_now[i], t) for i in np.flatnonzero(there)]
            batch.keep(~there)
            left = left[~there]
            if not len(left):
                break
        before, actions = batch.observations, choose(batch)
        stepped = batch.step(actions)
        phi = setting.features(before, actions, stepped)
        record = record.with_steps(phi, stepped.rewards, in_step(t, "an episode"))
        batch.keep(~stepped.ended)
        left = left[~stepped.ended]
        t += 1
    return record
