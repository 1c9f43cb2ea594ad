"""Selected episodes: against brute force over subsets, exact cones, and `check` itself."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from didact.bec.classes import demonstration_class, equivalence_class
from didact.errors import InvalidModel, InvalidParameter, Unsupported
from didact.mdp import MDP, Comparison, Demonstration, Family, Task, load_recording
from didact.planning import reachable_states, rollout, solve
from didact.teaching import check, teach
from didact.teaching.feedback.halfspaces import right_segments
from didact.teaching.select import select
from didact.worlds import gridworld, make
from tests.effort import number
from tests.models import tasks


def recorded(task, seed, n, length=3, astray=0.3):
    """Random episodes: optimal play that goes astray now and then, repeats included."""
    rng, mdp = np.random.default_rng(seed), task.mdp
    optimal = solve(mdp, task.true_weights).optimal
    shown = []
    for _ in range(n):
        strays = rng.random() < astray
        policy = np.ones_like(optimal) if strays else np.where(mdp.terminal[:, None], True, optimal)
        policy = policy / policy.sum(axis=1, keepdims=True)
        shown.append(rollout(mdp, policy, horizon=int(rng.integers(1, length + 1)), seed=rng))
    return shown


recordings = st.tuples(tasks(), st.integers(0, 2**31), st.integers(0, 6))


@given(recordings, st.sampled_from([None, 1, 2]), st.sampled_from(["greedy", "exact"]))
def test_every_episode_is_in_one_list_and_claims_are_those_of_check(given_case, budget, method):
    task, seed, n = given_case
    shown = recorded(task, seed, n)
    bec = equivalence_class(task)
    found = select(task, shown, budget=budget, method=method, bec=bec)
    segments = right_segments(bec, shown)
    wrong = {c.episode for c in found.contradicting}
    used = {*found.chosen, *found.left_out}
    assert used.isdisjoint(found.redundant)
    assert used.union(found.redundant) == {segment.demonstration for segment in segments}
    assert used.union(found.redundant, wrong) == set(range(n))
    assert set(found.chosen) & set(found.left_out) <= wrong
    assert len(set(found.segments)) == len(found.segments)
    assert set(found.segments) <= set(segments)
    assert found.chosen == tuple(segment.demonstration for segment in found.segments)
    assert budget is None or len(found.chosen) <= budget
    verdict = check(task, found.demonstrations, bec=bec)
    assert not verdict.wrong
    assert (found.teaches, verdict.n_open) == (verdict.teaches, found.n_elements - found.n_covered)
    assert len(found.missing) == verdict.n_open
    assert sum(found.gains) == found.n_covered
    assert found.demonstrations == tuple(segment.shown for segment in found.segments)
    assert found.wrong == check(task, shown, bec=bec).wrong


@given(recordings, st.sampled_from([None, 1]))
def test_redundant_ones_say_nothing_new_and_left_out_ones_do(given_case, budget):
    task, seed, n = given_case
    shown = recorded(task, seed, n)
    bec = equivalence_class(task)
    found = select(task, shown, budget=budget, bec=bec)
    chosen, segments = list(found.demonstrations), right_segments(bec, shown)
    alone = demonstration_class(bec, chosen)

    def with_all_of(episode):
        right = [segment.shown for segment in segments if segment.demonstration == episode]
        return demonstration_class(bec, [*chosen, *right])

    for episode in found.redundant:
        assert with_all_of(episode).equals(alone)
    for episode in found.left_out:
        assert not with_all_of(episode).equals(alone)
    if budget is None:
        assert found.left_out == ()
        everything = [segment.shown for segment in segments]
        assert demonstration_class(bec, everything).equals(alone)


def assert_cheapest(task, shown, cost):
    """No set of right segments that implies all that was recorded costs less than the chosen."""
    bec = equivalence_class(task)
    recorded_ones, shown = shown, [segment.shown for segment in right_segments(bec, shown)]
    price = len if cost == "pairs" else lambda episode: 1
    everything = demonstration_class(bec, shown)
    implying = [
        sum(price(shown[i]) for i in part)
        for size in range(len(shown) + 1)
        for part in itertools.combinations(range(len(shown)), size)
        if demonstration_class(bec, [shown[i] for i in part]).equals(everything)
    ]
    found = select(task, recorded_ones, method="exact", cost=cost, bec=bec)
    assert demonstration_class(bec, found.demonstrations).equals(everything)
    assert sum(map(price, found.demonstrations)) == min(implying)
    assert found.left_out == ()
    return found


@given(recordings, st.sampled_from(["demonstrations", "pairs"]))
def test_the_exact_method_takes_as_few_as_brute_force(given_case, cost):
    task, seed, n = given_case
    assert_cheapest(task, recorded(task, seed, min(n, 4), astray=0.3), cost)


@pytest.mark.slow
def test_the_exact_method_takes_as_few_as_brute_force_on_hundreds_of_recordings():
    n_open = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        task = make(
            "garnet",
            n_states=int(rng.integers(3, 8)),
            n_actions=int(rng.integers(2, 4)),
            n_features=int(rng.integers(2, 6)),
            branching=2,
            seed=seed,
        )
        shown = recorded(task, seed, int(rng.integers(1, 7)), astray=0.2 * (seed % 2))
        found = assert_cheapest(task, shown, ("demonstrations", "pairs")[seed % 2])
        n_open += not found.teaches
    assert n_open > 100


def test_an_episode_within_another_is_not_chosen_where_something_stays_open():
    """The longer of two episodes says all that the shorter one says, and facets stay open."""
    mdp = MDP(
        [
            [[0.9, 0.0, 0.1], [0.8, 0.1, 0.1]],
            [[1.0, 0.0, 0.0], [0.8, 0.1, 0.1]],
            [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
        ],
        [[0.5, -0.3], [-0.3, 1.0], [0.0, 0.0]],
        discount=0.9,
        start=[0.5, 0.5, 0.0],
    )
    task = Task(mdp, weights=[0.7, 1.0], name="within")
    for episodes in ([[(2, 1)], [(2, 1), (0, 1)]], [[(2, 1), (0, 1)], [(2, 1)]]):
        found = select(task, episodes, method="exact")
        assert not found.teaches
        assert [len(d) for d in found.demonstrations] == [2]
        assert len(found.redundant) == 1


@given(recordings, st.integers(1, 3))
def test_greedy_covers_its_share_of_the_best(given_case, budget):
    """(1 - 1/e) of what any so many episodes cover, where nothing follows from equalities."""
    task, seed, n = given_case
    bec = equivalence_class(task)
    assume(not bec.cone.equalities)
    shown = recorded(task, seed, n, astray=0.0)
    best = max(
        bec.cone.n_facets - check(task, [shown[i] for i in part], bec=bec).n_open
        for part in itertools.combinations(range(n), min(budget, n))
    )
    found = select(task, shown, budget=budget, bec=bec)
    assert found.n_covered >= (1 - 1 / np.e) * best


@given(recordings)
def test_contradicting_ones_show_what_is_not_optimal(given_case):
    task, seed, n = given_case
    shown = recorded(task, seed, n, astray=0.6)
    bec = equivalence_class(task)
    found = select(task, shown, bec=bec)
    plan = bec.plan
    for i, demonstration in enumerate(shown):
        wrong = [step for step, pair in enumerate(demonstration) if not plan.optimal[pair]]
        told = [c for c in found.contradicting if c.episode == i]
        assert len(told) == bool(wrong)
        if told:
            contradiction = told[0]
            assert (contradiction.step, contradiction.n_wrong) == (wrong[0], len(wrong))
            pair = (contradiction.state, contradiction.action)
            assert demonstration[wrong[0]] == pair
            assert plan.optimal[contradiction.state, contradiction.better]
            assert contradiction.gap > 0
            assert i not in contradiction.against


def test_who_contradicts_whom():
    """Going down from the top left is right in four episodes, and one goes right into the pit."""
    task = gridworld(
        ["..", ".G"], weights={".": -1, "G": 5}, terminal="G", discount="0.9", name="corner"
    )
    right = [[(0, 1), (2, 3)], [(0, 3), (1, 1)], [(2, 3)]]
    wrong = [(0, 0), (0, 1), (2, 3)]
    found = select(task, [*right, wrong])
    assert found.teaches
    (contradiction,) = found.contradicting
    assert (contradiction.episode, contradiction.step, contradiction.n_wrong) == (3, 0, 1)
    assert contradiction.against
    assert set(contradiction.against) <= {0, 1, 2}


def test_one_wrong_step_discards_no_episode():
    """Up from the corner is a detour; what comes after it teaches the six cells all the same."""
    task = make("six-cell")
    detour = [(5, 0), (2, 1), (5, 2), (4, 2), (3, 0)]
    found = select(task, [detour, [(2, 2)]], episodes=[3, 5])
    assert (found.teaches, found.chosen, found.redundant) == (True, (3,), ())
    assert [(s.demonstration, s.step, len(s.shown)) for s in found.segments] == [(3, 1, 4)]
    assert [(w.demonstration, w.step) for w in found.wrong] == [(3, 0), (5, 0)]
    assert [(row["verdict"], row["n_wrong"]) for row in found.to_records()] == [
        ("chosen", 1), ("contradicting", 1),
    ]  # fmt: skip
    told = found.to_dict()
    assert told["segments"] == [{"episode": 3, "step": 1, "n_steps": 4}]
    assert [(w["episode"], w["step"]) for w in told["wrong"]] == [(3, 0), (5, 0)]


def test_a_budget_leaves_out_and_says_so():
    task = make("random-grid", size=6, n_features=5, seed=2)
    shown = teach(task, horizon=1).demonstrations
    assert len(shown) > 2
    found = select(task, shown, budget=2)
    assert (len(found.chosen), found.teaches) == (2, False)
    assert set(found.left_out) == set(range(len(shown))) - set(found.chosen)
    assert {missing.reason for missing in found.missing} == {"budget"}
    assert found.verdict.loss > 0
    whole = select(task, shown)
    assert whole.teaches
    assert (whole.missing, whole.left_out, whole.redundant) == ((), (), ())
    less = select(task, shown[:1])
    assert {missing.reason for missing in less.missing} == {"not recorded"}


def test_what_narrows_is_chosen_where_nothing_covers():
    """Weaker statements than facets still shrink what a learner may believe, and its loss."""
    task = make("random-grid", size=6, n_features=5, seed=2)
    shown = teach(task, teacher="random", horizon=4, n=30).demonstrations
    found = select(task, shown)
    assert 0 in found.gains
    covering = [number for number, gain in zip(found.chosen, found.gains, strict=True) if gain]
    before = check(task, [shown[i] for i in covering])
    assert found.verdict.n_open == before.n_open
    assert found.verdict.loss < before.loss


def test_short_ones_are_taken_when_pairs_count():
    task = make("six-cell")
    long = teach(task).demonstrations[0]
    bec = equivalence_class(task)
    singles = [[pair] for pair in long if check(task, [[pair]], bec=bec).teaches]
    assert singles
    shown = [long, singles[0]]
    assert select(task, shown, cost="pairs").chosen == (1,)
    assert select(task, shown).chosen == (0,)


def test_numbers_are_the_callers():
    task = make("six-cell")
    long = teach(task).demonstrations[0]
    found = select(task, [[(1, 1)], long], episodes=[40, 7])
    assert (found.chosen, found.redundant) == ((7,), ())
    assert [(w.demonstration, w.step) for w in found.wrong] == [(40, 0)]
    assert [c.episode for c in found.contradicting] == [40]
    document = found.document()
    assert (document["chosen"], document["teaches"]) == ([7], True)
    assert document["contradicting"][0]["episode"] == 40


def test_nothing_recorded_and_nothing_to_teach():
    task = make("six-cell")
    found = select(task, [])
    assert (found.chosen, found.teaches, len(found.missing)) == ((), False, found.n_elements)
    idle = gridworld(["..", ".."], weights={".": -1}, name="idle")
    assert select(idle, [[(0, 0)]]).teaches
    assert select(idle, [[(0, 0)]]).redundant == (0,)


def test_floats_give_the_same_lists():
    task = make("random-grid", size=6, n_features=5, seed=2)
    shown = recorded(task, 3, 25)
    exact, floats = (select(task, shown, budget=4, arithmetic=a) for a in ("exact", "float"))
    assert (exact.chosen, exact.gains) == (floats.chosen, floats.gains)
    assert (exact.redundant, exact.left_out) == (floats.redundant, floats.left_out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget must be a whole number from 1"),
        ({"method": "best"}, "method must be 'greedy' or 'exact'"),
        ({"cost": "time"}, "cost must be 'demonstrations' or 'pairs'"),
        ({"episodes": [1, 2]}, "episodes must have a number of its own"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidParameter, match=message):
        select(make("six-cell"), [[(1, 2)]], **options)


def test_wrong_episodes_are_refused():
    with pytest.raises(
        InvalidModel,
        match=r"demonstration 1, step 2: state 3 \(row 2, column 1\) cannot follow left in",
    ):
        select(make("six-cell"), [[(5, 2), (3, 0)]])
    task = gridworld(["S.#.", "..#."], weights={"S": 0, ".": -1}, start="S")
    beyond = Demonstration([(2, 1)])
    with pytest.raises(InvalidParameter, match=r"episode 1 must stay in scope 'reachable'"):
        select(task, [beyond])
    assert select(task, [beyond], scope="all").n_items == 1


def test_episodes_of_a_file_keep_its_numbers(tmp_path):
    """As `didact select` has them; lists of demonstrations count from 0."""
    path = tmp_path / "log.csv"
    steps = [(17, 0, 2, 1), (17, 1, 5, 2), (17, 2, 4, 2), (17, 3, 3, 0), (4, 0, 4, 2)]
    lines = ["episode,step,state,action", *(",".join(map(str, step)) for step in steps)]
    path.write_text("\n".join(lines) + "\n")
    task = make("six-cell")
    for source in (path, str(path), load_recording(path)):
        found = select(task, source)
        assert (found.chosen, found.redundant) == ((17,), (4,))
    shown = load_recording(path).demonstrations
    assert select(task, shown).chosen == (0,)
    assert select(task, path, episodes=[8, 9]).chosen == (8,)


@pytest.mark.parametrize("judge", [check, select])
def test_steps_in_states_that_never_come_up_say_nothing_and_are_allowed_with_all(judge):
    """An unreachable state that every action stays in; a refusal's advice must be good advice."""
    moves = [[[0, 1, 0], [1, 0, 0]], [[0, 0, 0]] * 2, [[0, 0, 1]] * 2]
    task = Task(MDP(moves, [[0, 0], [1, 0], [0, 1]], "0.9", start=0, terminal=[1]), [1, 0])
    with pytest.raises(InvalidParameter, match=r"state 2 cannot be reached .* Use scope='all'"):
        judge(task, [[(0, 0)], [(2, 1)]], scope="reachable")
    found = judge(task, [[(0, 0)], [(2, 1)]], scope="all")
    assert (found if judge is check else found.verdict).teaches


