"""An independent check of a lesson's proof: `python -m didact.proofcheck task.json lesson.json`.

The task may be a family of them, `didact.family/1`, with a proof about all its members. A lesson
may mix demonstrations with comparisons, preferences and the like; instead of a lesson it may be an
exam, `didact.exam/1`.

Every step substitutes, none solves or rounds. mu(s) are the counts of the policy uniform over its
optimal actions, mu(s, a) = phi(s, a) + discount * E[mu(next)], rows are mu(s, a) - mu(s, b). A
trajectory counts its phi(s, a) discounted, and where it surely ends the terminal state once.
A part `fewest` bounds the cost of every lesson from below (see `Claim.fewest`).
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
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import gcd, lcm
from operator import mul, sub
from pathlib import Path
from typing import Any

MAX_SIZE, MAX_BYTES, ROUNDING = 10**6, 4 * 10**8, Fraction(1, 10**9)
MAX_DIGITS, PLAIN_DIGITS = 2 * 10**5, 600  # of one number; that int() takes whatever its limit
SIGN, DIGITS, POWER = r"([+-]?)(?=\.?\d)", r"(\d*)(?:\.(\d*))?", r"(?:[eE]([+-]?\d{1,3}))?"
NUMBER = re.compile(rf"{SIGN}{DIGITS}{POWER}(?:/0*([1-9]\d*))?", re.ASCII)
AT_ONCE, PATIENCE = getattr(os, "O_NONBLOCK", 0), 10  # opening waits for nobody; seconds
STATUS = {"teaches": "complete", "open": "partial"}
SIDES = {
    "comparison": ("state", "better", "other"),
    "preference": ("better", "other"),
    "correction": ("better", "other"),
    "ranking": ("ways",),
    "stop": ("way", "after"),
}
PATTERNS: Any = {  # of these sides, in a model of n states and m actions
    "comparison": lambda n, m: (n, m, m),
    "preference": lambda n, m: ([(n, m)], [(n, m)]),
    "correction": lambda n, m: ([(n, m)], [(n, m)]),
    "ranking": lambda n, m: ([[(n, m)]],),
    "stop": lambda n, m: ([(n, m)], MAX_SIZE),
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
        mode = os.fstat(file.fileno()).st_mode
        need(not stat.S_ISCHR(mode), "it is a device")
        if stat.S_ISFIFO(mode):
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


def whole(digits: str) -> int:
    """A whole number from any number of digits; by halves, which takes no quadratic time."""
    half = len(digits) // 2
    if len(digits) <= PLAIN_DIGITS:
        return int(digits or "0")
    return whole(digits[:-half]) * int(10**half) + whole(digits[-half:])


@lru_cache
def number(text: str) -> Fraction | None:
    """The exact value of 1, 0.1, 2e-3 or 9/10; None for any other text and for too many digits."""
    found = NUMBER.fullmatch(text)
    if found is None or max(map(len, found.groups(""))) > MAX_DIGITS:
        return None
    sign, before, after, power, below = found.groups("")
    size, shift = whole(before + after), int(power or 0) - len(after)
    size *= int(10 ** max(shift, 0)) * (-1 if sign == "-" else 1)
    return Fraction(size, whole(below or "1") * int(10 ** max(-shift, 0)))


def read(value: Any, pattern: Any, place: str) -> Any:
    """The value if it has the pattern: n, a whole number below n; Fraction, a number as 1, 0.1 or
    "9/10", read exactly; (p, q), a list of a p and a q; [p], a list of any number of p."""
    wanted = f"a number of at most {MAX_DIGITS} digits"
    if isinstance(pattern, int):
        wanted = f"a whole number below {pattern}"
    if isinstance(pattern, list | tuple):
        patterns = pattern * len(value) if type(pattern) is type(value) is list else pattern
        wanted = f"a list of {len(patterns)}" if type(pattern) is tuple else "a list"
        if type(value) is list and len(value) == len(patterns):
            return [read(value[i], p, f"{place}[{i}]") for i, p in enumerate(patterns)]
    elif pattern is Fraction and type(value) in (int, str):
        if (exact := number(str(value).strip())) is not None:
            return exact
    elif type(value) is type(pattern) is int and 0 <= value < pattern:
        return value
    raise ProofError(f"{place} must be {wanted}, not {show(value)}")


def primitive(row: Any) -> tuple[Fraction, tuple[int, ...]]:
    """A row as a positive size, or 0, times a direction of coprime integers."""
    common, unit = gcd(*(x.numerator for x in row)), lcm(*(x.denominator for x in row))
    direction = (x.numerator // (common or 1) * (unit // x.denominator) for x in row)
    return Fraction(common, unit), tuple(direction)


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
    """A task, then step by step what a proof says of it; chances are times the discount."""

    def __init__(self, file: dict[str, Any]) -> None:
        n, m = (read(file.get(key), MAX_SIZE, key) for key in ("n_states", "n_actions"))
        self.weights = read(file.get("weights"), [Fraction], "weights")
        self.n, self.m, self.k = n, m, (Fraction,) * len(self.weights)
        by_action = reprlib.repr(file.get("features")).startswith("[[[")
        phi = read(file.get("features"), ((self.k,) * m if by_action else self.k,) * n, "features")
        discount = read(file.get("discount"), Fraction, "discount")
        need(0 <= discount < 1, "discount must be in [0, 1), not {}", discount)
        ended = file.get("terminal")
        terminal = {*read([] if ended is None else ended, [n], "terminal")}
        self.live = [s for s in range(n) if s not in terminal]
        uniform = [[s, f"1/{len(self.live)}"] for s in self.live]
        start = uniform if file.get("start") in (None, "uniform") else file["start"]
        rows = read(file.get("transitions"), [(n, m, n, Fraction)], "transitions")
        rows += [[n, 0, *pair] for pair in read(start, [(n, Fraction)], "start")]
        self.chances: Any = defaultdict(lambda: defaultdict(Fraction))
        self.likely: Any = {}  # probabilities where more than one state may follow
        for s, a, t, p in rows:  # state n stands for the start
            need(s not in terminal and p >= 0, "{}: {} is terminal or {} < 0", [s, a, t], s, p)
            self.chances[s, a][t] += p
        for (s, a), chances in self.chances.items():
            mass, place = sum(chances.values()), f"transitions[{s}, {a}]" if s < n else "start"
            need(abs(mass - 1) <= ROUNDING, f"{place} must sum to 1, not {{}}", mass)
            if len(chances) > 1:
                self.likely[s, a] = {t: p / mass for t, p in chances.items() if p}
            share = discount / mass
            self.chances[s, a] = {t: share * p for t, p in chances.items() if p}
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
        step, shares = in_common([[*self.chances[pair].values()] for pair in pairs])
        unit, scaled = in_common([*counts, *(phi for state in self.features for phi in state)])
        self.unit, paid = unit * step, iter(scaled[self.n :])
        self.table = [[[x * step for x in next(paid)] for _ in state] for state in self.features]
        for (s, a), row in zip(pairs, shares, strict=True):
            mu = self.table[s][a]
            for t, share in zip(self.chances[s, a], row, strict=True):
                mu[:] = [x + share * y for x, y in zip(mu, scaled[t], strict=True)]
        for s, listed in enumerate(self.optimal):
            rows = [self.table[s][a] for a in listed or [0]]
            for i, (x, *column) in enumerate(zip(counts[s], *rows, strict=True)):
                mean = Fraction(sum(column), len(rows) * self.unit)
                said = "the Bellman equation gives {}, the proof says {}"
                need(mean == x, f"{at}counts[{s}][{i}]: {said}", mean, x)
        size, (weights,) = in_common([self.weights])
        for s, listed in enumerate(self.optimal):
            values = [sum(map(mul, weights, mu)) for mu in self.table[s]]
            worth = max(values)
            best = [a for a, x in enumerate(values) if x == worth and (s, a) in self.chances]
            said, worth = "must be {}, worth {}, not {}", Fraction(worth, size * self.unit)
            need(listed == best, f"{at}optimal[{s}] {said}", best, worth, listed)

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
        total, weight, after = [Fraction(0)] * len(self.k), Fraction(1), {}
        for j, (s, a) in enumerate(way):
            fits = self.chances[s, a] and (s in after or j == 0)
            need(fits, f"{place}: step {j}, {[s, a]}, cannot come next")
            after = {t: weight * c for t, c in self.chances[s, a].items()}
            paid = [(weight, self.features[s][a])] * (j >= skip)
            weight *= sum(self.chances[s, a].values())
            if j + 1 == len(way) and self.ended(after):
                paid += [(c, self.features[t][0]) for t, c in after.items()]
            for share, phi in paid:
                total = [x + share * y for x, y in zip(total, phi, strict=True)]
        return sorted(after), total

    def ended(self, states: Any) -> bool:
        """Whether all of the states are terminal."""
        return not any(self.chances[s, 0] for s in states)

    def probability(self, way: Any) -> Fraction:
        """Of the moves of a trajectory, given its start and its actions."""
        found = Fraction(1)
        for (s, a), (t, _) in pairwise(way):
            found *= self.likely.get((s, a), {}).get(t, 1)
        return found

    def closed(self, pairs: set[tuple[int, int]]) -> bool:
        """Whether all optimal actions of every state shown and of all that may follow are shown."""
        after = {(t, b) for pair in pairs for t in self.chances[pair] for b in self.optimal[t]}
        return after | {(s, b) for s, _ in pairs for b in self.optimal[s]} <= pairs


class Claim:
    """What a proof says of a task, or of a family, whose states and pairs have the member first."""

    def __init__(self, members: list[Check], name: str, proof: dict[str, Any]) -> None:
        self.members, self.name, self.proof = members, name, proof
        self.family, self.k = proof["format"] == "didact.proof/2", members[0].k
        listed: Any = proof.get("members") if self.family else [proof]
        fits = type(listed) is list and len(listed) == len(members)
        need(fits and all(type(x) is dict for x in listed), f"members must list {len(members)}")
        self.claimed: Any = proof.get("scope")
        for i, (check, policy) in enumerate(zip(members, listed, strict=True)):
            check.policy(policy, f"members[{i}]." if self.family else "")
        need(self.claimed in ("reachable", "all"), "scope must be 'reachable' or 'all'")
        for check in members:
            check.reach(str(self.claimed))
        self.mixed = "items" in proof
        self.shown: list[tuple[int, Any]] = []
        what, says = ("items", self.item) if self.mixed else ("demonstrations", self.demonstration)
        listed = proof.get(what)
        need(type(listed) is list, f"{what} must be a list, not {{}}", listed)
        self.said: list[Any] = [says(x, f"{what}[{j}]") for j, x in enumerate(listed)]
        self.pairs = {(i, s, a) for i, x in self.shown for s, a in x}

    def of_member(self, value: Any, patterns: Any, place: str) -> tuple[int, Any]:
        """The member that a value of a family begins with; the rest, by patterns of its size."""
        i = 0
        if self.family:
            fits = type(value) is list and value
            need(fits, f"{place} must begin with a member, not {{}}", value)
            i, value = read(value[0], len(self.members), f"{place}[0]"), value[1:]
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
        self.shown.append((i, x))
        return i, x

    def item(self, x: Any, place: str) -> Any:
        """3. The rows of an item, none of them negative under the weights of the task."""
        if type(x) is list:
            i, way = self.demonstration(x, place)
            rows = [self.row(i, s, a, b) for s, a in way for b in range(self.members[i].m)]
        else:
            i, rows = self.feedback(x, place)
        fits = all(sum(map(mul, self.members[i].weights, row)) >= 0 for _, row in rows)
        need(fits, f"{place} is not true of the weights")
        return rows

    def feedback(self, x: Any, place: str) -> tuple[int, list[Any]]:
        """The member and the rows of a comparison, or of trajectories that are compared: from the
        same start, and as long as each other or both ended."""
        kind: Any = x.get("kind") if type(x) is dict else None
        need(type(kind) is str and kind in SIDES, f"{place} has no kind of its own")
        need(self.family or x.get("member") is None, f"{place} must have no member")
        sides = [x.get("member")] * self.family + [x.get(name) for name in SIDES[kind]]
        i, sides = self.of_member(sides, PATTERNS[kind], place)
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

    def worth(self, weights: list[Fraction], i: int, *statement: int) -> Fraction:
        """Negative where the weights break the row of a statement of a member."""
        return sum(map(mul, weights, self.row(i, *statement)[1]), Fraction(0))

    def verdict(self) -> str:
        """4. "open": the weights given fit all rows that are said and break one row. "teaches":
        rows are sums of nonnegative multiples of said ones, so what fits these fits all."""
        named, members = f"{self.name} (scope {self.claimed})", self.members
        if self.proof["claim"] == "open":
            weights = read(self.proof.get("weights"), self.k, "weights")
            i, (s, a, b) = self.of_member(self.proof.get("row"), lambda n, m: (n, m, m), "row")
            fits = s in members[i].reached and a in members[i].optimal[s]
            need(fits, f"row: {self.named(i, s, a)} is not optimal in scope")
            broken = [x for x, (_, row) in self.rows() if sum(map(mul, weights, row)) < 0]
            need(not broken, f"weights: they break what is said, {broken[:1]}")
            breaks = self.worth(weights, i, s, a, b) < 0
            need(breaks, f"row: the weights do not break {self.named(i, s, a, b)}")
            where = f"state {s} of member {i}" if self.family else f"state {s}"
            return f"leave {named} open: weights that fit them prefer {b} to {a} in {where}"
        rays = []
        listed: Any = self.proof.get("generators")
        need(type(listed) is list, "generators must be a list, not {}", listed)
        for j, x in enumerate(listed):
            place = f"generators[{j}]"
            if self.mixed:
                item, number = read(x, (len(self.said), MAX_SIZE), place)
                need(number < len(self.said[item]), f"{place}: items[{item}] says less")
                rays.append(self.said[item][number])
                continue
            i, (s, a, b) = self.of_member(x, lambda n, m: (n, m, m), place)
            need((i, s, a) in self.pairs, f"{place}: {self.named(i, s, a)} is not demonstrated")
            rays.append(self.row(i, s, a, b))
        return f"teach {named}: {self.follow(rays, [True] * len(rays))} follow"

    def rows(self) -> list[tuple[Any, Any]]:
        """All rows that are said, each with its name."""
        if self.mixed:
            return [(f"items[{j}]", row) for j, rows in enumerate(self.said) for row in rows]
        named = [(*pair, c) for pair in sorted(self.pairs) for c in range(self.members[pair[0]].m)]
        return [(self.named(*x), self.row(*x)) for x in named]

    def follow(self, rays: list[Any], strict: list[bool]) -> str:
        """All directions of the optimal policy's rows are sums of multiples of the rays, which are
        not negative where these are strict."""
        rows = [
            (i, s, a, b)
            for i, check in enumerate(self.members)
            for s in check.scope
            for a in check.optimal[s]
            for b in range(check.m)
        ]
        directions = [*dict.fromkeys(filter(any, (self.row(*row)[1] for row in rows)))]
        pattern = ([(len(rays), Fraction)],) * len(directions)
        for i, terms in enumerate(read(self.proof.get("multipliers"), pattern, "multipliers")):
            fits = all(c >= 0 or not strict[j] for j, c in terms)
            need(fits, f"multipliers[{i}]: one is negative")
            scaled = [(c * rays[j][0], rays[j][1]) for j, c in terms]
            total = tuple(sum(c * ray[f] for c, ray in scaled) for f in range(len(self.k)))
            need(total == directions[i], f"multipliers[{i}] do not give {{}}", directions[i])
        n_states = sum(len(check.scope) for check in self.members)
        return f"{len(directions)} directions of {n_states} states"

    def exam(self, exam: dict[str, Any]) -> str:
        """6. Each question compares two actions of a state in scope, or trajectories that begin
        with them, the better one optimal, so that who has the same optimal sets answers as the key
        says; who does has them, because all rows follow; and for each question an agent answers
        all others rightly and not this one."""
        rays, strict = [], []
        for j, x in enumerate(exam["questions"]):
            place = f"questions[{j}]"
            i, (s, a, b), (size, normal) = self.question(x, str(exam.get("ask"))[:-1], place)
            check = self.members[i]
            worth = size * sum(map(mul, check.weights, normal))
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
        for i, weights in enumerate(read(self.proof.get("agents"), (self.k,) * n, "agents")):
            for j, (_, ray) in enumerate(rays):
                worth = sum(map(mul, weights, ray), Fraction(0))
                right = worth > 0 if strict[j] else worth == 0
                need(right == (i != j), f"agents[{i}] must fail question {i} alone, not {j}")
        self.exam_says(exam, {"lower_bound": n})
        where = f"{self.name} (scope {self.claimed})"
        return f"{n} questions decide {where}: {told} follow, and each is needed"

    def question(self, x: Any, kind: str, place: str) -> tuple[int, Any, Any]:
        """The member, the state and the two actions of a question, and the row between its sides.

        Trajectories go on optimally after the first action, surely, and meet or end: so to whoever
        has the same optimal sets they differ by what these two actions do."""
        fits = type(x) is dict and type(x.get("options")) is list
        need(fits and x.get("kind") == kind, f"{place} must be a {kind}")
        asked = [x.get("member")] * self.family + [x.get("state"), *x["options"]]
        if kind == "comparison":
            i, statement = self.of_member(asked, PATTERNS[kind], place)
            return i, statement, self.row(i, *statement)
        i, (s, *ways) = self.of_member(asked, lambda n, m: (n, *PATTERNS[kind](n, m)), place)
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
            costs = [size * sum(map(mul, check.weights, row)) for size, row in rows]
            given = read(x.get("costs"), (Fraction,) * check.m, f"{place}.costs")
            need(given == costs, f"{place}.costs must be {{}}, not {{}}", costs, given)
            asked.add((i, s))
        for i, s in sorted(asked):
            check = self.members[i]
            after = {t for a in check.optimal[s] for t in check.chances[s, a]}
            left = [t for t in sorted(after) if not check.ended([t]) and (i, t) not in asked]
            need(not left, f"questions: {left[:1]} follows {self.named(i, s)} and is not asked")
        rays, strict = [], []
        need(type(self.proof.get("generators")) is list, "generators must be a list")
        for j, x in enumerate(self.proof["generators"]):
            i, (s, a, b) = self.of_member(x, PATTERNS["comparison"], f"generators[{j}]")
            best = self.members[i].optimal[s]
            need((i, s) in asked and a in best, f"generators[{j}]: {x} is not asked")
            rays.append((Fraction(1), self.row(i, s, a, b)[1]))
            strict.append(b not in best)
        n, told = len(exam["questions"]), self.follow(rays, strict)
        need(n == len(asked), "questions: a state is asked twice")
        read(exam.get("lower_bound"), n + 1, "lower_bound")
        self.exam_says(exam, {})
        where = f"{self.name} (scope {self.claimed})"
        return f"{n} questions decide {where}: {told} follow, and their states are closed"

    def exam_says(self, exam: dict[str, Any], said: dict[str, Any]) -> None:
        """What an exam and its settings say of themselves, they say as the proof does."""
        settings: Any = exam.get("settings")
        need(type(settings) is dict, "settings must be an object, not {}", settings)
        said |= {"ask": exam["ask"], "arithmetic": "exact", "open": []}
        said |= {"closed": True, "n_close_calls": 0}
        for name, value in {**said, "scope": self.claimed}.items():
            given = exam.get(name) if name in said else settings.get(name)
            fits = json.dumps([given, settings.get(name, value)]) == json.dumps([value, value])
            need(fits, f"{name} must be {{}}, as in the proof", value)

    def wrapper(self, lesson: dict[str, Any]) -> None:
        """5. What a lesson and its settings say of themselves, they say as the proof does."""
        settings, proof = lesson.get("settings", {}), self.proof
        need(type(settings) is dict, "settings must be an object, not {}", settings)
        what = "items" if self.mixed else "demonstrations"
        needed = {what: proof[what], "status": STATUS[proof["claim"]]}
        chosen = {"scope": self.claimed, "arithmetic": "exact"}
        for place, said in ((lesson, needed | self.sizes() | chosen), (settings, chosen)):
            for key, value in said.items():
                given = place.get(key, None if key in needed else value)
                fits = json.dumps(given) == json.dumps(value)
                need(fits, f"{key} must be {{}}, as in the proof, not {{}}", value, given)
        if proof["claim"] == "open" and lesson.get("witness") is not None:
            weights = read(proof["weights"], self.k, "weights")
            scaled = [x / max(map(abs, weights)) for x in weights]
            given = read(lesson["witness"], self.k, "witness")
            need(given == scaled, "witness must be the weights of the proof, the largest 1 or -1")
        self.hardest(lesson)
        if "fewest" in proof:
            self.settled(lesson, settings)
        longest = max((len(x) for _, x in self.shown), default=0)
        for key, least in (("budget", len(proof[what])), ("horizon", longest)):
            most = read(settings.get(key, least) or least, 10**18, key)
            need(most >= least, f"{key} must be at least {least}, as in the proof, not {most}")
        first = [self.named(i, x[0][0]) for i, x in self.shown if x]
        self.starts(settings.get("starts"), first)

    def fewest(self) -> str:
        """8. Every lesson that teaches excludes each witness, a reward that some optimal pair in
        scope excludes. No allowed demonstration excludes witnesses of more weight than it costs, so
        every lesson costs at least the sum of the weights. A member's fixed cost may pay what its
        demonstrations, those that no other one dominates, exclude beyond their own cost."""
        part, n = self.proof["fewest"], len(self.members)
        fits = type(part) is dict and not self.mixed and self.proof["claim"] == "teaches"
        need(fits, "fewest must be an object, of demonstrations that teach")
        patterns: Any = {"witnesses": [self.k], "weights": [Fraction], "bound": Fraction}
        patterns |= {"min_probability": Fraction, "member_cost": [(n, Fraction)]}
        found = {key: read(part.get(key), p, f"fewest.{key}") for key, p in patterns.items()}
        self.y, self.least, fixed = found["weights"], found["min_probability"], found["member_cost"]
        rule, fixed = part.get("cost"), dict(fixed)
        is_named = rule in ("demonstrations", "pairs", "attempts")
        listed = [] if is_named else read(rule, [(self.members[0].n, Fraction)], "fewest.cost")
        self.rule, self.prices = rule if is_named else "table", dict(listed)
        costs = [*self.prices.values(), *fixed.values()]
        fits = min([*self.y, *costs, self.least], default=0) >= 0 and (is_named or not self.family)
        need(fits, "fewest: a number is negative, or a family has a table of starts")
        places = [part.get("starts"), part.get("horizon")]
        starts, limits = places if self.family else ([[0, places[0]]], [places[1]])
        limits = read(limits, [MAX_SIZE], "fewest.horizon")
        need(type(starts) is list and len(starts) == len(limits), "fewest.starts must be a list")
        self.begin: Any = {}
        for x, horizon in zip(starts, limits, strict=True):
            need(type(x) is list and x, "fewest.starts must name members")
            i, (own,) = read(x[0], n, "fewest.starts"), read(x[1:], ([MAX_SIZE],), "fewest.starts")
            fits = i not in self.begin and {*own} <= {*self.members[i].scope}
            fits = fits and (is_named or {*own} <= {*self.prices})
            need(fits, f"fewest.starts: member {i} stands twice, or a start has no cost or scope")
            self.begin[i] = {*own}, horizon
        excluded, wrong = self.exclusions(found["witnesses"])
        fits = wrong + 1 == 1 << len(found["witnesses"]) and len(found["witnesses"]) == len(self.y)
        need(fits, "fewest.witnesses: one is not a wrong reward, or has no weight")
        for i in self.begin:
            over = self.outweighing(i, excluded[i], i in fixed)
            said = f"fewest: demonstrations of member {i} exclude more weight than they cost"
            need(sum(over, Fraction(0)) <= fixed.get(i, 0), said)
        bound, unit = sum(self.y, Fraction(0)), lcm(*(c.denominator for c in costs))
        bound = bound if self.rule == "attempts" else Fraction(-(-bound * unit // 1), unit)
        need(found["bound"] == bound, "fewest.bound must be {}, not {}", bound, found["bound"])
        self.spent: Any = sum(fixed.get(i, Fraction(0)) for i in {i for i, _ in self.shown})
        for i, way in self.shown:
            own, horizon = self.begin.get(i, ((), 0))
            likely = self.members[i].probability(way)
            fits = way and way[0][0] in own and len(way) <= horizon and likely >= self.least
            fits = fits and self.spent is not None
            self.spent = self.spent + self.cost(way[0][0], len(way), likely) if fits else None
        n_starts, longest = sum(len(own) for own, _ in self.begin.values()), max(limits, default=0)
        walks = f"probability at least {show(self.least)}" if self.least else "any probability"
        what = f"({n_starts} starts, at most {longest} steps, {walks}, cost {self.rule})"
        if self.spent != bound:
            return f"; every lesson of allowed demonstrations {what} costs at least {show(bound)}"
        what = f"no lesson of allowed demonstrations {what} costs less than {show(bound)}"
        return f"; proved fewest: {what}"

    def cost(self, start: int, length: int, likely: Fraction) -> Fraction:
        """What a demonstration costs, without the fixed cost of its member."""
        if self.rule == "table":
            return Fraction(self.prices[start])
        return {"pairs": Fraction(length), "attempts": 1 / likely}.get(self.rule, Fraction(1))

    def exclusions(self, rewards: Any) -> tuple[list[dict[tuple[int, int], int]], int]:
        """Which rewards each optimal pair in scope excludes, as bits, and those of all pairs."""
        excluded: Any = [defaultdict(int) for _ in self.members]
        wrong = 0
        for number, reward in enumerate(rewards):
            _, (weights,) = in_common([reward])
            for i, s in ((i, s) for i, check in enumerate(self.members) for s in check.scope):
                values = [sum(map(mul, weights, mu)) for mu in self.members[i].table[s]]
                for a in self.members[i].optimal[s]:
                    if values[a] < max(values):
                        excluded[i][s, a] |= 1 << number
                        wrong |= 1 << number
        return excluded, wrong

    def outweighing(self, i: int, excluded: Any, every: bool) -> list[Fraction]:
        """By how much sets of witnesses outweigh the allowed demonstrations of a member that
        exclude them: the first that does, or every one that no other one dominates. The search is
        over states and sets met before; it goes on where these are met more likely than before."""
        check, worth, found = self.members[i], {0: Fraction(0)}, dict[int, Fraction]()
        kept: list[Any] = []
        starts, horizon = self.begin[i]
        for begin in [[s] for s in starts] if self.rule == "table" else [sorted(starts)]:
            front, length = {(s, 0): Fraction(1) for s in begin}, 0
            best = dict(front)
            while front and length < horizon:
                after, length = {}, length + 1
                for (s, met), likely, a in (
                    (*x, a) for x in front.items() for a in check.optimal[x[0][0]]
                ):
                    now = met | excluded.get((s, a), 0)
                    if now not in worth:
                        own = (y for j, y in enumerate(self.y) if now >> j & 1)
                        worth[now] = sum(own, Fraction(0))
                    cost = self.cost(begin[0], length, likely) if now != met else worth[now]
                    if worth[now] > cost and cost < found.get(now, cost + 1):
                        found[now] = cost
                    chances = check.likely.get((s, a)) or dict.fromkeys(check.chances[s, a], 1)
                    for t, p in chances.items():
                        chance = likely * p if self.least or self.rule == "attempts" else likely
                        if chance >= self.least and chance > best.get((t, now), 0):
                            best[t, now] = after[t, now] = chance
                if found and not every:
                    return [Fraction(1)]
                need(
                    len(best) <= MAX_SIZE, "fewest: there are too many sets of witnesses to search"
                )
                front = after
        for now, cost in sorted(found.items(), key=lambda x: (x[1], -x[0].bit_count())):
            kept += [(now, cost)] if all(now & ~other for other, _ in kept) else []
        return [worth[now] - cost for now, cost in kept]

    def settled(self, lesson: dict[str, Any], settings: dict[str, Any]) -> None:
        """Cost, bound and what is allowed, as lesson and settings say them, fit `fewest`."""
        part: Any = self.proof["fewest"]
        usual = [[i, sorted({*c.chances[c.n, 0]} & {*c.live})] for i, c in enumerate(self.members)]
        default = {"starts": usual if self.family else usual[0][1], "member_cost": []}
        said = {key: part[key] for key in ("min_probability", "starts", "member_cost")}
        said |= {"cost": "given" if self.rule == "table" else self.rule}
        said["horizon"] = max((x for _, x in self.begin.values()), default=None)
        for place, listed in ((lesson, {"lower_bound": part["bound"]}), (settings, said)):
            for key, value in listed.items():
                given = default.get(key, value) if place.get(key) is None else place[key]
                fits = json.dumps(given) == json.dumps(value)
                need(fits, f"{key} must be {{}}, as in fewest, not {{}}", value, given)
        if self.spent is not None and "cost" in lesson:
            given = read(lesson["cost"], Fraction, "cost")
            need(given == self.spent, "cost must be {}, not {}", self.spent, given)

    def sizes(self) -> dict[str, Any]:
        """How much a lesson shows, whether it is closed, and nothing open where it teaches."""
        said: dict[str, Any] = {}
        if self.proof["claim"] == "teaches":
            said = {"open" if self.mixed else "uncovered": [], "witness": None, "loss": None}
        if self.mixed:
            return said
        own: Any = defaultdict(set)
        for i, s, a in self.pairs:
            own[i].add((s, a))
        said["closed"] = all(self.members[i].closed(x) for i, x in own.items())
        n_pairs = sum(len(x) for _, x in self.shown)
        return said | {"n_demonstrations": len(self.shown), "n_pairs": n_pairs}

    def hardest(self, lesson: dict[str, Any]) -> None:
        """The least positive worth of a row that is said; None where there is none."""
        weights = self.members[0].weights
        worths = (size * sum(map(mul, weights, row)) for _, (size, row) in self.rows())
        least = min((x for x in worths if x > 0), default=None)
        given = lesson.get("hardest", least)
        exact = given if given is None or given is least else read(given, Fraction, "hardest")
        need(exact == least, "hardest must be {}, not {}", least, given)

    def starts(self, given: Any, first: list[list[int]]) -> None:
        """Demonstrations begin where the settings say; in a family [member, states] for each."""
        if not given:
            return
        allowed = [] if self.family else [[s] for s in read(given, [self.members[0].n], "starts")]
        need(type(given) is list, "starts must be a list, not {}", given)
        for j, x in enumerate(given if self.family else []):
            i, (states,) = self.of_member(x, lambda n, m: ([n],), f"starts[{j}]")
            allowed += [[i, s] for s in states]
        fits = all(x in allowed for x in first)
        need(fits, "starts must hold {}, as in the proof, not {}", first, given)


def tasks(document: dict[str, Any], folder: Path) -> tuple[list[Check], str]:
    """The task of a file, or the members of a family, inline or in files beside it."""
    name = show(document.get("name", "the task" if "members" not in document else "the family"))
    if document["format"] == "didact.task/1":
        return [Check(document)], name
    weights, members = document.get("weights"), document.get("members", [])
    need(type(members) is list and members, "members must be a list of tasks, not {}", members)
    found = []
    for i, member in enumerate(members):
        inline = type(member) is dict
        if not inline:
            need(type(member) is str, f"members[{i}] must be a task or a path")
            member = load(folder / member, "didact.task/1")
        shared = {"weights": weights} if inline else {}
        found.append(Check({**member, **shared}))
        exact = read(weights, found[i].k, "weights")
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
        found = Claim(members, name, {**inner, "items": []})
        return f"proved: {found.states(lesson) if ask == 'actions' else found.exam(lesson)}"
    need(str(claim) in STATUS, "claim must be 'teaches' or 'open', not {}", claim)
    found = Claim(members, name, inner)
    n_pairs = sum(len(x) for _, x in found.shown)
    what = f"{len(found.said)} items" if found.mixed else f"{len(found.shown)} demonstrations"
    what += f" ({n_pairs} pairs)" * (not found.mixed)
    line = f"proved{' open' * (claim == 'open')}: {what} {found.verdict()}"
    line += found.fewest() if "fewest" in inner else ""
    if inner is not lesson:
        found.wrapper(lesson)
    return line


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
