"""An independent check of a lesson's proof: `python -m didact.proofcheck task.json lesson.json`.

The task may be a family, `didact.family/1`; the lesson may mix demonstrations with comparisons,
preferences and the like, or be an exam, `didact.exam/1`. Every step substitutes or searches, none
solves or rounds. mu(s) are the counts of the policy uniform over its optimal actions, mu(s, a) =
phi(s, a) + discount * E[mu(next)], rows are mu(s, a) - mu(s, b). A trajectory counts its phi(s, a)
discounted, and where it surely ends the terminal state once. What a file says beside its proof is
recomputed, or named as not checked.
Exit code 0: proved. 1: the step named is false. 2: a file cannot be read, or the task is wrong, or
the check itself could not be finished; so 1 is never said of a proof that was not refuted.
"""

import json
import os
import re
import reprlib
import select
import stat
import sys
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, reduce
from itertools import pairwise
from math import gcd, lcm, prod
from operator import mul, or_, sub
from pathlib import Path
from typing import Any

MAX_SIZE, MAX_BYTES, ROUNDING = 10**6, 4 * 10**8, Fraction(1, 10**9)
MAX_DIGITS, PLAIN_DIGITS = 2 * 10**5, 600  # of one number; that int() takes whatever its limit
NUMBER = re.compile(r"[+-]?(?=\.?\d)\d*(\.\d*)?([eE][+-]?\d{1,3})?(/0*[1-9]\d*)?", re.ASCII)
AT_ONCE, PATIENCE = getattr(os, "O_NONBLOCK", 0), 10  # opening waits for nobody; seconds
STATUS = {"teaches": "complete", "open": "partial"}
KINDS: Any = {  # the sides of an item and their patterns, in a model of n states and m actions
    "comparison": (("state", "better", "other"), lambda n, m: (n, m, m)),
    "preference": (("better", "other"), lambda n, m: ([(n, m)], [(n, m)])),
    "correction": (("better", "other"), lambda n, m: ([(n, m)], [(n, m)])),
    "ranking": (("ways",), lambda n, m: ([[(n, m)]],)),
    "stop": (("way", "after"), lambda n, m: ([(n, m)], MAX_SIZE)),
}
STRICT: Any = {
    "object_pairs_hook": lambda x: dict(x) if len(dict(x)) == len(x) else {},
    "parse_int": lambda x: int(x) if len(x) <= PLAIN_DIGITS else x,
    "parse_float": str,
}


class ProofError(Exception):
    """The first step that is false or missing; caused by another error if a file is to blame."""


def need(truth: object, step: str, *values: object) -> None:
    """Stop at the first step that is not true; its words are only made then."""
    if not truth:
        raise ProofError(step.format(*map(show, values)) if values else step)


def show(value: object) -> str:
    """Any value in a few characters; numbers too long to read by their length."""
    if isinstance(value, int | Fraction):
        size = max(abs(value.numerator), value.denominator).bit_length()
        return str(value) if size < 170 else f"a number of about {size * 3 // 10} digits"
    try:
        return reprlib.repr(value)[:200]
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} of long numbers"