PLANTED = (
    ("random-grid", {"size": 6, "n_features": 4, "seed": 0}),
    ("six-cell", {}),
    ("CliffWalking-v1", {}),
    ("garnet", {"n_states": 20, "n_actions": 3, "n_features": 4, "seed": 0}),
    ("FrozenLake-v1", {}),
)
"""Worlds of recordings with planted wrong episodes."""


def planted(task, seed, n, slip=0.05):
    """Episodes of at most 10 steps with slips; every fifth serves other weights, in vain."""
    rng, mdp = np.random.default_rng(seed), task.mdp
    optimal = solve(mdp, task.true_weights).optimal
    places = np.flatnonzero(reachable_states(mdp) & ~mdp.terminal)

    def episode(best):
        best = np.where(mdp.terminal[:, None], True, best)
        policy = (1 - slip) * best / best.sum(axis=1, keepdims=True) + slip / mdp.n_actions
        return rollout(mdp, policy, horizon=10, seed=rng, start=int(rng.choice(places)))

    shown = []
    while len(shown) < n:
        if len(shown) % 5 < 4:
            shown.append(episode(optimal))
            continue
        other = episode(solve(mdp, rng.normal(size=mdp.n_features).tolist()).optimal)
        if not all(optimal[pair] for pair in other):  # else it is right whoever it served
            shown.append(other)
    return shown


