"""The bound on the cost of every lesson: brute force in fractions, golden values, forgeries.

The oracle shares no code with the package: it lists policies, walks and subsets.
"""

import copy
import json
import random
from fractions import Fraction
from itertools import combinations, pairwise

import pytest

import didact
from didact.mdp.files import family_document, task_document, task_from_document
from didact.proofcheck import ProofError, check_proof
from tests.effort import chunks, number
from tests.teaching.covers.instances import cheapest_by_force
from tests.test_proofcheck import Solved, cone_multipliers

PER_CHUNK = 40


class Model:
    """A small MDP in fractions: transitions[s][a] = {t: p}, features[s], discount, terminals."""

    def __init__(self, draw, n_features):
        self.n, self.m = draw.randint(2, 4), 2
        self.discount = draw.choice([Fraction(1, 2), Fraction(9, 10), Fraction(0)])
        is_last = draw.random() < 0.5
        self.terminal = [self.n - 1] if is_last else []
        self.features = [
            [Fraction(draw.choice([0, 0, 1, 1, 2])) for _ in range(n_features)]
            for _ in range(self.n)
        ]
        self.moves = [
            [self._row(draw) if s not in self.terminal else {} for _ in range(self.m)]
            for s in range(self.n)
        ]
        live = [s for s in range(self.n) if s not in self.terminal]
        self.starts = sorted(draw.sample(live, draw.randint(1, len(live))))

    def _row(self, draw):
        if draw.random() < 0.6:
            return {draw.randrange(self.n): Fraction(1)}
        one, two = draw.sample(range(self.n), 2)
        share = draw.choice([Fraction(1, 2), Fraction(1, 10), Fraction(1, 3)])
        return {one: share, two: 1 - share}

    def document(self, weights):
        rows = [
            [s, a, t, str(p)]
            for s in range(self.n)
            for a in range(self.m)
            for t, p in self.moves[s][a].items()
        ]
        return {
            "format": "didact.task/1",
            "name": "small",
            "n_states": self.n,
            "n_actions": self.m,
            "transitions": rows,
            "features": [[str(x) for x in f] for f in self.features],
            "weights": [str(w) for w in weights],
            "discount": str(self.discount),
            "start": [[s, f"1/{len(self.starts)}"] for s in self.starts],
            "terminal": self.terminal,
        }

    def task(self, weights):
        return task_from_document(json.loads(json.dumps(self.document(weights))))

    def solved(self, weights):
        """Optimal actions, counts and reachable states by the exact solver of the proofs' tests."""
        return Solved(self.document(weights))

    def walks(self, optimal, horizon, least):
        """Every allowed walk with its probability."""
        front = [(((s, a),), Fraction(1)) for s in self.starts for a in optimal[s]]
        while front:
            yield from front
            front = [
                ((*walk, (t, b)), chance * p)
                for walk, chance in front
                if len(walk) < horizon
                for t, p in self.moves[walk[-1][0]][walk[-1][1]].items()
                if chance * p >= least
                for b in optimal[t]
            ]


def in_cone(target, rows):
    """Whether the target is a combination of rows with coefficients from 0 up."""
    return not any(target) or cone_multipliers(target, rows) is not None


def brute_force(models, weights, horizon, least, price, fixed, comparison=None):
    """The least cost of a lesson that teaches; None where none does, False with too many walks.

    comparison: what a comparison of an optimal action with another costs, where there are any.
    """
    rows_of, everything, walks = {}, set(), {}
    for i, model in enumerate(models):
        solved = model.solved(weights)
        optimal = solved.optimal
        for s in solved.reach:
            for a in optimal[s]:
                rows = [tuple(solved.row(s, a, b)) for b in range(model.m)]
                rows_of[i, s, a] = frozenset(r for r in rows if any(r))
                everything |= rows_of[i, s, a]
                if comparison is not None:
                    walks |= {(i, frozenset([r])): comparison for r in rows_of[i, s, a]}
        for walk, chance in model.walks(optimal, horizon, least):
            said = frozenset().union(*(rows_of[i, s, a] for s, a in walk))
            cost = price(walk, chance)
            if said and cost < walks.get((i, said), cost + 1):
                walks[i, said] = cost
    kept = [
        x
        for x in walks
        if not any(
            y != x
            and y[0] == x[0]
            and y[1] >= x[1]
            and walks[y] <= walks[x]
            and (y[1] > x[1] or walks[y] < walks[x] or str(y) < str(x))
            for y in walks
        )
    ]
    if len(kept) > 9:
        return False
    known = {}

    def teaches(chosen):
        said = frozenset().union(*(kept[i][1] for i in chosen))
        if said not in known:
            known[said] = all(in_cone(r, sorted(said)) for r in everything - said)
        return known[said]

    def visits(chosen):
        return fixed * len({kept[i][0] for i in chosen})

    return cheapest_by_force(len(kept), [walks[x] for x in kept], teaches, visits)


def small_case(seed):
    """A model or a family, weights, a horizon, a least probability, a cost and a fixed cost."""
    draw = random.Random(seed)
    k = draw.choice([2, 2, 3])
    models = [Model(draw, k) for _ in range(draw.choice([1, 1, 1, 2]))]
    weights = [Fraction(draw.choice([-2, -1, 0, 1, 1, 3])) for _ in range(k)]
    horizon, least = (
        draw.choice([1, 2, 3]),
        draw.choice([Fraction(0), Fraction(1, 5), Fraction(1, 1000)]),
    )
    kind = draw.choice(["demonstrations", "pairs", "attempts", "table"])
    kind = "pairs" if kind == "table" and len(models) > 1 else kind
    fixed = Fraction(draw.choice([0, 0, 2])) if len(models) > 1 else Fraction(0)
    return models, weights, horizon, least, kind, fixed


def as_read(document):
    return json.loads(json.dumps(document, default=str), parse_float=str)


def documents(whole, lesson):
    own = family_document(whole) if isinstance(whole, didact.Family) else task_document(whole)
    return as_read(own), as_read(lesson.document())