def content(path: Any) -> bytes:
    """The bytes of a file or pipe, neither a device nor endless, nor one that nobody writes to."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | AT_ONCE)) as file:
        need(not stat.S_ISCHR(os.fstat(file.fileno()).st_mode), "it is a device")
        need(select.select([file], [], [], PATIENCE)[0], "nobody writes to this pipe")
        os.set_blocking(file.fileno(), True)
        data = file.read(MAX_BYTES + 1)
    need(len(data) <= MAX_BYTES, f"it has more than {MAX_BYTES} bytes")
    return data


def load(source: Any, *formats: str, then: Any = dict) -> Any:
    """What a JSON object in one of the formats says; its decimals stay text."""
    try:
        text = json.dumps(source) if isinstance(source, dict) else content(source).decode()
        document = dict(json.loads(text, **STRICT))
        need(document.get("format") in formats, "it has another format, or repeats a key")
        return then(document)
    except (OSError, TypeError, ValueError, RecursionError, ProofError) as error:
        raise ProofError(f"cannot read a {' or '.join(formats)} file: {error!s:.400}") from error


@lru_cache
def number(text: str) -> Fraction | None:
    """The exact value of 1, 0.1, 2e-3 or 9/10; None for any other text and for too many digits."""
    if NUMBER.fullmatch(text) is None or max(map(len, re.findall(r"\d+", text))) > MAX_DIGITS:
        return None
    above, _, below = text.partition("/")
    return Fraction(Decimal(above)) / Fraction(Decimal(below or 1))  # int() refuses long texts


def read(value: Any, pattern: Any, place: str) -> Any:
    """The value if it has the pattern: n, a whole number below n; Fraction, a number as 1, 0.1 or
    "9/10", read exactly; (p, q), a list of a p and a q; [p], a list of any number of p; {key: p},
    what an object says of its keys, as a list; None, anything."""
    wanted = f"a number of at most {MAX_DIGITS} digits"
    if isinstance(pattern, int | dict):
        wanted = f"a whole number below {pattern}" if type(pattern) is int else "an object"
    if isinstance(pattern, list | tuple):
        patterns = pattern * len(value) if type(pattern) is type(value) is list else pattern
        wanted = f"a list of {len(patterns)}" if type(pattern) is tuple else "a list"
        if type(value) is list and len(value) == len(patterns):
            return [read(value[i], p, f"{place}[{i}]") for i, p in enumerate(patterns)]
    elif type(pattern) is type(value) is dict:
        return [read(value.get(key), p, f"{place}.{key}") for key, p in pattern.items()]
    elif pattern is Fraction and type(value) in (int, str):
        if (exact := number(str(value).strip())) is not None:
            return exact
    elif pattern is None or (type(value) is type(pattern) is int and 0 <= value < pattern):
        return value
    raise ProofError(f"{place} must be {wanted}, not {show(value)}")


def primitive(row: Any) -> tuple[Fraction, tuple[int, ...]]:
    """A row as a positive size, or 0, times a direction of coprime integers."""
    common, unit = gcd(*(x.numerator for x in row)), lcm(*(x.denominator for x in row))
    direction = (x.numerator // (common or 1) * (unit // x.denominator) for x in row)
    return Fraction(common, unit), tuple(direction)


def dot(left: Any, right: Any) -> Any:
    """The sum of the products of two rows."""
    return sum(map(mul, left, right))


def in_common(rows: list[list[Fraction]]) -> tuple[int, list[Any]]:
    """A unit and the rows in it, as whole numbers, for speed; or 1 where it is much longer."""
    denominators = {x.denominator for row in rows for x in row}
    unit, most = 1, 8 * max(map(int.bit_length, denominators), default=0) + 10**4
    for denominator in denominators:
        unit = lcm(unit, denominator)
        if unit.bit_length() > most:
            return 1, rows
    return unit, [[x.numerator * (unit // x.denominator) for x in row] for row in rows]


class Check:
    """A task, then step by step what a proof says of it."""

    def __init__(self, file: dict[str, Any]) -> None:
        n, m = (read(file.get(key), MAX_SIZE, key) for key in ("n_states", "n_actions"))
        self.weights = read(file.get("weights"), [Fraction], "weights")
        self.n, self.m, self.k = n, m, (Fraction,) * len(self.weights)
        by_action = reprlib.repr(file.get("features")).startswith("[[[")
        phi = read(file.get("features"), ((self.k,) * m if by_action else self.k,) * n, "features")
        self.discount = read(file.get("discount"), Fraction, "discount")
        need(0 <= self.discount < 1, "discount must be in [0, 1), not {}", self.discount)
        ended = file.get("terminal")
        terminal = {*read([] if ended is None else ended, [n], "terminal")}
        self.live = [s for s in range(n) if s not in terminal]
        uniform = [[s, f"1/{len(self.live)}"] for s in self.live]
        start = uniform if file.get("start") in (None, "uniform") else file["start"]
        rows = read(file.get("transitions"), [(n, m, n, Fraction)], "transitions")
        rows += [[n, 0, *pair] for pair in read(start, [(n, Fraction)], "start")]
        self.chances: Any = defaultdict(lambda: defaultdict(Fraction))
        for s, a, t, p in rows:  # state n stands for the start
            need(s not in terminal and p >= 0, "{}: {} is terminal or {} < 0", [s, a, t], s, p)
            self.chances[s, a][t] += p
        for (s, a), chances in self.chances.items():
            mass, place = sum(chances.values()), f"transitions[{s}, {a}]" if s < n else "start"
            need(abs(mass - 1) <= ROUNDING, f"{place} must sum to 1, not {{}}", mass)
            self.chances[s, a] = {t: p / mass for t, p in chances.items() if p}
        need(m and len(self.chances) == len(self.live) * m + 1, "transitions or start are missing")
        need(self.chances[n, 0].keys() - terminal, "start lies in terminal states only")
        self.features = phi if by_action else [[x] * m for x in phi]
        same = all(x == self.features[s][0] for s in terminal for x in self.features[s])
        need(same, "features of a terminal state must not depend on the action")

    def policy(self, proof: dict[str, Any], at: str) -> None:
        """1. mu(s) is the mean of mu(s, a) over the listed actions, or phi(s) in a terminal state;
        2. these are all actions of largest weights.mu(s, a). Only the optimal policy has both."""
        self.optimal = read(proof.get("optimal"), ([self.m],) * self.n, f"{at}optimal")
        counts = read(proof.get("counts"), (self.k,) * self.n, f"{at}counts")
        pairs = [(s, a) for s in self.live for a in range(self.m)]
        shares = [[self.discount * p for p in self.chances[pair].values()] for pair in pairs]
        step, shares = in_common(shares)
        unit, scaled = in_common([*counts, *(phi for state in self.features for phi in state)])
        self.unit, paid = unit * step, iter(scaled[self.n :])
        self.table = [[[x * step for x in next(paid)] for _ in state] for state in self.features]
        for (s, a), row in zip(pairs, shares, strict=True):
            mu = self.table[s][a]
            for t, share in zip(self.chances[s, a], row, strict=True):
                mu[:] = [x + share * y for x, y in zip(mu, scaled[t], strict=True)]
        size, (weights,) = in_common([self.weights])
        for s, listed in enumerate(self.optimal):
            rows = [self.table[s][a] for a in listed or [0]]
            for i, (x, *column) in enumerate(zip(counts[s], *rows, strict=True)):
                mean = Fraction(sum(column), len(rows) * self.unit)
                said = f"{at}counts[{s}][{i}]: the Bellman equation gives {{}}, the proof says {{}}"
                need(mean == x, said, mean, x)
        for s, listed in enumerate(self.optimal):
            values = [dot(weights, mu) for mu in self.table[s]]
            best = [a for a, x in enumerate(values) if x == max(values) and (s, a) in self.chances]
            said, worth = f"{at}optimal[{s}] must be {{}}, worth {{}}, not {{}}", max(values)
            need(listed == best, said, best, Fraction(worth, size * self.unit), listed)

    def reach(self, scope: str) -> None:
        """Scope 'reachable' is what the start can lead to under any policy; else all states."""
        found = {self.n} if scope == "reachable" else {*self.live}
        new = {*found}
        while new:
            new = {t for s in new for a in range(self.m) for t in self.chances[s, a]} - found
            found |= new
        self.reached, self.scope = found, [s for s in self.live if s in found]

    def row(self, s: int, a: int, b: int) -> tuple[Fraction, tuple[int, ...]]:
        """mu(s, a) - mu(s, b), its size and its direction."""
        size, direction = primitive(list(map(sub, self.table[s][a], self.table[s][b])))
        return size / self.unit, direction

    def walk(self, way: Any, place: str, skip: int = 0) -> tuple[list[int], list[Fraction]]:
        """Where a trajectory that can happen may end, and what it counts after so many steps."""
        need(way, f"{place} shows no step")
        total, weight, after = [Fraction(0)] * len(self.k), Fraction(1), dict[int, Fraction]()
        for j, (s, a) in enumerate(way):
            fits = self.chances[s, a] and (s in after or j == 0)
            need(fits, f"{place}: step {j}, {[s, a]}, cannot come next")
            paid, after = [(weight, self.features[s][a])] * (j >= skip), self.chances[s, a]
            weight *= self.discount
            if j + 1 == len(way) and self.ended(after):
                paid += [(weight * p, self.features[t][0]) for t, p in after.items()]
            for share, phi in paid:
                total = [x + share * y for x, y in zip(total, phi, strict=True)]
        return sorted(after), total

    def ended(self, states: Any) -> bool:
        """Whether all of the states are terminal."""
        return not any(self.chances[s, 0] for s in states)

    def probability(self, way: Any) -> Fraction:
        """Of the moves of a trajectory, given its start and its actions."""
        return prod((self.chances[s, a][t] for (s, a), (t, _) in pairwise(way)), start=Fraction(1))

    def closed(self, pairs: set[tuple[int, int]]) -> bool:
        """Whether all optimal actions of every state shown and of all that may follow are shown."""
        after = {(t, b) for pair in pairs for t in self.chances[pair] for b in self.optimal[t]}
        return after | {(s, b) for s, _ in pairs for b in self.optimal[s]} <= pairs


class Claim:
    """What a proof says of a task, or of a family, whose states and pairs have the member first."""

    def __init__(self, members: list[Check], name: str, proof: dict[str, Any]) -> None:
        self.members, self.title, self.name, self.proof = members, name, show(name), proof
        self.family = proof["format"] == "didact.proof/2"
        self.k, self.weights = members[0].k, members[0].weights
        listed: Any = proof.get("members") if self.family else [proof]
        read(listed, ({},) * len(members), "members")
        self.claimed: Any = proof.get("scope")
        need(self.claimed in ("reachable", "all"), "scope must be 'reachable' or 'all'")
        for i, (check, policy) in enumerate(zip(members, listed, strict=True)):
            check.policy(policy, f"members[{i}]." if self.family else "")
            check.reach(str(self.claimed))
        self.mixed = "items" in proof
        self.listed: list[tuple[int, str, Any]] = []  # member, kind and what is shown, in order
        what, says = ("items", self.item) if self.mixed else ("demonstrations", self.demonstration)
        listed = read(proof.get(what), [None], what)
        self.said: list[Any] = [says(x, f"{what}[{j}]") for j, x in enumerate(listed)]
        self.shown = [(i, x) for i, kind, x in self.listed if kind == "demonstration"]
        self.pairs = {(i, s, a) for i, x in self.shown for s, a in x}

    def of_member(self, value: Any, patterns: Any, place: str) -> tuple[int, Any]:
        """The member that a value of a family begins with; the rest, by patterns of its size."""
        i = 0
        if self.family:
            first, *value = read(value, [None], place) or [None]
            i = read(first, len(self.members), f"{place}[0]")
        return i, read(value, patterns(self.members[i].n, self.members[i].m), place)

    def demonstration(self, listed: Any, place: str) -> Any:
        """3. Demonstrated pairs are optimal, in scope and can follow each other."""
        of_family = self.family
        i, x = self.of_member(listed, lambda n, m: ([(n, m)],) if of_family else [(n, m)], place)
        x, check = x[0] if of_family else x, self.members[i]
        for j, (s, a) in enumerate(x):
            fits = s in check.reached and a in check.optimal[s]
            need(fits, f"{place}[{j}]: {[s, a]} is not optimal in scope")
            fits = j == 0 or s in check.chances[tuple(x[j - 1])]
            need(fits, f"{place}[{j}]: {[s, a]} cannot come next")
        self.listed.append((i, "demonstration", x))
        return i, x

    def item(self, x: Any, place: str) -> Any:
        """3. The rows of an item, none of them negative under the weights of the task."""
        if type(x) is list:
            i, way = self.demonstration(x, place)
            rows = [self.row(i, s, a, b) for s, a in way for b in range(self.members[i].m)]
        else:
            i, rows = self.feedback(x, place)
            self.listed.append((i, x["kind"], x))
        fits = all(dot(self.members[i].weights, row) >= 0 for _, row in rows)
        need(fits, f"{place} is not true of the weights")
        return rows

    def feedback(self, x: Any, place: str) -> tuple[int, list[Any]]:
        """The member and the rows of a comparison, or of trajectories that are compared: from the
        same start, and as long as each other or both ended."""
        kind: Any = x.get("kind") if type(x) is dict else None
        need(type(kind) is str and kind in KINDS, f"{place} has no kind of its own")
        need(self.family or x.get("member") is None, f"{place} must have no member")
        sides = [x.get("member")] * self.family + [x.get(name) for name in KINDS[kind][0]]
        i, sides = self.of_member(sides, KINDS[kind][1], place)
        check = self.members[i]
        if kind == "comparison":
            need(check.chances[sides[0], 0], f"{place}: state {sides[0]} is terminal")
            return i, [self.row(i, *sides)]
        if kind == "stop":
            off, skip = x.get("off_is_worth_nothing"), sides[1]
            need(off is True and skip < len(sides[0]), f"{place} stops nothing")
            return i, [primitive([-c for c in check.walk(sides[0], place, skip)[1]])]
        ways = sides[0] if kind == "ranking" else sides
        return i, [self.preferred(check, x, y, place)[1] for x, y in pairwise(ways)]

    def preferred(self, check: Check, first: Any, second: Any, place: str) -> tuple[Any, Any]:
        """Where two comparable trajectories end, and the row by which the first counts more."""
        (ends, counts), (others, less) = (check.walk(x, place) for x in (first, second))
        both = check.ended(ends), check.ended(others)
        fits = both == (True, True) or (both == (False, False) and len(first) == len(second))
        fits = fits and first[0][0] == second[0][0]
        need(fits, f"{place}: trajectories must begin together and be as long, or both have ended")
        return (ends, others), primitive(list(map(sub, counts, less)))

    def named(self, i: int, *statement: int) -> list[int]:
        """States and actions as the proof writes them."""
        return [i, *statement] if self.family else [*statement]

    def row(self, i: int, *statement: int) -> tuple[Fraction, tuple[int, ...]]:
        """The row of a statement of a member."""
        return self.members[i].row(*statement)

    def verdict(self) -> str:
        """4. "open": the weights given fit all rows that are said and break one row. "teaches":
        rows are sums of nonnegative multiples of said ones, so what fits these fits all."""
        named, members = f"{self.name} (scope {self.claimed})", self.members
        if self.proof["claim"] == "open":
            weights = read(self.proof.get("weights"), self.k, "weights")
            i, (s, a, b) = self.of_member(self.proof.get("row"), lambda n, m: (n, m, m), "row")
            fits = s in members[i].reached and a in members[i].optimal[s]
            need(fits, f"row: {self.named(i, s, a)} is not optimal in scope")
            broken = [x for x, (_, row) in self.rows() if dot(weights, row) < 0]
            need(not broken, f"weights: they break what is said, {broken[:1]}")
            breaks = dot(weights, self.row(i, s, a, b)[1]) < 0
            need(breaks, f"row: the weights do not break {self.named(i, s, a, b)}")
            where = f"state {s} of member {i}" if self.family else f"state {s}"
            return f"leave {named} open: weights that fit them prefer {b} to {a} in {where}"
        rays = [ray for ray, _ in self.generators()]
        return f"teach {named}: {self.follow(rays, [True] * len(rays))} follow"

    def generators(self) -> list[tuple[Any, bool]]:
        """Rows that shown pairs or items state, and whether each compares with a worse action."""
        found = []
        for j, x in enumerate(read(self.proof.get("generators"), [None], "generators")):
            place = f"generators[{j}]"
            if self.mixed:
                item, number = read(x, (len(self.said), MAX_SIZE), place)
                need(number < len(self.said[item]), f"{place}: items[{item}] says less")
                found.append((self.said[item][number], True))
                continue
            i, (s, a, b) = self.of_member(x, KINDS["comparison"][1], place)
            need((i, s, a) in self.pairs, f"{place}: {self.named(i, s, a)} is not shown or asked")
            found.append((self.row(i, s, a, b), b not in self.members[i].optimal[s]))
        return found

    def rows(self) -> list[tuple[Any, Any]]:
        """All rows that are said, each with its name."""
        if self.mixed:
            return [(f"items[{j}]", row) for j, rows in enumerate(self.said) for row in rows]
        named = [(*pair, c) for pair in sorted(self.pairs) for c in range(self.members[pair[0]].m)]
        return [(self.named(*x), self.row(*x)) for x in named]

    def follow(self, rays: Any, strict: Any) -> str:
        """All directions of the optimal policy's rows are sums of multiples of the rays, which are
        not negative where these are strict."""
        every = ((i, s, check) for i, check in enumerate(self.members) for s in check.scope)
        rows = (c.row(s, a, b)[1] for _, s, c in every for a in c.optimal[s] for b in range(c.m))
        directions = [*dict.fromkeys(filter(any, rows))]
        pattern = ([(len(rays), Fraction)],) * len(directions)
        for i, terms in enumerate(read(self.proof.get("multipliers"), pattern, "multipliers")):
            fits = all(c >= 0 or not strict[j] for j, c in terms)
            need(fits, f"multipliers[{i}]: one is negative")
            unit, (shares,) = in_common([[c * rays[j][0] for j, c in terms]])
            total = [0] * len(self.k)
            for share, (j, _) in zip(shares, terms, strict=True):
                total = [x + share * y for x, y in zip(total, rays[j][1], strict=True)]
            fits = total == [unit * x for x in directions[i]]
            need(fits, f"multipliers[{i}] do not give {{}}", directions[i])
        n_states = sum(len(check.scope) for check in self.members)
        return f"{len(directions)} directions of {n_states} states"

    def exam(self, exam: dict[str, Any]) -> str:
        """6. Each question compares two actions of a state in scope, or trajectories that begin
        with them, the better one optimal: who has the same optimal sets answers as the key says,
        and who does has them, because all rows follow. Each has an agent that fails it alone, none
        would fail two; ties, which are independent, need as many: so no exam has fewer."""
        rays, strict = [], []
        for j, x in enumerate(exam["questions"]):
            place = f"questions[{j}]"
            i, (s, a, b), (size, normal) = self.question(x, str(exam["ask"])[:-1], place)
            check = self.members[i]
            worth = size * dot(check.weights, normal)
            key = "first" if worth > 0 else "second" if worth else "equal"
            better = b if worth < 0 else a
            fits = s in check.reached and better in check.optimal[s]
            need(fits, f"{place}: {self.named(i, s, better)} is not optimal in scope")
            costs = max(-worth, Fraction(0)), max(worth, Fraction(0))
            for name, wanted in (("normal", [*normal]), ("costs", [*costs])):
                given = read(x.get(name), (Fraction,) * len(wanted), f"{place}.{name}")
                need(given == wanted, f"{place}.{name} must be {{}}, not {{}}", wanted, given)
            need(x.get("key") == key, f"{place}.key must be {key}")
            rays.append((Fraction(1), tuple(-c for c in normal) if worth < 0 else normal))
            strict.append(worth != 0)
        n, told = len(rays), self.follow(rays, strict)
        agents = read(self.proof.get("agents"), (self.k,) * n, "agents")
        for i, weights in enumerate(agents):
            for j, (_, ray) in enumerate(rays):
                worth = dot(weights, ray)
                right = worth > 0 if strict[j] else worth == 0
                need(right == (i != j), f"agents[{i}] must fail question {i} alone, not {j}")
        answers = self.answers([w for w, x in zip(agents, strict, strict=True) if x], True)
        twice = [pair for pair, each in answers.items() for x in each if x & (x - 1)]
        need(not twice, f"agents: one question about {twice[:1]} fails two of them")
        return self.decides(exam, f"{told} follow", Fraction(n))

    def question(self, x: Any, kind: str, place: str) -> tuple[int, Any, Any]:
        """Member, state and actions of a question, and its row. Trajectories go on optimally after
        the first action, surely, and meet or end: so they differ by what these two actions do."""
        fits = type(x) is dict and type(x.get("options")) is list
        need(fits and x.get("kind") == kind, f"{place} must be a {kind}")
        asked = [x.get("member")] * self.family + [x.get("state"), *x["options"]]
        if kind == "comparison":
            i, statement = self.of_member(asked, KINDS[kind][1], place)
            return i, statement, self.row(i, *statement)
        i, (s, *ways) = self.of_member(asked, lambda n, m: (n, *KINDS[kind][1](n, m)), place)
        check = self.members[i]
        ends, row = self.preferred(check, ways[0], ways[1], place)
        for way in ways:
            fits = way[0][0] == s and all(len(check.chances[t, a]) == 1 for t, a in way)
            fits = fits and all(a in check.optimal[t] for t, a in way[1:])
            need(fits, f"{place}: a trajectory leaves the best policy, or something to chance")
        need(ends[0] == ends[1] or check.ended(ends[0]), f"{place}: the trajectories do not meet")
        return i, [s, ways[0][0][1], ways[1][0][1]], row

    def states(self, exam: dict[str, Any]) -> str:
        """7. Each question is of a state in scope and its key are the optimal actions; what these
        lead to is asked too or ends, so who answers so goes on as we do, and holds a row of two
        optimal actions to be 0 and any other one to be positive; and all rows follow from these."""
        asked = set()
        for j, x in enumerate(exam["questions"]):
            place = f"questions[{j}]"
            need(type(x) is dict and x.get("kind") == "action", f"{place} must be of actions")
            given = [x.get("member")] * self.family + [x.get("state"), x.get("options")]
            i, (s, options) = self.of_member(given, lambda n, m: (n, [m]), place)
            check, best = self.members[i], self.members[i].optimal[s]
            fits = s in check.reached and best and options == [*range(check.m)]
            need(fits, f"{place}: {self.named(i, s)} is not a whole state in scope")
            need(x.get("key") == best, f"{place}.key must be {{}}", best)
            rows = [self.row(i, s, best[0], b) for b in options]
            costs = [size * dot(check.weights, row) for size, row in rows]
            given = read(x.get("costs"), (Fraction,) * check.m, f"{place}.costs")
            need(given == costs, f"{place}.costs must be {{}}, not {{}}", costs, given)
            need((i, s) not in asked, "questions: a state is asked twice")
            asked.add((i, s))
        for i, s in sorted(asked):
            left = [t for t in self.after(i, s) if (i, t) not in asked]
            need(not left, f"questions: {left[:1]} follows {self.named(i, s)} and is not asked")
        self.pairs = {(i, s, a) for i, s in asked for a in self.members[i].optimal[s]}
        found = self.generators()
        told = self.follow(
            [(1, row) for (_, row), _ in found], [is_strict for _, is_strict in found]
        )
        told += " follow, and their states are closed"
        return self.decides(exam, told, self.closed_bound() if "fewest" in self.proof else None)

    def after(self, i: int, s: int) -> list[int]:
        """The states that optimal actions of a state may lead to and that do not end."""
        check = self.members[i]
        found = {t for a in check.optimal[s] for t in check.chances[s, a]}
        return [t for t in sorted(found) if not check.ended([t])]

    def closed_bound(self) -> Fraction:
        """8. An exam that decides asks about a state where a witness, who is not aligned, answers
        otherwise. A closed one asks about all that follows, so what flows from a state to those
        that follow it stays inside. Where the witnesses that a state fails weigh at most 1 and what
        flows from it less what flows to it, there are as many questions as all weights together."""
        wanted: Any = {"witnesses": [self.k], "weights": [Fraction], "flows": [None]}
        rewards, weights, flows = read(self.proof["fewest"], wanted, "fewest")
        costs = defaultdict[Any, Fraction](lambda: Fraction(1))
        for x in flows:
            i, (s, t, flow) = self.of_member(x, lambda n, m: (n, n, Fraction), "fewest.flows")
            need(flow >= 0 and t in self.after(i, s), f"fewest.flows: {t} does not follow {s}")
            costs[i, s] += flow
            costs[i, t] -= flow
        masks: Any = defaultdict(int)
        for (i, s, _), each in self.answers(rewards, True).items():
            masks[i, s] |= reduce(or_, each)
        singles = [(i, bits, costs[i, s]) for (i, s), bits in masks.items()]
        self.begin, self.fixed, self.unit = dict[int, Any](), dict[int, Fraction](), 1
        return self.bound(weights, masks, singles)

    def decides(self, exam: dict[str, Any], told: str, bound: Fraction | None) -> str:
        """What an exam decides, whether fewer questions could, and what was not checked."""
        n, said = len(exam["questions"]), {"open": [], "closed": True, "n_close_calls": 0}
        said |= {key: exam[key] for key in ("ask", "questions")}
        said |= {} if bound is None else {"lower_bound": bound}
        for key in (*said, "arithmetic"):
            need(key in exam, f"{key} must be said")
        read(exam.get("lower_bound"), n + 1, "lower_bound")
        some = "" if bound is None else f"; every such exam has at least {bound}"
        some = f"; proved fewest: no such exam has fewer than {n}" if bound == n else some
        left = self.says(exam, said, {"closed": True, "ask": exam["ask"]})
        return f"{n} questions decide {self.name} (scope {self.claimed}): {told}{some}{left}"

    def fewest(self) -> str:
        """9. A lesson that teaches excludes every witness, a reward that some optimal pair in scope
        excludes. Where nothing that is allowed excludes witnesses of more weight than it costs, a
        lesson costs at least the sum of the weights. Of a mix all comparisons of an optimal action
        in scope are allowed, and other items as they are listed."""
        part, n = self.proof["fewest"], len(self.members)
        need(self.proof["claim"] == "teaches", "fewest must be of what teaches")
        wanted: Any = {"witnesses": [self.k], "weights": [Fraction], "bound": Fraction}
        wanted |= {"member_cost": [(n, Fraction)], "min_probability": Fraction, "cost": None}
        rewards, weights, given, fixed, self.least, rule = read(part, wanted, "fewest")
        self.fixed, self.rule = dict(fixed), "table" if type(rule) is list else "demonstrations"
        if type(rule) is str:
            need(rule in ("demonstrations", "pairs", "attempts"), "fewest.cost must be a rule")
            self.rule = rule
        fits = (type(rule) is dict) == self.mixed and (self.rule != "table" or not self.family)
        need(fits, "fewest.cost must be a rule, not {}", rule)
        listed = (
            [[rule, 1]] if type(rule) is str else [*map(list, rule.items())] if self.mixed else rule
        )
        self.prices: dict[Any, Fraction] = {
            key: read(x, Fraction, "fewest.cost")
            for key, x in read(listed, [(None, None)], "fewest.cost")
        }
        costs = [*self.prices.values(), *self.fixed.values()]
        need(min([*costs, self.least]) >= 0, "fewest: a cost or probability is negative")
        self.unit = 0 if self.rule == "attempts" else lcm(*(c.denominator for c in costs))
        self.allow(part)
        excluded = self.answers(rewards)
        masks = {pair: reduce(or_, each) for pair, each in excluded.items() if any(each)}
        bound = self.bound(weights, masks, self.singles(excluded, rewards))
        need(given == bound, "fewest.bound must be {}, not {}", bound, given)
        n_starts = sum(len(own) for own, _ in self.begin.values())
        longest = max((x for _, x in self.begin.values()), default=0)
        what = (
            f"lesson of allowed {'items' if self.mixed else 'demonstrations'} ({n_starts} starts, "
        )
        what += f"at most {longest} steps, probability at least {show(self.least)}, cost "
        what += f"by kind, {len(self.offered)} other items)" if self.mixed else f"{self.rule})"
        if self.spent() != bound:
            return f"; every {what} costs at least {show(bound)}"
        return f"; proved fewest: no {what} costs less than {show(bound)}"

    def allow(self, part: dict[str, Any]) -> None:
        """Where demonstrations of each member may begin, their longest, and the items listed."""
        self.begin, pair = {}, (part.get("starts"), part.get("horizon"))
        starts, limits = pair if self.family else ([[0, pair[0]]], [pair[1]])
        limits = read(limits, [MAX_SIZE], "fewest.horizon")
        starts = read(starts, ((len(self.members), [MAX_SIZE]),) * len(limits), "fewest.starts")
        for (i, own), horizon in zip(starts, limits, strict=True):
            fits = i not in self.begin and {*own} <= {*self.members[i].scope}
            fits = fits and (self.rule != "table" or {*own} <= {*self.prices})
            need(fits, f"fewest.starts: member {i} stands twice, or a start has no cost or scope")
            self.begin[i] = sorted({*own}), horizon
        self.offered = read(part.get("offered") if self.mixed else [], [None], "fewest.offered")

    def answers(self, rewards: Any, exam: bool = False) -> dict[Any, list[int]]:
        """For each optimal pair (i, s, a) in scope and each other action the rewards that prefer
        the other one, as bits; of an exam also those that find equal what is not, or tell ties
        apart."""
        units, found = [in_common([reward])[1][0] for reward in rewards], dict[Any, list[int]]()
        for i, check in enumerate(self.members):
            for s in check.scope:
                worth = [[dot(w, mu) for mu in check.table[s]] for w in units]
                for a, b in ((a, b) for a in check.optimal[s] for b in range(check.m)):
                    tied = b in check.optimal[s]
                    wrong = (x[a] < x[b] or (exam and (x[a] == x[b]) != tied) for x in worth)
                    bits = sum(1 << j for j, x in enumerate(wrong) if x)
                    found.setdefault((i, s, a), []).append(bits)
        return found

    def singles(self, excluded: Any, rewards: Any) -> list[tuple[int, int, Fraction]]:
        """Of a mix the member of each comparison and listed item, what it excludes and costs."""
        each = {(i, bits) for (i, _, _), listed in excluded.items() for bits in listed}
        price = self.prices.get("comparisons") if self.mixed else None
        found = [] if price is None else [(*x, price) for x in each]
        for j, x in enumerate(self.offered):
            i, rows = self.feedback(x, f"fewest.offered[{j}]")
            need(f"{x['kind']}s" in self.prices, f"fewest.offered[{j}] has no cost")
            wrong = (any(dot(w, row) < 0 for _, row in rows) for w in rewards)
            bits = sum(1 << number for number, is_wrong in enumerate(wrong) if is_wrong)
            found.append((i, bits, self.prices[f"{x['kind']}s"]))
        return found

    def bound(self, y: Any, masks: Any, singles: Any) -> Fraction:
        """The sum of the weights, rounded up, where no set of witnesses outweighs its cost. With a
        fixed cost some may: each is needed once, and not where another one dominates it; the rest
        together may outweigh their costs by the fixed cost of the member."""
        fits = reduce(or_, masks.values(), 0) + 1 == 1 << len(y) and min(y, default=0) >= 0
        need(fits, "fewest: a witness is no wrong reward, or its weight is missing or negative")
        worth = cache(lambda x: sum((c for j, c in enumerate(y) if x >> j & 1), Fraction(0)))
        for i in range(len(self.members)):
            found = self.outweighing(i, masks, worth)
            for _, bits, cost in (x for x in singles if x[0] == i and worth(x[1]) > x[2]):
                found[bits] = min(cost, found.get(bits, cost))
            kept: list[int] = []
            for bits in sorted(found, key=lambda x: (found[x], -x.bit_count())):
                kept += [bits] if all(bits & ~other for other in kept) else []
            over = sum((worth(bits) - found[bits] for bits in kept), Fraction(0))
            need(over <= self.fixed.get(i, 0), f"fewest: what member {i} shows outweighs its cost")
        total = sum(y, Fraction(0))
        return Fraction(-(-total * self.unit // 1), self.unit) if self.unit else total

    def outweighing(self, i: int, masks: Any, worth: Any) -> dict[int, Fraction]:
        """Sets of witnesses that outweigh demonstrations of a member which exclude them, with the
        least cost of these; only the first where that is enough. The search is over states and sets
        met before; it goes on where these are met by likelier moves than before."""
        check, found = self.members[i], dict[int, Fraction]()
        starts, horizon = self.begin.get(i, ((), 0))
        counts = starts and (self.least or self.rule == "attempts")
        for begin in [[s] for s in starts] if starts and self.rule == "table" else [starts]:
            front, length = {(s, 0): Fraction(1) for s in begin}, 0
            best = dict(front)
            while front and length < horizon and (not found or i in self.fixed):
                last, front, length = front, {}, length + 1
                steps = ((*x, likely, a) for x, likely in last.items() for a in check.optimal[x[0]])
                for s, met, likely, a in steps:
                    now = met | masks.get((i, s, a), 0)
                    if now != met and worth(now) > (cost := self.cost(begin[0], length, likely)):
                        found[now] = min(cost, found.get(now, cost))
                    for t, p in check.chances[s, a].items():
                        chance = likely * p if counts and p != 1 else likely
                        if chance > best.get((t, now), 0) and (not counts or chance >= self.least):
                            best[t, now] = front[t, now] = chance
                need(len(best) <= MAX_SIZE, "fewest: there are too many sets to search")
        return found

    def cost(self, start: int, length: int, likely: Fraction) -> Fraction:
        """What a demonstration costs, without the fixed cost of its member."""
        if self.rule in ("table", "demonstrations"):
            return self.prices[start if self.rule == "table" else self.rule]
        return Fraction(length) if self.rule == "pairs" else 1 / likely

    def spent(self) -> Fraction | None:
        """What is shown costs, with the members' fixed costs; None where one is not allowed."""
        members = {i for i, _, _ in self.listed}
        total = sum((cost for i, cost in self.fixed.items() if i in members), Fraction(0))
        for i, kind, x in self.listed:
            check, price, fits = self.members[i], self.prices.get(f"{kind}s"), x in self.offered
            if kind == "demonstration":
                (own, horizon), likely = self.begin.get(i, ((), 0)), check.probability(x)
                fits = x and x[0][0] in own and len(x) <= horizon and likely >= self.least
                price = self.cost(x[0][0], len(x), likely) if fits else None
            elif kind == "comparison":
                fits = x["state"] in check.reached and x["better"] in check.optimal[x["state"]]
            if price is None or not fits:
                return None
            total += price
        return total

    def says(self, file: Any, said: dict[str, Any], chosen: dict[str, Any]) -> str:
        """5. What a file and its settings say beside the proof is as computed; the rest by name."""
        settings, common = file.get("settings", {}), {"scope": self.claimed, "arithmetic": "exact"}
        read(settings, {}, "settings")
        said = {"task": self.title, **common, **said}
        for place, listed in ((file, said), (settings, common | chosen)):
            for key, value in ((x, y) for x, y in listed.items() if x in place):
                given, many = place[key], type(value) is list and value
                fits = json.dumps(given, default=str) == json.dumps(value, default=str)
                if isinstance(value[0] if many else value, Fraction) and given is not None:
                    fits = read(given, [Fraction] if many else Fraction, key) == value
                need(fits, f"{key} must be {{}}, as in the proof, not {{}}", value, given)
        left = {*file} - {*said} - {"format", "proof", "settings"}
        left |= {f"settings.{x}" for x, y in settings.items() if y is not None} - {
            f"settings.{x}" for x in common | chosen
        }
        return f"; not checked: {', '.join(sorted(left))}" * bool(left)

    def wrapper(self, lesson: dict[str, Any]) -> str:
        """What a lesson says of itself, and which of that was not checked."""
        settings, proof = lesson.get("settings", {}), self.proof
        read(settings, {}, "settings")
        what, part = "items" if self.mixed else "demonstrations", proof.get("fewest")
        need({what, "status"} <= {*lesson}, f"{what} must be a list, and status be said")
        said: Any = {what: proof[what], "status": STATUS[proof["claim"]]}
        if proof["claim"] == "teaches":
            said |= {"open" if self.mixed else "uncovered": [], "witness": None, "loss": None}
        elif lesson.get("witness") is not None:
            weights = read(proof["weights"], self.k, "weights")
            said["witness"] = [x / max(map(abs, weights)) for x in weights]  # the largest 1 or -1
        worths = [size * dot(self.weights, row) for _, (size, row) in self.rows()]
        said["hardest"] = min((x for x in worths if x > 0), default=None)
        longest = max((len(x) for _, x in self.shown), default=0)
        for key, least in (("budget", len(proof[what])), ("horizon", longest)):
            most = read(settings.get(key) or least, 10**18, key)
            need(most >= least, f"{key} must be at least {least}, as in the proof, not {most}")
        usual: Any = [
            [i, sorted({*c.chances[c.n, 0]} & {*c.live})] for i, c in enumerate(self.members)
        ]
        usual, rule = usual if self.family else usual[0][1], dict[str, Any]()
        own = settings.get("starts") or usual
        own = dict(read(own if self.family else [[0, own]], [(MAX_SIZE, [MAX_SIZE])], "starts"))
        fits = (
            all(x[0][0] in own.get(i, ()) for i, x in self.shown if x) or "starts" not in settings
        )
        need(fits, "starts must hold all that demonstrations begin with, not {}", own)
        if part is not None:
            spent, said["lower_bound"] = self.spent(), read(part["bound"], Fraction, "bound")
            said |= {} if spent is None else {"cost": spent}
        if part is not None and not self.mixed:
            rule = {key: part[key] for key in ("starts", "member_cost", "min_probability")}
            rule |= {"cost": "given" if self.rule == "table" else self.rule}
            rule |= {"horizon": max((x for _, x in self.begin.values()), default=None)}
        for key, value in rule.items():
            given = {**rule, "starts": usual, "member_cost": []}[key]
            given = given if settings.get(key) is None else settings[key]
            fits = json.dumps(given) == json.dumps(value)
            need(fits, f"{key} must be {{}}, as in fewest, not {{}}", value, given)
        chosen = {key: settings.get(key) for key in ("budget", "horizon", "starts", *rule)}
        return self.says(lesson, said | ({} if self.mixed else self.sizes(lesson)), chosen)

    def sizes(self, lesson: dict[str, Any]) -> dict[str, Any]:
        """How much is shown, how likely it is, whether it is closed; facets are rows in scope."""
        n, own = [0, 0], defaultdict[Any, Any](set)
        wanted: Any = [{"statement": None, "normal": self.k, "equality": None}]
        for j, x in enumerate(read(lesson.get("facets", []), wanted, "facets")):
            place, (statement, normal, tied) = f"facets[{j}]", x
            i, (s, a, b) = self.of_member(statement, KINDS["comparison"][1], place)
            best = self.members[i].optimal[s] if s in self.members[i].reached else []
            fits = a in best and tied is (b in best) and normal == [*self.row(i, s, a, b)[1]]
            need(fits, f"{place} does not state its row, or not whether it is a tie")
            n[b in best] += 1
        for i, s, a in self.pairs:
            own[i].add((s, a))
        closed = all(self.members[i].closed(x) for i, x in own.items())
        said: Any = {"closed": closed, "n_demonstrations": len(self.shown), "n_close_calls": 0}
        said |= {"probabilities": [self.members[i].probability(x) for i, x in self.shown]}
        said |= {"n_facets": n[0], "n_equalities": n[1]} if "facets" in lesson else {}
        return dict(said, n_pairs=sum(len(x) for _, x in self.shown))