def area_under_curve(scores, is_wrong):
    """The chance that a wrong episode has a larger score than a right one, ties half."""
    wrong, right = scores[is_wrong], scores[~is_wrong]
    return float(np.mean((wrong[:, None] > right) + 0.5 * (wrong[:, None] == right)))


@pytest.mark.parametrize(
    ("name", "settings"), [pytest.param(*each, id=each[0]) for each in PLANTED]
)
def test_planted_wrong_episodes_are_named_and_what_teaches_is_kept(name, settings):
    task, n = make(name, **settings), number(30, 100)
    bec = equivalence_class(task, arithmetic="exact")
    areas = []
    for seed in range(number(2, 20)):
        shown = planted(task, seed, n)
        found = select(task, shown, bec=bec)
        scores = np.array([row["wrong_share"] for row in _every(found, n)])
        areas.append(area_under_curve(scores, np.arange(n) % 5 == 4))
        right = [segment.shown for segment in right_segments(bec, shown)]
        assert found.teaches == check(task, right, bec=bec).teaches
        assert demonstration_class(bec, found.demonstrations).equals(
            demonstration_class(bec, right)
        )
        assert not check(task, found.demonstrations, bec=bec).wrong
        if found.contradicting:
            assert found.suspects[0] == int(np.argmax(scores))
    print(f"AUC {name}: {np.mean(areas):.3f}, least {min(areas):.3f}, {len(areas)} recordings")
    assert np.mean(areas) >= 0.9