@pytest.mark.parametrize("chunk", chunks(2, 50))
def test_minimum_and_bound_agree_with_brute_force(chunk):
    seen = 0
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        models, weights, horizon, least, kind, fixed = small_case(seed)
        table = {s: 1 + s for s in range(4)}
        price = {
            "demonstrations": lambda walk, chance: Fraction(1),
            "pairs": lambda walk, chance: Fraction(len(walk)),
            "attempts": lambda walk, chance: 1 / chance,
            "table": lambda walk, chance: Fraction(1 + walk[0][0]),
        }[kind]
        best = brute_force(models, weights, horizon, least, price, fixed)
        if best is False:
            continue
        tasks = [model.task(weights) for model in models]
        whole = tasks[0] if len(tasks) == 1 else didact.Family(tasks)
        more = {"member_cost": str(fixed)} if fixed else {}
        lesson = didact.teach(
            whole,
            teacher="exact",
            horizon=horizon,
            min_probability=str(least),
            cost=table if kind == "table" else kind,
            arithmetic="exact",
            **more,
        )
        assert lesson.is_complete == (best is not None), seed
        if best is None:
            assert not lesson.is_fewest
            continue
        seen += 1
        assert lesson.cost == best, seed
        assert lesson.lower_bound <= best, seed
        assert lesson.is_fewest == (lesson.lower_bound == best), seed
        line = check_proof(*documents(whole, lesson))
        assert ("proved fewest" in line) == lesson.is_fewest
    assert seen >= PER_CHUNK // 4


@pytest.mark.parametrize("chunk", chunks(1, 10))
def test_bounds_on_mixes_agree_with_brute_force(chunk):
    seen = met = 0
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        models, weights, horizon, _, _, _ = small_case(f"mix {seed}")
        comparison = random.Random(seed).choice([Fraction(1, 2), Fraction(1), Fraction(3, 2)])
        best = brute_force(
            models, weights, horizon, 0, lambda *_: Fraction(1), Fraction(0), comparison
        )
        if best is False:
            continue
        tasks = [model.task(weights) for model in models]
        whole = tasks[0] if len(tasks) == 1 else didact.Family(tasks)
        lesson = didact.teach_mixed(
            whole,
            feedback=["demonstrations", "comparisons"],
            cost={"comparisons": str(comparison)},
            horizon=horizon,
            arithmetic="exact",
        )
        assert lesson.is_complete, seed  # comparisons alone can state every row
        assert lesson.lower_bound <= best <= lesson.cost, seed
        line = check_proof(*documents(whole, lesson))
        assert ("proved fewest" in line) == lesson.is_fewest == (lesson.cost == lesson.lower_bound)
        seen += 1
        met += lesson.is_fewest
    assert met > seen * 0.8 > PER_CHUNK // 5


def wrong_rewards(model, weights):
    """Rewards of a grid that the class of the weights, its relative interior, does not hold."""
    solved = model.solved(weights)
    rows = [
        (s, b in solved.optimal[s], solved.row(s, a, b))
        for s in solved.reach
        for a in solved.optimal[s]
        for b in range(model.m)
        if b != a
    ]
    return rows, solved


@pytest.mark.parametrize("chunk", chunks(1, 10))
def test_bounds_on_exams_agree_with_brute_force(chunk):
    """Closed sets of states: each that decides has at least as many as the bound."""
    seen = met = 0
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        (model, *_), weights, *_ = small_case(f"exam {seed}")
        rows, solved = wrong_rewards(model, weights)
        exam = didact.exam(model.task(weights), ask="actions", arithmetic="exact")
        states = sorted(solved.reach)
        for size in range(len(states) + 1):
            sets = [
                chosen
                for chosen in combinations(states, size)
                if is_closed(model, solved.optimal, chosen)
            ]
            if any(decides(rows, chosen) for chosen in sets):
                break
        assert len(exam) == size, seed
        assert exam.lower_bound <= size, seed
        assert exam.is_fewest == (exam.lower_bound == size), seed
        seen += 1
        met += exam.is_fewest
    assert met > seen // 2


def is_closed(model, optimal, chosen):
    return all(
        t in chosen or t in model.terminal
        for s in chosen
        for a in optimal[s]
        for t in model.moves[s][a]
    )


def decides(rows, chosen):
    """Whether every row follows from those of the chosen states, ties from ties both ways."""
    own = [row for s, _, row in rows if s in chosen]
    own += [[-x for x in row] for s, tie, row in rows if tie and s in chosen]
    return all(in_cone(row, own) for _, _, row in rows)


GOLDEN = [
    ("garnet", {}, 20, [1, 2, 1, 1, 1, 1]),
    ("random-grid", {"size": 6, "n_features": 5, "slip": "1/10"}, 6, [2, 4, 3, 3, 2, 3]),
]


@pytest.mark.parametrize(
    ("world", "given", "horizon", "wanted"), GOLDEN, ids=["garnet", "slippery"]
)
def test_any_possible_walk_reaches_the_golden_values(world, given, horizon, wanted):
    for seed, cost in enumerate(wanted):
        task = didact.make(world, seed=seed, **given)
        lesson = didact.teach(task, teacher="exact", horizon=horizon, min_probability=0)
        assert (lesson.cost, lesson.is_fewest, lesson.candidates) == (cost, True, "all")


