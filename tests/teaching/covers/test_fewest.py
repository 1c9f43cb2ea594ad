"""The bound on the cost of every lesson: brute force in fractions, golden values, forgeries.

The oracle shares no code with the package: it lists policies, walks and subsets.
"""

import copy
import json
import random
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest

import didact
from didact.mdp.family_files import family_document
from didact.mdp.files import task_document
from didact.proofcheck import ProofError, check_proof
from tests.effort import chunks, number
from tests.oracles import solve_linear

PER_CHUNK = 40


def dot(left, right):
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


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

    def task(self, weights):
        rows = [
            [s, a, t, str(p)]
            for s in range(self.n)
            for a in range(self.m)
            for t, p in self.moves[s][a].items()
        ]
        document = {
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
        from didact.mdp.files import task_from_document

        return task_from_document(json.loads(json.dumps(document)))

    def sums(self, policy):
        """mu(s) of the policy that takes each listed action equally often."""
        k = len(self.features[0])
        matrix, side = [], []
        for s in range(self.n):
            row = [Fraction(int(s == t)) for t in range(self.n)]
            for a in policy[s] if s not in self.terminal else ():
                for t, p in self.moves[s][a].items():
                    row[t] -= self.discount * p / len(policy[s])
            matrix.append(row)
            side.append(list(self.features[s]))
        return solve_linear(matrix, side), k

    def after(self, mu, s, a):
        return [
            f
            + self.discount * sum((p * mu[t][i] for t, p in self.moves[s][a].items()), Fraction(0))
            for i, f in enumerate(self.features[s])
        ]

    def optimal(self, weights):
        best = None
        for policy in product(range(self.m), repeat=self.n):
            mu, _ = self.sums([[a] for a in policy])
            values = [dot(weights, row) for row in mu]
            if best is None or all(v >= b for v, b in zip(values, best[0], strict=True)):
                best = values, mu
        values = best[0]
        found = []
        for s in range(self.n):
            q = [
                dot(weights, self.features[s])
                + self.discount
                * sum((p * values[t] for t, p in self.moves[s][a].items()), Fraction(0))
                for a in range(self.m)
            ]
            found.append(
                [a for a in range(self.m) if q[a] == max(q)] if s not in self.terminal else []
            )
        return found

    def reached(self):
        found, new = set(self.starts), set(self.starts)
        while new:
            new = {t for s in new for a in range(self.m) for t in self.moves[s][a]} - found
            found |= new
        return [s for s in sorted(found) if s not in self.terminal]

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
    """Caratheodory: some at most k independent rows combine to the target."""
    if not any(target):
        return True
    k = len(target)
    for size in range(1, k + 1):
        for chosen in combinations(rows, size):
            for axes in combinations(range(k), size):
                try:
                    found = solve_linear(
                        [[r[i] for r in chosen] for i in axes], [[target[i]] for i in axes]
                    )
                except (ZeroDivisionError, StopIteration, ValueError, IndexError):
                    continue
                shares = [x for (x,) in found]
                if min(shares) >= 0 and all(
                    dot(shares, [r[i] for r in chosen]) == target[i] for i in range(k)
                ):
                    return True
    return False


def brute_force(models, weights, horizon, least, price, fixed, comparison=None):
    """The least cost of a lesson that teaches; None where none does, False with too many walks.

    comparison: what a comparison of an optimal action with another costs, where there are any.
    """
    rows_of, everything, walks = {}, set(), {}
    for i, model in enumerate(models):
        optimal = model.optimal(weights)
        mu, _ = model.sums([x or [0] for x in optimal])
        for s in model.reached():
            for a in optimal[s]:
                left = model.after(mu, s, a)
                rows = [
                    tuple(x - y for x, y in zip(left, model.after(mu, s, b), strict=True))
                    for b in range(model.m)
                ]
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
    best, known = None, {}
    for size in range(len(kept) + 1):
        for chosen in combinations(kept, size):
            cost = sum((walks[x] for x in chosen), Fraction(0)) + sum(
                (fixed for _ in {i for i, _ in chosen}), Fraction(0)
            )
            if best is not None and cost >= best:
                continue
            said = frozenset().union(*(rows for _, rows in chosen))
            if said not in known:
                known[said] = all(in_cone(r, sorted(said)) for r in everything - said)
            if known[said]:
                best = cost
    return best


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
        lesson = didact.teach(
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
    optimal = model.optimal(weights)
    mu, _ = model.sums([x or [0] for x in optimal])
    rows = [
        (s, b in optimal[s], model.after(mu, s, a), model.after(mu, s, b))
        for s in model.reached()
        for a in optimal[s]
        for b in range(model.m)
        if b != a
    ]
    rows = [(s, tie, [x - y for x, y in zip(p, q, strict=True)]) for s, tie, p, q in rows]
    return rows, optimal


@pytest.mark.parametrize("chunk", chunks(1, 10))
def test_bounds_on_exams_agree_with_brute_force(chunk):
    """Closed sets of states: each that decides has at least as many as the bound."""
    seen = met = 0
    for seed in range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK):
        (model, *_), weights, *_ = small_case(f"exam {seed}")
        rows, optimal = wrong_rewards(model, weights)
        exam = didact.exam(model.task(weights), ask="actions", arithmetic="exact")
        states = model.reached()
        for size in range(len(states) + 1):
            sets = [
                chosen for chosen in combinations(states, size) if is_closed(model, optimal, chosen)
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
        part["cost"] = draw.choice(["pairs", "attempts", [[s, "3"] for s in range(n_states)]])
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