def _every(found, n):
    """A row for each episode; a chosen one may have its own in any order."""
    rows = {row["episode"]: row for row in found.to_records()}
    return [rows[episode] for episode in range(n)]


def test_kept_episodes_survive_lies_as_dropping_any_of_them_shows():
    tried = 0
    for seed in range(number(6, 40)):
        task = make("random-grid", size=3, n_features=3, seed=seed)
        if seed % 2:
            task = make("garnet", n_states=5, n_actions=2, n_features=3, branching=2, seed=seed)
        shown = planted(task, seed, 25)
        found = select(task, shown, lies=2)
        episodes = sorted(set(found.chosen))
        parts = list(zip(found.chosen, found.demonstrations, strict=True))

        def teaches_without(gone, parts=parts, task=task):
            return check(task, [d for episode, d in parts if episode not in gone]).teaches

        assert found.survives in (0, 1, 2)
        if not found.survives:
            continue
        tried += 1
        for gone in itertools.combinations(episodes, 2 * found.survives):
            assert teaches_without(gone)
        for one in episodes:  # nothing is kept that could go
            rest = [e for e in episodes if e != one]
            assert not all(
                teaches_without({one, *gone})
                for gone in itertools.combinations(rest, 2 * found.survives)
            )
    assert tried


def test_lies_are_refused_where_they_mean_nothing():
    task = make("six-cell")
    shown = [[(5, 2), (4, 2), (3, 0)]]
    assert select(task, shown, lies=1).survives == 0
    assert select(task, shown).survives is None
    for settings in ({"lies": -1}, {"lies": 1, "budget": 1}):
        with pytest.raises(InvalidParameter, match="lies must"):
            select(task, shown, **settings)
    with pytest.raises(Unsupported, match="counted exactly"):
        select(task, shown, lies=1, arithmetic="float")
    with pytest.raises(Unsupported, match="other feedback"):
        select(task, [Comparison(2, 1, 0)], lies=1)


