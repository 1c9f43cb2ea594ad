"""The posterior of the trust against demonstrations that can be listed, and simulated ones."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from didact.errors import InvalidParameter, NotMixed
from didact.learners import learn
from didact.learners.chains import informativeness as module
from didact.learners.chains.demonstrators import demonstrate
from didact.learners.chains.information_gap import InformationGap
from didact.learners.chains.informativeness import informativeness
from didact.learners.evidence import as_evidence
from didact.mdp import MDP, Demonstration, Family, Task
from didact.planning import evaluate, solve
from didact.worlds import make
from tests.effort import number

REWARDS = [[1.0, 0.2, -0.5], [-0.3, 1.0, 0.4], [0.1, -1.0, 0.9]]


def small() -> MDP:
    return make("random-grid", size=3, n_features=3, seed=2).mdp


def log_policy(mdp: MDP, weights: list[float], confidence: float) -> list[list[float]]:
    """The softmax policy's log probabilities, from value iteration in plain loops."""
    targets = mdp.transitions.successors.reshape(mdp.n_states, mdp.n_actions)
    reward = mdp.features.floats @ np.array(weights)
    values = np.zeros(mdp.n_states)
    for _ in range(2000):
        values = (reward[:, None] + mdp.discount * values[targets]).max(axis=1)
    scaled = confidence * (reward[:, None] + mdp.discount * values[targets])
    return (
        scaled - np.log(np.exp(scaled - scaled.max()).sum(1, keepdims=True)) - scaled.max()
    ).tolist()


def all_sets(mdp: MDP, starts: tuple[int, ...], length: int) -> list[list[Demonstration]]:
    """All sets of demonstrations of this length from these starts."""

    def walks(state: int, left: int) -> list[list[tuple[int, int]]]:
        if not left:
            return [[]]
        target = mdp.transitions.successors.reshape(mdp.n_states, -1)
        return [
            [(state, action), *rest]
            for action in range(mdp.n_actions)
            for rest in walks(int(target[state, action]), left - 1)
        ]

    each = [[Demonstration(walk) for walk in walks(start, length)] for start in starts]
    return [list(found) for found in itertools.product(*each)]