@pytest.mark.slow
def test_slippery_9x9_reaches_the_golden_values():
    for seed, cost in enumerate([2, 3, 2]):
        task = didact.make("random-grid", size=9, n_features=8, slip="1/10", seed=seed)
        lesson = didact.teach(task, teacher="exact", horizon=20, min_probability=0)
        assert (lesson.cost, lesson.is_fewest) == (cost, True)


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("rollouts", [None, 5, 100])
def test_the_number_of_rollouts_changes_no_minimum(rollouts, seed):
    """Sampled candidates gave 3, 2 for garnet, and 5, 7, 4 for the grid, each called minimal."""
    garnet = didact.teach(didact.make("garnet"), teacher="exact", rollouts=rollouts, seed=seed)
    assert (garnet.cost, garnet.lower_bound, garnet.is_fewest) == (2, 2, True)
    grid = didact.make("random-grid", size=6, n_features=5, slip="1/10", seed=1)
    lesson = didact.teach(grid, teacher="exact", horizon=6, rollouts=rollouts, seed=seed)
    assert (lesson.cost, lesson.lower_bound, lesson.is_fewest) == (4, 4, True)
    assert all(chance >= Fraction(1, 1000) for chance in lesson.probabilities)


def test_sampled_lessons_are_bounded_over_all_walks():
    lesson = didact.teach(didact.make("garnet"), rollouts=20)
    assert lesson.candidates.startswith("sampled, ")
    assert lesson.lower_bound == 1
    assert not lesson.is_fewest


def test_probability_is_the_product_of_the_moves():
    task = didact.make("random-grid", size=6, n_features=5, slip="1/10", seed=1)
    lesson = didact.teach(task, teacher="exact", horizon=6)
    mdp = task.mdp
    for demonstration, chance in zip(lesson.demonstrations, lesson.probabilities, strict=True):
        dense = [
            mdp.transitions.matrix()[[s * mdp.n_actions + a], [t]][0]
            for (s, a), (t, _) in pairwise(demonstration)
        ]
        product_of_moves = 1.0
        for p in dense:
            product_of_moves *= float(p)
        assert float(chance) == pytest.approx(product_of_moves)


def test_closing_a_lesson_keeps_the_bound_and_drops_the_claim():
    task = didact.make("random-grid", size=5, seed=3)
    lesson = didact.teach(task, teacher="exact", closed=True)
    assert lesson.closed
    assert lesson.lower_bound < lesson.cost
    assert not lesson.is_fewest
    assert "costs at least" in check_proof(*documents(task, lesson))


def test_a_proof_without_the_part_proves_teaching_alone():
    task = didact.make("random-grid", size=5, seed=3)
    whole, document = documents(task, didact.teach(task, teacher="exact"))
    del document["proof"]["fewest"]
    line = check_proof(whole, document)
    assert line.startswith("proved: ")
    assert "fewest" not in line
    assert "costs" not in line


def test_impossible_probabilities_are_refused():
    for given in (-1, 2, "half"):
        with pytest.raises(didact.errors.DidactError, match="min_probability"):
            didact.teach(didact.make("six-cell"), min_probability=given)