def test_recorded_episodes_of_a_family_are_chosen_among_all_members():
    one = make("random-grid", size=4, n_features=3, seed=0)
    two = Task(make("random-grid", size=4, n_features=3, seed=1).mdp, one.true_weights, name="two")
    family = Family([one, two])
    bec = equivalence_class(family, arithmetic="exact")
    rng, shown = np.random.default_rng(0), []
    for episode in range(16):
        optimal = bec.members[episode % 2].plan.optimal
        walk = rollout(
            family[episode % 2].mdp, optimal / optimal.sum(1, keepdims=True), horizon=3, seed=rng
        )
        shown.append(Demonstration(walk.pairs, episode % 2))
    worst = next(a for a in range(4) if not bec.members[1].plan.optimal[shown[1][0][0], a])
    shown.append(Demonstration([(shown[1][0][0], worst)], 1))
    found = select(family, shown, method="exact", bec=bec)
    assert found.verdict.wrong == ()
    assert [c.episode for c in found.contradicting] == [16]
    assert found.wrong[0].member == 1
    assert {d.member for d in found.demonstrations} <= {0, 1}
    told = check(family, shown[:16], bec=bec)
    assert found.teaches == told.teaches
    if found.teaches:
        assert found.cost == min(
            size
            for size in range(1, 5)
            for part in itertools.combinations(shown[:16], size)
            if check(family, list(part), bec=bec).teaches
        )
    kept = select(family, [*shown[:16]] * 3, lies=1, bec=bec)
    assert kept.survives == (1 if found.teaches else 0)