@pytest.mark.parametrize(("starts", "length"), [((4,), 2), ((0, 5), 1)])
def test_the_evidence_is_that_of_a_listed_normaliser(starts: tuple[int, ...], length: int) -> None:
    mdp, confidence = small(), 2.0
    every = all_sets(mdp, starts, length)
    logs = [log_policy(mdp, w, confidence) for w in REWARDS]
    gaps = [[InformationGap(as_evidence(mdp, d)).of(w) for d in every] for w in REWARDS]
    chances = [
        [math.exp(sum(log[s][a] for d in found for s, a in d)) for found in every] for log in logs
    ]
    for seen in (0, len(every) // 2, len(every) - 1):
        found = informativeness(mdp, every[seen], rewards=REWARDS, confidence=confidence)
        assert found.n_draws is None
        for place in (0, 200, 330):
            trust = float(found.trusts[place])
            both = [0.0, 0.0]
            for own, chance in zip(gaps, chances, strict=True):
                z = sum(p * math.exp(-trust * g) for p, g in zip(chance, own, strict=True))
                both[0] += chance[seen] * math.exp(-trust * own[seen]) / z
                both[1] += chance[seen]
            assert found.log_evidence[place] == pytest.approx(math.log(both[0] / both[1]), abs=1e-6)


def test_gaps_of_many_sets_are_those_of_each() -> None:
    mdp = small()
    every = all_sets(mdp, (1, 7), 1)
    for matching in ("optimal", "greedy"):
        of = InformationGap(as_evidence(mdp, every[0]), matching=matching).of_reward(REWARDS[0])
        pairs = np.array([[s * mdp.n_actions + a for d in found for s, a in d] for found in every])
        alone = [
            InformationGap(as_evidence(mdp, found), matching=matching).of(REWARDS[0])
            for found in every
        ]
        assert of.of_sets(pairs) == pytest.approx(alone, abs=1e-9)


def covered(runs: int, confidence: float, m: int) -> dict[float, float]:
    """How often intervals hold a lambda of the prior, demonstrations drawn from the listed law."""
    mdp, rng, hits = small(), np.random.default_rng(5), dict.fromkeys((0.5, 0.8, 0.95), 0)
    known = {}
    for run in range(runs):
        starts = tuple(rng.integers(mdp.n_states, size=m).tolist())
        true, trust = int(rng.integers(3)), float(min(abs(10 * rng.standard_cauchy()), 3000))
        if starts not in known:
            every = all_sets(mdp, starts, 2)
            pairs = np.array([[s * 4 + a for d in found for s, a in d] for found in every])
            gap = InformationGap(as_evidence(mdp, every[0]))
            gaps = [gap.of_reward(w).of_sets(pairs) for w in REWARDS]
            logs = [np.array(log_policy(mdp, w, confidence)).ravel()[pairs].sum(1) for w in REWARDS]
            known[starts] = every, gaps, logs
        every, gaps, logs = known[starts]
        chances = np.exp(logs[true] - trust * (gaps[true] - gaps[true].min()))
        seen = every[int(rng.choice(len(every), p=chances / chances.sum()))]
        found = informativeness(mdp, seen, rewards=REWARDS, confidence=confidence, seed=run)
        for level in hits:
            low, _, high = found.interval(level)
            hits[level] += low <= trust <= high
    return {level: hit / runs for level, hit in hits.items()}


@pytest.mark.parametrize(
    ("confidence", "m"), [(1.0, 1), pytest.param(5.0, 2, marks=pytest.mark.slow)]
)
def test_intervals_hold_their_level(confidence: float, m: int) -> None:
    runs = number(60, 500)
    for level, share in covered(runs, confidence, m).items():
        assert abs(share - level) < 4 * math.sqrt(level * (1 - level) / runs)


def test_drawn_normalisers_come_to_the_listed_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    mdp = small()
    seen = all_sets(mdp, (4, 2), 1)[6]
    listed = informativeness(mdp, seen, rewards=REWARDS, confidence=2.0)
    monkeypatch.setattr(module, "MAX_LISTED", 1)
    drawn = informativeness(mdp, seen, rewards=REWARDS, confidence=2.0, n_draws=4000)
    assert drawn.n_draws == 4000
    assert drawn.log_evidence[:250] == pytest.approx(listed.log_evidence[:250], abs=0.05)
    assert drawn.p_doing == pytest.approx(listed.p_doing, abs=0.1)


def test_demonstrators_are_told_apart_where_they_can_be() -> None:
    runs = number(6, 40)
    told: dict[str, list[str]] = {}
    for kind in ("doing", "scot", "noisy", "blind"):
        for seed in range(runs):
            task = make("random-grid", size=6, n_features=4, seed=seed)
            shown = demonstrate(task, kind, n=4, seed=seed)
            found = informativeness(task, shown, rewards=task.weights, starts="drawn", seed=seed)
            told.setdefault(kind, []).append(found.verdict)
    assert "teaching" not in told["doing"]
    assert "neither" not in told["doing"]
    assert told["scot"].count("teaching") >= runs / 3
    assert told["noisy"].count("neither") >= runs / 2
    assert told["blind"].count("neither") >= runs / 3


def test_a_myopic_demonstrator_is_told_where_it_takes_a_suboptimal_step() -> None:
    """Elsewhere its steps are those of a doer, and nothing can tell it from one."""
    runs, erring, told = number(4, 20), 0, 0
    for seed in range(runs):
        task = make("random-grid", size=6, n_features=4, seed=seed)
        shown = demonstrate(task, "myopic", n=16, horizon=8, seed=seed)
        optimal = solve(task).optimal
        errs = any(not optimal[pair] for each in shown for pair in each)
        found = informativeness(
            *(task, shown), rewards=task.weights, starts="drawn", seed=seed, n_draws=100
        )
        assert errs or found.verdict != "neither"
        erring += errs
        told += found.verdict == "neither"
    print(f"myopic: suboptimal steps in {erring} of {runs} worlds, 'neither' in {told} of these")
    assert told >= erring / 2 > 0


def test_what_one_listed_reward_explains_names_it() -> None:
    mdp = small()
    policy = solve(mdp, REWARDS[0]).policy.argmax(axis=1)
    shown = [[(s, int(policy[s]))] for s in range(mdp.n_states)]
    common = {"measure": "posterior", "confidence": (0.5, 2.0)}
    named = informativeness(mdp, shown, rewards=REWARDS, true=0, **common)
    other = informativeness(mdp, shown, rewards=REWARDS, true=2, **common)
    assert named.log_bayes_factor > 0 > other.log_bayes_factor
    assert named.verdict in str(named.to_dict())
    assert len(named.adds) == mdp.n_states
    first = int(np.argmax(named.adds)) + 1  # people count demonstrations from 1
    assert f"demonstration {first} adds {max(named.adds):.3g}" in str(named)


@pytest.mark.filterwarnings("ignore::didact.errors.NotMixed")
def test_an_estimated_trust_of_nobody_is_birl_to_the_bit() -> None:
    task = make("random-grid", size=4, n_features=3, seed=1)
    shown = demonstrate(task, "doing", n=3, seed=1)
    plain = learn(task, shown, seed=3)
    found = learn(task, shown, learner="bio-irl", trust="estimate", seed=3)
    assert found.settings["trust"] == 0
    assert (plain.samples == found.samples).all()
    assert found.settings["log_bayes_factor"] < math.log(9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1}, "level"),
        ({"measure": "posterior"}, "rewards="),
        ({"rewards": [[1, 2, 3]], "measure": "posterior"}, "at least two"),
        ({"rewards": REWARDS, "true": 3}, "true"),
        ({"rewards": 3}, "rewards must be"),
        ({"n_draws": 2}, "n_draws"),
        ({"confidence": "much"}, "confidence"),
        ({"starts": "mine"}, "starts"),
    ],
)
def test_bad_input_is_one_line(options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        informativeness(small(), [[(0, 1)]], **options)
    with pytest.raises(InvalidParameter, match="needs demonstrations"):
        informativeness(small(), [])


def test_not_mixed_is_not_told_of_inner_draws(recwarn: pytest.WarningsRecorder) -> None:
    informativeness(small(), [[(0, 1)]], n_draws=10)
    assert not [each for each in recwarn if issubclass(each.category, NotMixed)]


def halves(discount: str) -> Family:
    """Two members of one reward, the second with a discount of its own."""
    one = make("random-grid", size=3, n_features=3, seed=2)
    two = make("random-grid", size=3, n_features=3, seed=5).mdp
    other = MDP(two.transitions, two.features, discount, start=two.start)
    return Family([one, Task(other, one.true_weights, name="other")])


@pytest.mark.parametrize("discount", ["0.95", "1/2"])
def test_a_family_of_members_is_judged_as_they_are_alone(discount: str) -> None:
    # Doing alone is compared: members are independent, gaps compare with one lesson for all.
    family = halves(discount)
    shown = [Demonstration([(4, 1), (7, 0)], member=m) for m in (0, 1)]
    evidence = as_evidence(family, shown)
    listed = module.listed_like(evidence, 3000)
    alone = [module.listed_like(as_evidence(t, [[(4, 1), (7, 0)]]), 100) for t in family]
    assert listed is not None
    assert len(listed.pairs) == len(alone[0].pairs) * len(alone[1].pairs)
    assert listed.log_moves == pytest.approx(0)  # the sink of a discount is no move
    found = informativeness(family, shown, rewards=REWARDS, confidence=2.0)
    assert found.n_draws is None
    likelihood = as_evidence(family, shown)
    for weights in REWARDS:
        values = solve(likelihood.mdp, weights).action_values
        own = [solve(t.mdp, weights).action_values for t in family]
        assert values[:9] == pytest.approx(own[0])
        assert values[9:18] == pytest.approx(own[1])


@pytest.mark.parametrize("kind", ["doing", "scot", "informative", "myopic"])
def test_demonstrators_of_a_family_say_the_member(kind: str) -> None:
    family = halves("1/2")
    shown = demonstrate(family, kind, n=6, horizon=3, seed=1)
    assert {each.member for each in shown} == ({0} if kind == "scot" else {0, 1})
    assert all(0 <= state < 9 for each in shown for state, _ in each)
    assert kind == "scot" or {len(each) for each in shown} == {3}
    assert informativeness(family, shown, starts="drawn", rewards=family.weights).probability < 1


def losses(kind: str, seed: int) -> list[list[float]]:
    """What BIRL, BIO-IRL and an estimated trust lose, of V* less V of the random policy.

    By the policies of the most likely and of the mean weights.
    """
    task = make("random-grid", size=4, n_features=3, seed=seed)
    if kind == "teaching":
        kind = "scot" if seed % 4 < 2 else "informative"
    shown = demonstrate(task, kind, n=2 + seed % 3, horizon=1 + seed % 2, seed=seed)
    uniform = np.full((task.mdp.n_states, task.mdp.n_actions), 1 / task.mdp.n_actions)
    spread = evaluate(task, uniform).policy_loss
    found = []
    for options in ({}, {"learner": "bio-irl"}, {"learner": "bio-irl", "trust": "estimate"}):
        effort = {"max_likelihoods": 20_000, "n_chains": 4, "seed": seed}
        belief = learn(task, shown, **effort, **options)
        policies = [belief.policy(of) for of in ("map", "mean")]
        found.append([evaluate(task, policy).policy_loss / spread for policy in policies])
    return found


@pytest.mark.filterwarnings("ignore::didact.errors.NotMixed")
@pytest.mark.parametrize("kind", ["doing", "teaching"])
def test_an_estimated_trust_loses_no_more_than_the_better_learner(kind: str) -> None:
    """In 200 worlds of each kind; in a single world chance decides by a percent which is better."""
    means = np.mean([losses(kind, (seed + 3) % 200) for seed in range(number(1, 200))], axis=0)
    for of, (plain, trusting, estimated) in zip(("map", "mean"), means.T, strict=True):
        print(f"{kind}, {of}: BIRL {plain:.4f}, BIO-IRL {trusting:.4f}, estimated {estimated:.4f}")
        assert estimated <= min(plain, trusting) + 0.01