def forge(draw, part, n_states):
    """One change of a certificate, by kind."""
    number_of = draw.randrange(len(part["witnesses"]))
    kind = draw.choice(
        ["raise", "move", "drop", "horizon", "starts", "cost", "least", "bound", "scale", "negate"]
    )
    if kind == "raise":
        part["weights"][number_of] = str(
            Fraction(str(part["weights"][number_of]))
            + Fraction(draw.randint(1, 9), draw.choice([1, 2, 10]))
        )
    elif kind == "move":
        witness = part["witnesses"][number_of]
        at = draw.randrange(len(witness))
        witness[at] = str(Fraction(str(witness[at])) * draw.choice([-1, 0, 2, 50]))
    elif kind == "drop":
        del part["witnesses"][number_of], part["weights"][number_of]
    elif kind == "horizon":
        part["horizon"] = draw.choice([0, 1, 2, 3])
    elif kind == "starts":
        part["starts"] = sorted(draw.sample(part["starts"], max(1, len(part["starts"]) // 2)))
    elif kind == "cost":
        part["cost"] = draw.choice(
            [{"pairs": 1}, {"attempts": 1}, {str(s): "3" for s in range(n_states)}]
        )
    elif kind == "least":
        part["min_probability"] = draw.choice(["1", "1/2", "1/5"])
    elif kind == "negate":
        part["witnesses"][number_of] = [
            str(-Fraction(str(x))) for x in part["witnesses"][number_of]
        ]
    elif kind == "scale":
        part["weights"] = [str(Fraction(str(y)) * 2) for y in part["weights"]]
    total = sum((Fraction(str(y)) for y in part["weights"]), Fraction(0))
    part["bound"] = str(-(-total // 1)) if draw.random() < 0.8 else str(total + 1)
    return kind


def test_forged_certificates_never_prove_a_false_bound():
    """Whatever is forged, a lesson that is accepted says no more than the true minimum."""
    worlds = [
        (didact.make("random-grid", size=4, n_features=4, seed=2), 3),
        (didact.make("random-grid", size=3, n_features=3, slip="1/5", seed=1), 3),
        (didact.make("uvm-failure"), 2),
    ]
    tried, refused = 0, 0
    for world, (task, horizon) in enumerate(worlds):
        lesson = didact.teach(task, teacher="exact", horizon=horizon, arithmetic="exact")
        whole, document = documents(task, lesson)
        assert "proved fewest" in check_proof(whole, document)
        for seed in range(number(150, 35_000)):
            draw = random.Random(f"{world} {seed}")
            forged = copy.deepcopy(document) if seed % 50 == 0 else {**document}
            forged["proof"] = {
                **document["proof"],
                "fewest": copy.deepcopy(document["proof"]["fewest"]),
            }
            forge(draw, forged["proof"]["fewest"], task.mdp.n_states)
            forged["lower_bound"] = forged["proof"]["fewest"]["bound"]
            tried += 1
            try:
                line = check_proof(whole, forged)
            except ProofError:
                refused += 1
                continue
            assert Fraction(str(forged["lower_bound"])) <= lesson.cost, line
    assert refused > tried // 2


def test_forged_settings_and_costs_are_refused():
    task = didact.make("random-grid", size=4, n_features=4, seed=2)
    lesson = didact.teach(task, teacher="exact", horizon=3, arithmetic="exact")
    whole, document = documents(task, lesson)
    for key, value in {"cost": 77, "lower_bound": 99}.items():
        with pytest.raises(ProofError, match=key):
            check_proof(whole, {**document, key: value})
    for key, value in {
        "horizon": 2,
        "starts": [0],
        "cost": "pairs",
        "min_probability": 0.5,
    }.items():
        with pytest.raises(ProofError):
            check_proof(whole, {**document, "settings": {**document["settings"], key: value}})


# --- forgeries by hand -------------------------------------------------------------------------


def without(part, key):
    return {name: value for name, value in part.items() if name != key}


def assert_refused(whole, document, words, **changes):
    """A document whose part `fewest` is changed is refused with these words."""
    proof = document["proof"]
    forged = {**document, "proof": {**proof, "fewest": {**proof["fewest"], **changes}}}
    forged["lower_bound"] = forged["proof"]["fewest"].get("bound")
    with pytest.raises(ProofError, match=words):
        check_proof(whole, forged)


@pytest.fixture(scope="module")
def forged_task():
    task = didact.make("random-grid", size=4, n_features=4, seed=2)
    lesson = didact.teach(task, teacher="exact", horizon=2, arithmetic="exact")
    whole, document = documents(task, lesson)
    assert "proved fewest" in check_proof(whole, document)
    return whole, document


def test_witnesses_and_weights_are_checked(forged_task):
    whole, document = forged_task
    part = document["proof"]["fewest"]
    first, *others = part["weights"]
    more = str(Fraction(str(part["bound"])) + 1)
    raised = [str(Fraction(str(first)) + 1), *others]
    not_wrong = "no wrong reward"
    inside = [whole["weights"], *part["witnesses"][1:]]
    assert_refused(whole, document, not_wrong, witnesses=inside)
    assert_refused(whole, document, not_wrong, witnesses=part["witnesses"][:-1])
    assert_refused(whole, document, not_wrong, weights=part["weights"][:-1])
    assert_refused(whole, document, not_wrong, weights=[*part["weights"], "1"], bound=more)
    assert_refused(whole, document, not_wrong, weights=["-1", *others], bound=1)
    assert_refused(whole, document, "outweighs its cost", weights=raised, bound=more)
    assert_refused(whole, document, "fewest.bound must be", bound=more)
    twice = {"witnesses": part["witnesses"] * 2, "weights": part["weights"] * 2}
    assert_refused(whole, document, "outweighs its cost", bound=2 * int(part["bound"]), **twice)
    fewer = {"witnesses": [], "weights": []}
    assert_refused(whole, document, "fewest.bound must be 0", **fewer)


def test_what_is_allowed_is_what_the_settings_say(forged_task):
    """A bound over fewer starts or shorter walks is true, and not what the lesson asked for."""
    whole, document = forged_task
    starts = document["proof"]["fewest"]["starts"]
    for words, change in {
        "starts must be": {"starts": starts[:-1]},
        "horizon must be": {"horizon": 1},
        "min_probability must be": {"min_probability": "1/2"},
        "cost must be": {"cost": {"pairs": 1}},
        "member_cost must be": {"member_cost": [[0, "1"]]},
    }.items():
        proof = document["proof"]
        forged = {**document, "proof": {**proof, "fewest": {**proof["fewest"], **change}}}
        with pytest.raises(ProofError, match=words):
            check_proof(whole, forged)
    for change in ({"horizon": True}, {"starts": [True]}, {"bound": True}, {"starts": starts * 2}):
        name = next(iter(change))
        words = "starts must be" if change == {"starts": starts * 2} else f"fewest.{name}"
        assert_refused(whole, document, words, **change)
    for change in ({"weights": [True]}, {"witnesses": [[float("nan")] * 4]}, {"cost": "pairs"}):
        assert_refused(whole, document, f"fewest.{next(iter(change))}", **change)
    for cost in ({"free": 1}, {"pairs": 2}, {"pairs": 1, "attempts": 1}, {}):
        assert_refused(whole, document, "a start has no cost", cost=cost)
    assert_refused(whole, document, "fewest.cost.pairs must be a number", cost={"pairs": True})
    for key in document["proof"]["fewest"]:
        cut = {**document["proof"], "fewest": without(document["proof"]["fewest"], key)}
        with pytest.raises(ProofError, match=f"fewest.{key}"):
            check_proof(whole, {**document, "proof": cut})
    part = {**document["proof"], "claim": "open", "weights": [0] * 4, "row": [0, 0, 0]}
    with pytest.raises(ProofError):
        check_proof(whole, {**document, "proof": part})


def test_a_table_of_costs_has_every_start_once(forged_task):
    whole, document = forged_task
    starts = document["proof"]["fewest"]["starts"]
    table = {str(s): "1" for s in starts}
    settings = {**document["settings"], "cost": "given"}
    document = {**document, "settings": settings}
    proof = document["proof"]
    given = {**document, "proof": {**proof, "fewest": {**proof["fewest"], "cost": table}}}
    assert "cost table" in check_proof(whole, given)
    assert_refused(whole, document, "a start has no cost", cost=without(table, str(starts[0])))
    assert_refused(whole, document, "stands twice", member_cost=[[0, "1"], [0, "1"]])
    assert_refused(whole, document, "negative", cost={**table, str(starts[0]): "-1"})
    assert_refused(whole, document, "fewest.cost", cost={**table, str(starts[0]): True})
    assert_refused(whole, document, "fewest.cost", cost=[*table.items()])
    assert_refused(whole, document, "negative", min_probability="-1")
    dear = dict.fromkeys(table, "2")
    halves = dict.fromkeys(table, "3/2")
    assert_refused(whole, document, "fewest.bound must be", cost=halves, bound=7)
    line = check_proof(
        whole,
        {**given, "proof": {**proof, "fewest": {**proof["fewest"], "cost": dear}}, "cost": None},
    )
    assert "costs at least" in line
    assert "proved fewest" not in line


def test_a_member_of_a_family_counts_once():
    grids = [didact.make("random-grid", size=3, n_features=3, seed=s) for s in range(2)]
    weights = grids[0].true_weights
    family = didact.Family([didact.Task(g.mdp, weights, name=str(i)) for i, g in enumerate(grids)])
    lesson = didact.teach(family, teacher="exact", horizon=2, member_cost="2", arithmetic="exact")
    whole, document = documents(family, lesson)
    part = document["proof"]["fewest"]
    assert "proved" in check_proof(whole, document)
    first, second = part["starts"]
    assert_refused(whole, document, "stands twice", starts=[first, first])
    assert_refused(whole, document, "fewest.horizon", horizon=part["horizon"][:1])
    assert_refused(whole, document, "fewest.starts", starts=[[2, first[1]], second])
    assert_refused(whole, document, "horizon must be", horizon=[1, 2])
    forged = {**document["proof"], "fewest": {**part, "horizon": [1, 2]}}
    assert "at most 1 to 2 steps" in check_proof(whole, forged)
    assert_refused(whole, document, "fewest.cost must be a rule", cost={"0": "1"})
    twice = [*part["member_cost"], part["member_cost"][0]]
    assert_refused(whole, document, "stands twice", member_cost=twice)
    dearer = [[i, "9"] for i, _ in part["member_cost"]]
    assert_refused(whole, document, "must be", member_cost=dearer)
    assert_refused(whole, document, "outweighs its cost", member_cost=[], bound=part["bound"])


def ends(moves, rewarded, weights):
    """Deterministic states with two actions; the last ones end, and are worth unit vectors."""
    n, k = len(moves) + len(rewarded), len(weights)
    rows = [[s, a, t, 1] for s, after in enumerate(moves) for a, t in enumerate(after)]
    features = [[0] * k for _ in moves] + [[int(i == x) for i in range(k)] for x in rewarded]
    document = {
        "format": "didact.task/1",
        "name": "ends",
        "n_states": n,
        "n_actions": 2,
        "transitions": rows,
        "features": features,
        "weights": weights,
        "discount": "1/2",
        "terminal": list(range(len(moves), n)),
    }
    return task_from_document(json.loads(json.dumps(document)))


@pytest.fixture
def mix():
    """w2 > 0 and w1 > w2 are two comparisons; the part `fewest` is written by hand."""
    task = ends([(3, 5), (4, 5), (3, 4)], [0, 1, None], [2, 1])
    lesson = didact.teach_mixed(task, feedback=["comparisons"], arithmetic="exact")
    whole, document = documents(task, lesson)
    document["proof"]["fewest"] = {
        "witnesses": [[2, -1], [1, 2]],
        "weights": [1, 1],
        "bound": 2,
        "cost": {"comparisons": 1, "preferences": "1/2"},
        "starts": [],
        "horizon": 0,
        "min_probability": 0,
        "member_cost": [],
        "offered": [],
    }
    return whole, without(document, "lower_bound")


def test_bounds_of_mixes(mix):
    whole, document = mix
    part = document["proof"]["fewest"]
    line = check_proof(whole, document)
    assert "proved fewest: no lesson of allowed items (0 starts, at most 0 steps" in line
    assert "cost by kind, 0 other items) costs less than 2" in line
    cheap = {"kind": "preference", "better": [[1, 0]], "other": [[1, 1]]}
    assert_refused(whole, document, "outweighs its cost", offered=[cheap])
    assert_refused(whole, document, "has no cost", offered=[cheap], cost={"comparisons": 1})
    assert_refused(whole, document, "no kind of its own", offered=[[[0, 0]]])
    assert_refused(whole, document, "outweighs its cost", cost={"comparisons": "1/2"}, bound=1)
    assert_refused(whole, document, "outweighs", weights=[2, 1], bound=3)
    assert_refused(whole, document, "no wrong reward", witnesses=[[2, 1], [1, 2]])
    assert_refused(whole, document, "fewest.cost", cost="demonstrations")
    assert_refused(whole, document, "has no cost", starts=[0], horizon=1)
    dear = {**part, "cost": {"comparisons": 2}}
    shown = {**document, "proof": {**document["proof"], "fewest": dear}, "cost": 4}
    assert "costs at least 2" in check_proof(whole, shown)
    free = {
        **part,
        "cost": {"comparisons": 1, "demonstrations": "1/2"},
        "starts": [1],
        "horizon": 1,
    }
    assert_refused(whole, document, "outweighs its cost", **free)
    allowed = {**free, "cost": {"comparisons": 1, "demonstrations": 1}}
    shown = {**document, "proof": {**document["proof"], "fewest": allowed}}
    assert "(1 starts, at most 1 steps" in check_proof(whole, shown)


def test_items_that_are_not_allowed_prove_no_fewest(mix):
    """A preference that is not listed costs nothing that is known: only the bound is proved."""
    whole, document = mix
    proof = document["proof"]
    other = {"kind": "preference", "better": [[0, 0]], "other": [[0, 1]]}
    items = [*proof["items"], other]
    part = {**proof["fewest"], "cost": {"comparisons": 1, "preferences": 1}}
    for offered, words in (([], "costs at least 2"), ([other], "costs at least 2")):
        forged = {**proof, "items": items, "fewest": {**part, "offered": offered}}
        line = check_proof(whole, forged)
        assert words in line
        assert "proved fewest" not in line
    wrapped = {**document, "items": items, "proof": forged}
    assert "costs at least 2" in check_proof(whole, {**wrapped, "cost": 3})
    with pytest.raises(ProofError, match="cost must be 3"):
        check_proof(whole, {**wrapped, "cost": 2})


@pytest.fixture
def closed_exam():
    """State 1 is asked only because it follows state 0: one witness, and a flow, prove both."""
    task = ends([(1, 3), (2, 2)], [0, None], [1])
    whole, exam = as_read(task_document(task)), as_read(didact.exam(task, ask="actions").document())
    assert [x["state"] for x in exam["questions"]] == [0, 1]
    part = {"witnesses": [[-1]], "weights": [2], "flows": [[0, 1, 1]]}
    exam["proof"]["fewest"] = part
    return whole, {**exam, "lower_bound": 2}


def test_flows_bound_closed_exams(closed_exam):
    whole, exam = closed_exam
    assert "proved fewest: no such exam has fewer than 2" in check_proof(whole, exam)
    for change, words in (
        ({"flows": []}, "outweighs its cost"),
        ({"flows": [[0, 1, "1/2"]]}, "outweighs its cost"),
        ({"flows": [[0, 1, 2]]}, "outweighs its cost"),
        ({"flows": [[1, 0, 1]]}, "does not follow"),
        ({"flows": [[0, 3, 1]]}, "does not follow"),
        ({"flows": [[1, 2, 1]]}, "does not follow"),
        ({"flows": [[0, 0, 1]]}, "does not follow"),
        ({"flows": [[0, 1, -1]]}, "does not follow"),
        ({"flows": [[0, True, 1]]}, "fewest.flows"),
        ({"flows": [[0, 1]]}, "fewest.flows"),
        ({"weights": [3]}, "outweighs its cost"),
        ({"weights": [-2]}, "weight is missing or negative"),
        ({"weights": []}, "weight is missing"),
        ({"witnesses": [[1]]}, "no wrong reward"),
        ({"weights": ["1/2"]}, "lower_bound must be 1"),
    ):
        forged = {**exam["proof"], "fewest": {**exam["proof"]["fewest"], **change}}
        with pytest.raises(ProofError, match=words):
            check_proof(whole, {**exam, "proof": forged})
    half = {**exam["proof"], "fewest": {**exam["proof"]["fewest"], "weights": ["1/2"]}}
    line = check_proof(whole, {**exam, "proof": half, "lower_bound": 1})
    assert "every such exam has at least 1" in line
    assert "fewest" not in line
    for wrong in (1, 3, "2", True, None):
        with pytest.raises(ProofError, match="lower_bound"):
            check_proof(whole, {**exam, "lower_bound": wrong})


def test_every_step_of_an_allowed_walk_is_searched():
    """(-1, -2) is excluded in state 0 and (1, 2) in state 1, which follows half of the time."""
    task = ends([(1, 4), (2, 3)], [0, 1, None], [2, 1])
    whole = as_read(task_document(task))
    whole["transitions"][:1] = [[0, 0, 1, "1/2"], [0, 0, 4, "1/2"]]
    from didact.mdp.files import task_from_document

    lesson = didact.teach(task_from_document(copy.deepcopy(whole)), arithmetic="exact")
    proof = as_read(lesson.proof)
    part = {"witnesses": [[-1, -2], [1, 2]], "starts": [0], "horizon": 2, "member_cost": []}

    def says(weights, cost, horizon=2, least=0, starts=(0,), fixed=()):
        total = -sum(map(Fraction, weights))
        total = total if cost == "attempts" else total // 1
        cost = {cost: 1} if isinstance(cost, str) else cost
        own = {"weights": weights, "cost": cost, "bound": str(-total), "horizon": horizon}
        own |= {"min_probability": least, "starts": list(starts), "member_cost": list(fixed)}
        try:
            return check_proof(whole, {**proof, "fewest": {**part, **own}})
        except ProofError as error:
            return str(error)

    outweighs = "fewest: member 0 outweighs its cost"
    assert says(["1", "1"], "demonstrations") == outweighs
    assert says(["1", "1"], "demonstrations", horizon=3) == outweighs
    assert "at most 1 steps" in says(["1", "1"], "demonstrations", horizon=1)
    assert says(["2", "0"], "demonstrations", horizon=1) == outweighs
    assert says(["1", "1"], "demonstrations", starts=(0, 1)) == outweighs
    assert "costs less than 1" in says(["1/2", "1/2"], "demonstrations", starts=(0, 1))
    assert says(["1/2", "3/2"], "demonstrations", starts=(1,)) == outweighs
    assert "2 starts, at most 2 steps, probability at least 0, cost pairs" in says(
        ["1", "1"], "pairs", starts=(0, 1)
    )
    assert says(["2", "0"], "pairs") == outweighs
    assert says(["1", "3/2"], "pairs", horizon=5) == outweighs
    assert says(["1", "3/2"], "pairs", starts=(1,)) == outweighs
    assert "cost attempts) costs" in says(["1", "1"], "attempts").replace(" at least", "")
    assert says(["1", "5/4"], "attempts") == outweighs
    assert says(["5/4", "0"], "attempts") == outweighs
    assert says(["1", "1"], "demonstrations", least="1/2") == outweighs
    assert "probability at least 2/3" in says(["1", "1"], "demonstrations", least="2/3")
    table = {"0": 1, "1": "1/2"}
    assert says(["1/2", "1/2"], table, starts=(0, 1)).startswith("proved")
    assert says(["1/4", "3/4"], table, starts=(0, 1)) == outweighs
    assert says(["3/4", "1/2"], table, starts=(0, 1)) == outweighs
    both = "stands twice, or a start has no cost or scope"
    assert both in says(["1", "0"], "demonstrations", starts=(2,))
    # A walk from 0 to 1 dominates its parts: only its excess of 2 is paid by the fixed cost.
    given = {"cost": "demonstrations", "starts": (0, 1)}
    assert "costs less than 3" in says(["3/2", "3/2"], **given, fixed=[[0, 2]])
    over = "fewest: member 0 outweighs its fixed cost"
    assert says(["3/2", "3/2"], **given, fixed=[[0, 1]]) == over
    assert says(["2", "2"], **given, fixed=[[0, 2]]) == over


def test_the_cheapest_way_to_exclude_counts(mix):
    """A preference excludes what a comparison does, for half the cost."""
    whole, document = mix
    cheap = {"kind": "preference", "better": [[1, 0]], "other": [[1, 1]]}
    change = {"offered": [cheap], "member_cost": [[0, "1/2"]], "bound": "5/2"}
    words = "outweighs its fixed cost"
    assert_refused(whole, document, words, **change, weights=["5/4", 1])
    part = {**document["proof"]["fewest"], **change, "weights": [1, 1], "bound": 2}
    line = check_proof(whole, {**document["proof"], "fewest": part})
    assert "costs at least 2" in line
    nothing = {"kind": "preference", "better": [[0, 1]], "other": [[0, 1]]}
    part = {**document["proof"]["fewest"], "offered": [nothing]}
    assert "1 other items) costs less" in check_proof(whole, {**document["proof"], "fewest": part})


def test_exams_of_actions_decide_without_a_bound(closed_exam):
    whole, document = closed_exam
    line = check_proof(whole, {**document, "proof": without(document["proof"], "fewest")})
    assert "decide" in line
    assert "at least" not in line
    assert "proved fewest" not in line
    unchecked = line.split("; not checked: ")[1].split(", ")
    assert "lower_bound" in unchecked
    assert not {"ask", "questions", "closed", "open"} & {*unchecked}


def test_an_item_excludes_what_any_of_its_rows_excludes(mix):
    whole, document = mix
    ranking = {"kind": "ranking", "ways": [[[1, 0]], [[1, 1]], [[1, 1]]]}
    prices = {"comparisons": 1, "rankings": "1/2"}
    assert_refused(whole, document, "outweighs its cost", offered=[ranking], cost=prices)


def test_a_bound_is_of_what_teaches():
    task = didact.make("random-grid", size=4, n_features=4, seed=2)
    whole, taught = documents(task, didact.teach(task, teacher="exact", arithmetic="exact"))
    _, less = documents(task, didact.teach(task, budget=1, horizon=1, arithmetic="exact"))
    assert less["proof"]["claim"] == "open"
    forged = {**less["proof"], "fewest": taught["proof"]["fewest"]}
    with pytest.raises(ProofError, match="fewest must be of what teaches"):
        check_proof(whole, forged)


def family_of(n, teach=didact.teach, **how):
    tasks = [
        didact.make("random-grid", size=3, n_features=3, seed=s, weights_seed=0) for s in range(n)
    ]
    family = didact.Family(tasks)
    lesson = teach(family, arithmetic="exact", **how)
    return lesson, *documents(family, lesson)


def test_a_proof_tells_the_least_and_the_largest_horizon():
    _, whole, document = family_of(3, teacher="exact", horizon=3)
    part = {**document["proof"]["fewest"], "horizon": [1, 2, 3]}
    line = check_proof(whole, {**document["proof"], "fewest": part})
    assert "at most 1 to 3 steps" in line
    assert "at most 3 steps" in check_proof(whole, document)


def test_mixes_of_families_with_fixed_costs_are_bounded():
    kinds = ["demonstrations", "comparisons"]
    how = {"feedback": kinds, "horizon": 2, "member_cost": "1"}
    lesson, whole, document = family_of(2, didact.teach_mixed, **how)
    assert "lesson of allowed items" in check_proof(whole, document)
    assert lesson.lower_bound <= lesson.cost


def hand_written(tasks, **part):
    """A family of two features, its lesson of comparisons, and a bound written by hand."""
    family = didact.Family(tasks)
    lesson = didact.teach_mixed(
        family, feedback=["comparisons"], member_cost="1/2", arithmetic="exact"
    )
    whole, document = documents(family, lesson)
    bound = {"member_cost": [[i, "1/2"] for i in range(len(tasks))], "min_probability": 0}
    bound |= {"witnesses": [[-1, -2], [1, 2]], "cost": {"comparisons": 1}, "offered": []}
    return whole, {**document["proof"], "fewest": {**bound, "starts": [], "horizon": [], **part}}


def test_fixed_costs_pay_for_no_more_than_they_are():
    """A walk that excludes less weight than it costs leaves nothing over for the comparisons."""
    task = ends([(1, 4), (2, 3)], [0, 1, None], [2, 1])
    walks = {"cost": {"comparisons": 1, "demonstrations": 3}, "starts": [[0, [0]]], "horizon": [2]}
    whole, proof = hand_written([task], weights=["5/4", "5/4"], bound="5/2", **walks)
    assert "costs less than 5/2" in check_proof(whole, proof)
    whole, proof = hand_written([task], weights=["11/8", "11/8"], bound="3", **walks)
    with pytest.raises(ProofError, match="outweighs its fixed cost"):
        check_proof(whole, proof)


def test_a_member_pays_for_its_own_items_only():
    tasks = [ends([(1, 2)], [0, None], [2, 1]), ends([(1, 2)], [0, 1], [2, 1])]
    whole, proof = hand_written(tasks, weights=["3/2", "3/2"], bound="3")
    assert "costs less than 3" in check_proof(whole, proof)


def test_what_is_shown_must_be_allowed_to_be_the_fewest(forged_task):
    """The bound of fewer starts is true; that the lesson is one of them is not."""
    whole, document = forged_task
    proof = document["proof"]
    assert "proved fewest" in check_proof(whole, proof)
    begun = proof["demonstrations"][0][0][0]
    starts = [s for s in proof["fewest"]["starts"] if s != begun]
    line = check_proof(whole, {**proof, "fewest": {**proof["fewest"], "starts": starts}})
    assert "proved fewest" not in line
    assert "costs at least" in line


def test_a_walk_of_exactly_the_least_probability_is_allowed():
    """Only the walk through state 1, of probability 1/4, shows what state 2 is for."""
    rows = [[0, a, t, p] for a in (0, 1) for t, p in ((1, "1/4"), (2, "3/4"))]
    rows += [[1, 0, 3, 1], [1, 1, 2, 1]]
    document = {
        **{"format": "didact.task/1", "name": "quarter", "n_states": 4, "n_actions": 2},
        **{"transitions": rows, "features": [[0], [0], [0], [1]], "weights": [1]},
        **{"discount": "1/2", "start": [[0, 1]], "terminal": [2, 3]},
    }
    from didact.mdp.files import task_from_document

    task = task_from_document(json.loads(json.dumps(document)))
    for least, is_taught in (("1/4", True), ("0.26", False)):
        lesson = didact.teach(
            task, teacher="exact", min_probability=least, horizon=2, arithmetic="exact"
        )
        assert (lesson.is_complete, lesson.is_fewest) == (is_taught, is_taught)


def test_an_item_with_a_price_must_be_offered_to_be_the_fewest(mix):
    whole, document = mix
    item = {"kind": "preference", "better": [[1, 0]], "other": [[1, 1]]}
    shown = [item if x["state"] == 1 else x for x in document["proof"]["items"]]
    part = {**document["proof"]["fewest"], "cost": {"comparisons": 1, "preferences": 1}}
    assert item in shown
    proof = {**document["proof"], "items": shown}
    line = check_proof(whole, {**proof, "fewest": part})
    assert "proved fewest" not in line
    line = check_proof(whole, {**proof, "fewest": {**part, "offered": [item]}})
    assert "proved fewest" in line


def unchecked(line):
    return line.split("; not checked: ")[1].split(", ")


def test_what_a_lesson_says_of_its_facets_is_checked(forged_task):
    whole, document = forged_task
    told = unchecked(check_proof(whole, document))
    assert not {"n_facets", "n_equalities"} & {*told}
    assert "facets" in told  # their words are not
    facet = document["facets"][0]
    for change in (
        {"normal": [str(-int(x)) for x in facet["normal"]]},
        {"equality": not facet["equality"]},
        {"statement": [facet["statement"][0], *facet["statement"][:0:-1]]},
    ):
        forged = [{**facet, **change}, *document["facets"][1:]]
        with pytest.raises(ProofError, match="facets"):
            check_proof(whole, {**document, "facets": forged})
    with pytest.raises(ProofError, match="n_facets"):
        check_proof(whole, {**document, "n_facets": document["n_facets"] + 1})
    with pytest.raises(ProofError, match="n_facets must be 0"):  # where none is listed
        check_proof(whole, without(document, "facets"))


def test_what_is_not_checked_is_named(forged_task):
    whole, document = forged_task
    told = unchecked(check_proof(whole, {**document, "remark": "best of all"}))
    assert {"gains", "guarantee", "remark", "settings.seed", "settings.teacher"} <= {*told}
    assert "settings.rollouts" not in told  # null says nothing
    assert not {f"settings.{x}" for x in ("scope", "horizon", "cost", "min_probability")} & {*told}
    assert not {"cost", "lower_bound", "probabilities", "hardest", "task"} & {*told}
    false = {"task": "another", "probabilities": ["1/2"], "hardest": 7, "n_close_calls": 1}
    for key, value in false.items():
        with pytest.raises(ProofError, match=key):
            check_proof(whole, {**document, key: value})


def test_what_a_mix_says_of_itself_is_checked(mix):
    whole, document = mix
    assert not {"uncovered", "n_pairs", "closed"} & {*unchecked(check_proof(whole, document))}
    false = {"uncovered": ["nothing is known"], "n_pairs": 1000, "closed": True}
    for key, value in false.items():
        with pytest.raises(ProofError, match=key):
            check_proof(whole, {**document, key: value})


def test_an_open_lesson_may_leave_its_witness_out():
    task = didact.make("random-grid", size=4, n_features=4, seed=2)
    whole, document = documents(task, didact.teach(task, budget=1, horizon=1, arithmetic="exact"))
    assert document["witness"] is not None
    assert max(abs(Fraction(x)) for x in document["proof"]["weights"]) > 1
    assert "proved open" in check_proof(whole, document)
    assert "proved open" in check_proof(whole, {**document, "witness": None})
    with pytest.raises(ProofError, match="witness"):
        check_proof(whole, {**document, "witness": [1] * len(document["witness"])})


def test_horizons_of_settings_are_those_of_the_bound():
    task = didact.make("six-cell")
    whole, document = documents(
        task, didact.teach(task, teacher="exact", horizon=500, arithmetic="exact")
    )
    assert "at most 500 steps" in check_proof(whole, document)
    _, whole, document = family_of(2, teacher="exact", horizon=1)
    nothing = {"witnesses": [], "weights": [], "bound": 0}  # true of every horizon
    longer = {**document["proof"]["fewest"], **nothing, "horizon": [1, 2]}
    with pytest.raises(ProofError, match="horizon must be"):
        check_proof(
            whole,
            {**document, "lower_bound": 0, "proof": {**document["proof"], "fewest": longer}},
        )


def test_the_cost_of_what_is_not_allowed_is_not_checked():
    task = didact.make("random-grid", size=6, n_features=5, slip="1/10", seed=1)
    lesson = didact.teach(task, teacher="exact", horizon=6, arithmetic="exact")
    assert min(lesson.probabilities) < 1
    whole, document = documents(task, lesson)
    part = {**document["proof"]["fewest"], "min_probability": 1}
    forged = {**document, "settings": {**document["settings"], "min_probability": 1}}
    line = check_proof(whole, {**forged, "proof": {**document["proof"], "fewest": part}})
    assert "proved fewest" not in line
    assert "cost" in unchecked(line)
    assert "cost" not in unchecked(check_proof(whole, document))


def test_an_empty_demonstration_shows_nothing_and_is_not_allowed(forged_task):
    whole, document = forged_task
    shown = [*document["demonstrations"], []]
    settings = {**document["settings"], "starts": document["proof"]["fewest"]["starts"]}
    longer = {"demonstrations": shown, "n_demonstrations": len(shown), "settings": settings}
    longer["probabilities"] = [*document["probabilities"], 1]
    proof = {**document["proof"], "demonstrations": shown}
    line = check_proof(whole, {**document, **longer, "proof": proof})
    assert "proved fewest" not in line
    assert "cost" in unchecked(line)