def tasks(document: dict[str, Any], folder: Path) -> tuple[list[Check], str]:
    """The task of a file, or the members of a family, inline or in files beside it."""
    name = document.get("name", "the task" if "members" not in document else "the family")
    if document["format"] == "didact.task/1":
        return [Check(document)], name
    members, found = document.get("members", []), []
    need(type(members) is list and members, "members must be a list of tasks, not {}", members)
    for i, member in enumerate(members):
        if type(member) is dict:
            member = {**member, "weights": document.get("weights")}
        else:
            need(type(member) is str, f"members[{i}] must be a task or a path")
            member = load(folder / member, "didact.task/1")
        found.append(Check(member))
        exact = read(document.get("weights"), found[i].k, "weights")
        need(found[i].weights == exact, f"members[{i}] has other weights than the family")
    return found, name


def check_proof(task: str | Path | dict[str, Any], proof: str | Path | dict[str, Any]) -> str:
    """One line that says what is proved; raises ProofError at the first step that is false."""
    folder = Path() if isinstance(task, dict) else Path(task).parent
    kinds = "didact.task/1", "didact.family/1"
    (members, name), kind = load(task, *kinds, then=lambda x: (tasks(x, folder), x["format"]))
    number = 1 + kinds.index(kind)
    own = f"didact.proof/{number}", f"didact.lesson/{number}", "didact.exam/1"
    lesson = load(proof, *own, *{"didact.lesson/2"} - {*own})
    fits = lesson["format"] in own or "items" in lesson
    need(fits, "a lesson of a task must have items, or another format")
    inner = lesson if lesson["format"].startswith("didact.proof/") else lesson.get("proof")
    fits = isinstance(inner, dict) and inner.get("format") == f"didact.proof/{number}"
    need(fits, "carries no proof")
    claim = inner.get("claim")
    if lesson["format"] == "didact.exam/1":
        need(claim == "decides", "claim must be 'decides', not {}", claim)
        ask = lesson.get("ask")
        need(ask in ("comparisons", "preferences", "actions"), "ask must be a kind, not {}", ask)
        need(type(lesson.get("questions")) is list, "questions must be a list")
        found = Claim(members, name, {**inner, "demonstrations": []})
        return f"proved: {found.states(lesson) if ask == 'actions' else found.exam(lesson)}"
    need(str(claim) in STATUS, "claim must be 'teaches' or 'open', not {}", claim)
    found = Claim(members, name, inner)
    n_pairs = sum(len(x) for _, x in found.shown)
    what = f"{len(found.shown)} demonstrations ({n_pairs} pairs)"
    what = f"{len(found.said)} items" if found.mixed else what
    line = f"proved{' open' * (claim == 'open')}: {what} {found.verdict()}"
    line += found.fewest() if "fewest" in inner else ""
    return line if inner is lesson else line + found.wrapper(lesson)


if __name__ == "__main__":
    try:
        need(len(sys.argv) == 3, "usage: python -m didact.proofcheck TASK LESSON_OR_PROOF")
        line, code = check_proof(sys.argv[1], sys.argv[2]), 0
    except ProofError as error:
        line, code = str(error), 2 if error.__cause__ or len(sys.argv) != 3 else 1
    except Exception as error:  # says nothing of the proof
        line, code = f"cannot be checked: {type(error).__name__}: {error}", 2
    print(line.encode("ascii", "backslashreplace").decode())
    sys.exit(code)
