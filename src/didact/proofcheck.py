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
from itertools import chain, pairwise
from math import gcd, lcm, prod
from operator import mul, or_, sub
from pathlib import Path
from typing import Any, NamedTuple

ANY, MAX_BYTES, ROUNDING = range(10**6), 4 * 10**8, Fraction(1, 10**9)  # ANY whole number
MAX_DIGITS, PLAIN_DIGITS = 2 * 10**5, 600  # of one number; that int() takes whatever its limit
NUMBER = re.compile(r"[+-]?(?=\.?\d)\d*(\.\d*)?([eE][+-]?\d{1,3})?(/0*[1-9]\d*)?", re.ASCII)
AT_ONCE, PATIENCE = getattr(os, "O_NONBLOCK", 0), 10  # opening waits for nobody; seconds
STATUS, LIES = {"teaches": "complete", "open": "partial"}, ("lies", "detect")
KINDS: Any = {  # the sides of an item and their patterns, for states s and actions a
    "comparison": (("state", "better", "other"), lambda s, a: (s, a, a)),
    "preference": (("better", "other"), lambda s, a: ([(s, a)], [(s, a)])),
    "correction": (("better", "other"), lambda s, a: ([(s, a)], [(s, a)])),
    "ranking": (("ways",), lambda s, a: ([[(s, a)]],)),
    "stop": (("way", "after"), lambda s, a: ([(s, a)], ANY)),
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
    above, _, below = text.partition("/")
    digits = re.split(r"\D", text) if len(text) > MAX_DIGITS else []
    if NUMBER.fullmatch(text) is None or any(len(x) > MAX_DIGITS for x in digits):
        return None
    over, under = Decimal(above).as_integer_ratio()  # int() refuses long texts
    return Fraction(over, under * int(Decimal(below or 1)))


def read(value: Any, pattern: Any, place: str) -> Any:
    """The value if it has the pattern: a range, its entry with that number; Fraction, a number as
    1, 0.1 or "9/10", read exactly; (p, q), a list of a p and a q; [p], a list of any number of p;
    {key: p}, what an object says of its keys, as a list; None, anything."""
    kind, wanted = type(pattern), "an object"
    if kind in (list, tuple):
        patterns = pattern * len(value) if kind is type(value) is list else pattern
        if type(value) is list and len(value) == len(patterns):
            try:
                return [read(x, p, "") for x, p in zip(value, patterns, strict=True)]
            except ProofError:  # now with the name of the place, which takes time to make
                return [read(value[i], p, f"{place}[{i}]") for i, p in enumerate(patterns)]
        wanted = f"a list of {len(patterns)}" if kind is tuple else "a list"
    elif kind is type(value) is dict:
        return [read(value.get(key), p, f"{place}.{key}") for key, p in pattern.items()]
    elif kind is range:
        if type(value) is int and 0 <= value < len(pattern):
            return pattern[value]
        wanted = f"a whole number below {len(pattern)}"
    elif pattern is None:
        return value
    elif pattern is Fraction:
        wanted = f"a number of at most {MAX_DIGITS} digits"
        if type(value) in (int, str) and (found := number(str(value).strip())) is not None:
            return found
    raise ProofError(f"{place} must be {wanted}, not {show(value)}")


def same(given: Any, value: Any) -> bool:
    """Whether JSON says a value; numbers are compared exactly, however they are written."""
    if type(value) is list:
        return type(given) is list and len(given) == len(value) and all(map(same, given, value))
    if isinstance(value, Fraction):
        return type(given) in (int, str) and number(str(given).strip()) == value
    return json.dumps(given) == json.dumps(value)


def agree(said: dict[str, Any], wanted: dict[str, Any], place: str = "") -> None:
    """An object says the values of keys; of a number it may also say null, that is nothing."""
    for key, value in wanted.items():
        given = said.get(key)
        fits = same(given, value) or (given is None and isinstance(value, Fraction))
        need(fits, f"{place}{key} must be {{}}, not {{}}", value, given)


def direction(row: Any) -> tuple[int, ...]:
    """The coprime integers that are a row times a positive number."""
    common, unit = gcd(*(x.numerator for x in row)), lcm(*(x.denominator for x in row))
    return tuple(x.numerator // (common or 1) * (unit // x.denominator) for x in row)


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


class CheckedTask(NamedTuple):
    """A task of a family, or the only one; its states are numbered after those before it."""

    number: int
    states: range
    actions: range
    discount: Fraction
    starts: list[int]


class Check:
    """A task or a family, then step by step what a proof says of it."""

    def __init__(self, file: dict[str, Any], folder: Path) -> None:
        self.family = file["format"] == "didact.family/1"
        self.title = file.get("name", "the family" if self.family else "the task")
        self.weights = read(file.get("weights"), [Fraction], "weights")
        self.k = (Fraction,) * len(self.weights)
        self.members: list[CheckedTask] = []
        self.home: list[CheckedTask] = []  # of each state
        self.live: set[int] = set()  # states that are not terminal
        self.features: list[Any] = []  # by state and action
        self.chances: dict[tuple[int, int], dict[int, Fraction]] = {}
        listed: Any = file.get("members") if self.family else [file]
        need(type(listed) is list and listed, "members must be a list of tasks, not {}", listed)
        for i, task in enumerate(listed):
            if type(task) is str:
                task = load(folder / task, "didact.task/1")
                fits = read(task.get("weights"), self.k, "weights") == self.weights
                need(fits, f"members[{i}] has other weights than the family")
            need(type(task) is dict, f"members[{i}] must be a task or a path")
            self.add(task)

    def add(self, file: dict[str, Any]) -> None:
        """Read a task; its probabilities are divided by their sum, which is 1 or nearly."""
        n, m = (read(file.get(key), ANY, key) for key in ("n_states", "n_actions"))
        first, features = len(self.home), file.get("features")
        states, actions = range(first, first + n), range(m)
        by_action = reprlib.repr(features).startswith("[[[")
        phi = read(features, ((self.k,) * m if by_action else self.k,) * n, "features")
        discount = read(file.get("discount"), Fraction, "discount")
        need(0 <= discount < 1, "discount must be in [0, 1), not {}", discount)
        ended, start = file.get("terminal"), file.get("start")
        terminal = {*read([] if ended is None else ended, [states], "terminal")}
        live = [s for s in states if s not in terminal]
        if start in (None, "uniform"):
            start = [[s - first, f"1/{len(live)}"] for s in live]
        rows = read(file.get("transitions"), [(states, actions, states, Fraction)], "transitions")
        rows += [[None, 0, *pair] for pair in read(start, [(states, Fraction)], "start")]
        found: Any = defaultdict(dict)
        for s, a, t, p in rows:  # state None stands for the start
            row = [s if s is None else s - first, a, t - first]
            need(s not in terminal and p >= 0, "{}: it is terminal or {} < 0", row, p)
            found[s, a][t] = found[s, a][t] + p if t in found[s, a] else p
        for (s, a), after in found.items():
            mass = sum(after.values())
            place = "start" if s is None else f"transitions[{s - first}, {a}]"
            need(mass == 1 or abs(mass - 1) <= ROUNDING, f"{place} must sum to 1, not {{}}", mass)
            found[s, a] = {t: p if mass == 1 else p / mass for t, p in after.items() if p}
        need(m and len(found) == len(live) * m + 1, "transitions or start are missing")
        starts = sorted({*found.pop((None, 0))} - terminal)
        need(starts, "start lies in terminal states only")
        self.features += phi if by_action else [[x] * m for x in phi]
        fits = all(x == self.features[s][0] for s in terminal for x in self.features[s])
        need(fits, "features of a terminal state must not depend on the action")
        self.members.append(CheckedTask(len(self.members), states, actions, discount, starts))
        self.home += [self.members[-1]] * n
        self.live |= {*live}
        self.chances |= found

    def of(self, member: Any, value: Any, patterns: Any, place: str) -> tuple[int, Any]:
        """The member that a file names, and a value with its states and actions."""
        need(self.family or member is None, f"{place} must have no member")
        i = read(member, range(len(self.members)), f"{place}.member") if self.family else 0
        return i, read(value, patterns(self.members[i].states, self.members[i].actions), place)

    def statement(self, value: Any, place: str, patterns: Any = KINDS["comparison"][1]) -> Any:
        """A list with states and actions; in a family it begins with the member."""
        member, *listed = ([] if self.family else [None]) + read(value, [None], place) or [None]
        return self.of(member, listed, patterns, place)[1]

    def starts(self, value: Any, place: str) -> list[tuple[int, list[int]]]:
        """Each member named with states; a task has a list of states only."""
        listed = read(value, [(None, None)], place) if self.family else [[None, value]]
        return [self.of(member, own, lambda s, a: [s], place) for member, own in listed]

    def named(self, s: int, *actions: int) -> list[int]:
        """A state and actions as files write them."""
        return [self.home[s].number] * self.family + [s - self.home[s].states[0], *actions]

    def policy(self, member: CheckedTask, proof: dict[str, Any], at: str) -> Any:
        """1. mu(s) is the mean of mu(s, a) over the listed actions, or phi(s) in a terminal state;
        2. these are all actions of largest weights.mu(s, a). Only the optimal policy has both."""
        states, n = member.states, len(member.states)
        optimal = read(proof.get("optimal"), ([member.actions],) * n, f"{at}optimal")
        counts = read(proof.get("counts"), (self.k,) * n, f"{at}counts")
        pairs = [(s, a) for s in states if s in self.live for a in member.actions]
        shares = [[member.discount * p for p in self.chances[pair].values()] for pair in pairs]
        step, shares = in_common(shares)
        size, whole = in_common([*counts, *(phi for s in states for phi in self.features[s])])
        paid, unit = iter(whole[n:]), size * step
        self.units += [unit] * n  # of a state, in which its mu(s, a) are whole numbers
        self.table += [[[x * step for x in next(paid)] for _ in member.actions] for _ in states]
        for (s, a), row in zip(pairs, shares, strict=True):
            mu = zip(*(whole[t - states[0]] for t in self.chances[s, a]), strict=True)
            self.table[s][a] = [x + dot(row, y) for x, y in zip(self.table[s][a], mu, strict=True)]
        for j, s in enumerate(states):
            rows = [self.table[s][a] for a in optimal[j] or [0]]
            for i, total in enumerate(map(sum, zip(*rows, strict=True))):
                fits = total == len(rows) * step * whole[j][i]
                said = f"{at}counts[{j}][{i}]: the Bellman equation gives {{}}, the proof says {{}}"
                need(fits, said, fits or Fraction(total, len(rows) * unit), counts[j][i])
        weights = in_common([self.weights])[1][0]
        for j, s in enumerate(states):
            values = [dot(weights, mu) for mu in self.table[s]]
            best = [a for a, x in enumerate(values) if x == max(values) and s in self.live]
            need(optimal[j] == best, f"{at}optimal[{j}] must be {{}}, not {{}}", best, optimal[j])
        return optimal

    def row(self, s: int, a: int, b: int) -> list[Fraction]:
        """mu(s, a) - mu(s, b)."""
        return [Fraction(x, self.units[s]) for x in map(sub, self.table[s][a], self.table[s][b])]

    def walk(self, way: Any, place: str, skip: int = 0) -> tuple[list[int], list[Fraction]]:
        """Where a trajectory that can happen may end, and what it counts after so many steps."""
        need(way, f"{place} shows no step")
        paid, weight, after = list[Any](), Fraction(1), {way[0][0]: Fraction(1)}
        for j, (s, a) in enumerate(way):
            fits = s in after and s in self.live
            need(fits, f"{place}: step {j}, {self.named(s, a)}, cannot come next")
            paid += [(weight, self.features[s][a])] * (j >= skip)
            weight, after = weight * self.home[s].discount, self.chances[s, a]
        if self.live.isdisjoint(after):
            paid += [(weight * p, self.features[t][0]) for t, p in after.items()]
        shares, rows = zip(*paid, strict=True)
        return sorted(after), [dot(shares, x) for x in zip(*rows, strict=True)]

    def probability(self, way: Any) -> Fraction:
        """Of the moves of a trajectory, given its start and its actions."""
        return prod((self.chances[s, a][t] for (s, a), (t, _) in pairwise(way)), start=Fraction(1))

    def after(self, s: int) -> list[int]:
        """The states that optimal actions of a state in scope may lead to and that do not end."""
        return sorted({t for a in self.best[s] for t in self.chances[s, a]} & self.live)

    def claim(self, proof: dict[str, Any]) -> None:
        """Read a proof: steps 1 to 3; `best` are the optimal actions of states in scope: 'all', or
        'reachable', what the start can lead to under any policy."""
        self.proof, self.claimed, self.demand = proof, proof.get("scope"), 1
        self.about = f"{show(self.title)} (scope {self.claimed})"
        policies: Any = proof.get("members") if self.family else [proof]
        read(policies, ({},) * len(self.members), "members")
        need(self.claimed in ("reachable", "all"), "scope must be 'reachable' or 'all'")
        self.table, self.units, optimal = list[Any](), list[int](), list[Any]()
        for member, policy in zip(self.members, policies, strict=True):
            optimal += self.policy(member, policy, f"members[{member.number}]." * self.family)
        starts = {s for member in self.members for s in member.starts}
        found, new = set[int](), self.live if self.claimed == "all" else starts
        while new:
            found |= new
            after = {t for s in new for a in self.home[s].actions for t in self.chances[s, a]}
            new = (after & self.live) - found
        self.scope = sorted(found)
        self.best = [x if s in found else [] for s, x in enumerate(optimal)]
        self.mixed = "items" in proof
        self.what = "items" if self.mixed else "demonstrations"
        self.listed: list[tuple[int, str, Any]] = []  # member, kind and what is shown, in order
        listed = read(proof.get(self.what), [None], self.what)
        self.said = [self.item(x, f"{self.what}[{j}]") for j, x in enumerate(listed)]
        self.shown = [x for _, kind, x in self.listed if kind == "demonstration"]

    def item(self, x: Any, place: str) -> list[Any]:
        """3. Demonstrated pairs are optimal, in scope and can follow each other; the rows of any
        item are not negative under the weights of the task."""
        if self.mixed and type(x) is not list:
            i, rows = self.feedback(x, place)
            self.listed.append((i, x["kind"], x))
            need(all(dot(self.weights, row) >= 0 for row in rows), f"{place}: the weights break it")
            return rows
        member, way = read(x, (None, None), place) if self.family else (None, x)
        i, way = self.of(member, way, lambda s, a: [(s, a)], place)
        for j, (s, a) in enumerate(way):
            named, fits = self.named(s, a), j == 0 or s in self.chances[tuple(way[j - 1])]
            need(a in self.best[s], f"{place}[{j}]: {named} is not optimal in scope")
            need(fits, f"{place}[{j}]: {named} cannot come next")
        self.listed.append((i, "demonstration", way))
        return [self.row(s, a, b) for s, a in way for b in self.home[s].actions]

    def feedback(self, x: Any, place: str) -> tuple[int, list[Any]]:
        """The member and the rows of a comparison, or of trajectories that are compared: from the
        same start, and as long as each other or both ended."""
        kind: Any = x.get("kind") if type(x) is dict else None
        need(type(kind) is str and kind in KINDS, f"{place} has no kind of its own")
        names, patterns = KINDS[kind]
        i, sides = self.of(x.get("member"), [x.get(name) for name in names], patterns, place)
        if kind == "comparison":
            need(sides[0] in self.live, f"{place}: state {x['state']} is terminal")
            return i, [self.row(*sides)]
        if kind == "stop":
            off, skip = x.get("off_is_worth_nothing"), sides[1]
            need(off is True and skip < len(sides[0]), f"{place} stops nothing")
            return i, [[-c for c in self.walk(sides[0], place, skip)[1]]]
        ways = sides[0] if kind == "ranking" else sides
        return i, [self.preferred(x, y, place) for x, y in pairwise(ways)]

    def preferred(self, first: Any, second: Any, place: str, asked: int | None = None) -> Any:
        """The row by which one of two comparable trajectories counts more. Those asked about in a
        state go on optimally and surely, and meet or end: so they differ by their first actions."""
        (ends, counts), (others, less) = (self.walk(x, place) for x in (first, second))
        ended, also = self.live.isdisjoint(ends), self.live.isdisjoint(others)
        fits = (ended, first[0][0]) == (also, second[0][0]) and (ended or len(first) == len(second))
        need(fits, f"{place}: trajectories must begin together and be as long, or both have ended")
        for way in (first, second) if asked is not None else ():
            fits = way[0][0] == asked and all(len(self.chances[t, a]) == 1 for t, a in way)
            fits = fits and all(a in self.best[t] for t, a in way[1:])
            need(fits, f"{place}: a trajectory leaves the best policy, or something to chance")
        need(asked is None or ends == others or ended, f"{place}: the trajectories do not meet")
        return list(map(sub, counts, less))

    def verdict(self) -> str:
        """4. "open": the weights given fit all rows that are said and break one row. "teaches":
        rows are sums of nonnegative multiples of said ones, so what fits these fits all."""
        if self.proof["claim"] == "teaches":
            return f"teach {self.about}: {self.follow()}"
        weights = read(self.proof.get("weights"), self.k, "weights")
        s, a, b = self.statement(self.proof.get("row"), "row")
        need(a in self.best[s], f"row: {self.named(s, a)} is not optimal in scope")
        broken = [j for j, x in enumerate(self.said) if any(dot(weights, row) < 0 for row in x)]
        need(not broken, f"weights: they break {self.what} {broken[:1]}")
        need(dot(weights, self.row(s, a, b)) < 0, f"row: weights must break {self.named(s, a, b)}")
        return f"leave {self.about} open: in {self.named(s)} weights that fit prefer {b} to {a}"

    def follow(self) -> str:
        """All directions of the optimal policy's rows are sums of multiples of rows that are said,
        which are not negative; of an exam they may be where a tie is said, which is equal to 0."""
        pairs = [(s, a) for s in self.scope for a in self.best[s]]
        rows = (tuple(map(sub, self.table[s][a], mu)) for s, a in pairs for mu in self.table[s])
        directions = [*dict.fromkeys(direction(row) for row in dict.fromkeys(rows) if any(row))]
        named = read(self.proof.get("generators"), [(range(len(self.said)), ANY)], "generators")
        for i, (item, j) in enumerate(named):
            need(j < len(self.said[item]), f"generators[{i}]: there is no such row")
        scale, rays = in_common([self.said[item][j] for item, j in named])
        free = [self.proof["claim"] == "decides" and not dot(self.weights, x) for x in rays]
        pattern = ([(range(len(rays)), Fraction)],) * len(directions)
        for i, terms in enumerate(read(self.proof.get("multipliers"), pattern, "multipliers")):
            need(all(c.numerator >= 0 or free[j] for j, c in terms), f"multipliers[{i}] < 0")
            unit, (shares,) = in_common([[c for _, c in terms]])
            columns, wanted = zip(*(rays[j] for j, _ in terms), strict=True), directions[i]
            fits = [dot(shares, x) for x in columns] == [unit * scale * x for x in wanted]
            need(fits, f"multipliers[{i}] do not give {{}}", wanted)
        return f"{len(directions)} directions of {len(self.scope)} states follow"

    def asked(self, exam: dict[str, Any]) -> Any:
        """The questions of an exam: each with its place, state and options, two or any actions."""
        kind = exam["ask"][:-1]
        sides = KINDS[kind][1] if kind in KINDS else lambda s, a: [a]
        for j, x in enumerate(read(exam.get("questions"), [None], "questions")):
            place = f"questions[{j}]"
            need(type(x) is dict and x.get("kind") == kind, f"{place} must be of {kind}s")
            asked = [x.get("state"), x.get("options")]
            asked = self.of(x.get("member"), asked, lambda s, a: (s, sides(s, a)[-2:]), place)[1]
            yield x, place, *asked

    def exam(self, exam: dict[str, Any]) -> str:
        """6. Each question compares two actions of a state in scope, or trajectories that begin
        with them, the better one optimal: who has the same optimal sets answers as the key says,
        and who does has them, because all rows follow. Each has an agent that fails it alone, none
        would fail two; ties, which are independent, need as many: so no exam has fewer."""
        for x, place, s, (a, b) in self.asked(exam):
            if exam["ask"] == "preferences":
                row, a, b = self.preferred(a, b, place, s), a[0][1], b[0][1]
            else:
                row = self.row(s, a, b)
            normal, worth = direction(row), Fraction(dot(self.weights, row))
            first = b if worth < 0 else a
            need(first in self.best[s], f"{place}: {self.named(s, first)} is not optimal in scope")
            key = "first" if worth > 0 else "second" if worth else "equal"
            costs = [max(-worth, Fraction(0)), max(worth, Fraction(0))]
            agree(x, {"key": key, "normal": [*map(Fraction, normal)], "costs": costs}, f"{place}.")
            self.said.append([[-c for c in normal] if worth < 0 else normal])
        told, rays, n = self.follow(), [ray for (ray,) in self.said], len(self.said)
        agents = read(self.proof.get("agents"), (self.k,) * n, "agents")
        strict = [dot(self.weights, ray) != 0 for ray in rays]
        for i, weights in enumerate(agents):
            worths = [dot(weights, ray) for ray in rays]
            failed = [j for j, x in enumerate(worths) if x < 0 or (x > 0) != strict[j]]
            need(failed == [i], f"agents[{i}] must fail question {i} alone, not {failed}")
        answers = self.answers([w for w, x in zip(agents, strict, strict=True) if x], True)
        twice = [self.named(*pair) for pair, each in answers.items() for x in each if x & (x - 1)]
        need(not twice, f"agents: one question about {twice[:1]} fails two of them")
        return self.decides(exam, told, Fraction(n))

    def states(self, exam: dict[str, Any]) -> str:
        """7. Each question is of a state in scope and its key are the optimal actions; what these
        lead to is asked too or ends, so who answers so goes on as we do, and holds a row of two
        optimal actions to be 0 and any other one to be positive; and all rows follow from these."""
        asked = set()
        for x, place, s, options in self.asked(exam):
            fits = self.best[s] and options == [*self.home[s].actions]
            need(fits, f"{place}: {self.named(s)} is not a whole state in scope")
            rows = [self.row(s, a, b) for a in self.best[s] for b in options]
            costs = [dot(self.weights, row) for row in rows[: len(options)]]
            agree(x, {"key": self.best[s], "costs": costs}, f"{place}.")
            need(s not in asked, "questions: a state is asked twice")
            asked.add(s)
            self.said.append([direction(row) for row in rows])
        for s in sorted(asked):
            left = [self.named(t) for t in self.after(s) if t not in asked]
            need(not left, f"questions: {left[:1]} follows {self.named(s)} and is not asked")
        told = f"{self.follow()}, and their states are closed"
        return self.decides(exam, told, self.closed_bound() if "fewest" in self.proof else None)

    def closed_bound(self) -> Fraction:
        """8. An exam that decides asks about a state where a witness, who is not aligned, answers
        otherwise. A closed one asks about all that follows, so what flows from a state to those
        that follow it stays inside. Where the witnesses that a state fails weigh at most 1 and what
        flows from it less what flows to it, there are as many questions as all weights together."""
        wanted: Any = {"witnesses": [self.k], "weights": [Fraction], "flows": [None]}
        rewards, weights, flows = read(self.proof["fewest"], wanted, "fewest")
        costs, failed = dict.fromkeys(self.scope, Fraction(1)), dict.fromkeys(self.scope, 0)
        for x in flows:
            s, t, flow = self.statement(x, "fewest.flows", lambda s, a: (s, s, Fraction))
            fits = flow >= 0 and t in self.after(s)
            need(fits, f"fewest.flows: {self.named(t)} does not follow {self.named(s)}")
            costs[s] += flow
            costs[t] -= flow
        for (s, _), each in self.answers(rewards, True).items():
            failed[s] |= reduce(or_, each)
        self.begin, self.fixed, self.unit = dict[int, Any](), dict[int, Fraction](), 1
        return self.bound(weights, failed, [(0, failed[s], costs[s]) for s in self.scope])

    def decides(self, exam: dict[str, Any], told: str, least: Fraction | None) -> str:
        """What an exam decides, whether fewer questions could, and what was not checked."""
        n, said = len(exam["questions"]), {"open": [], "closed": True, "n_close_calls": 0}
        said |= {key: exam[key] for key in ("ask", "questions")}
        said |= {} if least is None else {"lower_bound": least}
        read(exam.get("lower_bound"), range(n + 1), "lower_bound")
        agree(exam, {**said, "arithmetic": "exact"})
        some = "" if least is None else f"; every such exam has at least {least}"
        some = f"; proved fewest: no such exam has fewer than {n}" if least == n else some
        left = self.says(exam, said, {"closed": True, "ask": exam["ask"]})
        return f"{n} questions decide {self.about}: {told}{some}{left}"

    def fewest(self) -> str:
        """9. A lesson that teaches excludes every witness, a reward that some optimal pair in scope
        excludes. Where nothing that is allowed excludes witnesses of more weight than it costs, a
        lesson costs at least the sum of the weights. Of a mix all comparisons of an optimal action
        in scope are allowed, and other items as they are listed."""
        need(self.proof["claim"] == "teaches", "fewest must be of what teaches")
        part: Any = self.proof["fewest"]
        wanted: Any = {"witnesses": [self.k], "weights": [Fraction], "bound": Fraction}
        rewards, weights, given = read(part, wanted, "fewest")
        self.allow(part)
        excluded = self.answers(rewards)
        masks = {pair: reduce(or_, each) for pair, each in excluded.items() if any(each)}
        least = self.bound(weights, masks, self.singles(excluded, rewards), self.demand)
        need(given == least, "fewest.bound must be {}, not {}", least, given)
        n_starts = sum(len(own) for own, _ in self.begin.values())
        steps = " to ".join(map(str, self.limits[:1] + self.limits[1:][-1:])) or "0"
        cost = f"by kind, {len(self.offered)} other items" if self.mixed else self.rule
        what = f"lesson of allowed {self.what} ({n_starts} starts, at most {steps} steps, "
        what += f"probability at least {show(self.least)}, cost {cost})"
        told = self.repeated() if self.demand > 1 else ""
        what += f" with {self.demand} that exclude each wrong reward" * (self.demand > 1)
        if self.spent() != least or told:
            return f"; every {what} costs at least {show(least)}{told}"
        return f"; proved fewest: no {what} costs less than {show(least)}"

    def repeated(self) -> str:
        """10. With a demand as many demonstrations exclude every wrong reward: all rows follow from
        the directions that are summed, of which each is stated so often. Ties may need fewer."""
        each = [{direction(row) for row in rows if any(row)} for rows in self.said]
        rows = [self.said[item][j] for item, j in self.proof["generators"]]
        n = min((sum(direction(row) in x for x in each) for row in rows), default=self.demand)
        tied = not all(dot(self.weights, row) for row in rows)
        need(n >= self.demand or tied, "fewest.demand: {} state a direction that it needs", n)
        told = f"; not checked: that {self.demand} of these exclude each wrong reward"
        return told * (n < self.demand)

    def allow(self, part: dict[str, Any]) -> None:
        """What is allowed and what it costs: starts and length by member, of a mix also items."""
        given: Any = part.get("cost")
        read(given, {}, "fewest.cost")
        rules = [x for x in ("demonstrations", "pairs", "attempts") if given == {x: 1}]
        self.rule = "demonstrations" if self.mixed else (*rules, "table")[0]
        need(self.rule != "table" or not self.family, "fewest.cost must be a rule, not {}", given)
        own = {"member_cost": [(range(len(self.members)), Fraction)], "min_probability": Fraction}
        fixed, self.least = read(part, own, "fewest")
        self.prices = {x: read(y, Fraction, f"fewest.cost.{x}") for x, y in given.items()}
        self.fixed = dict[int, Fraction](fixed)
        costs = [*self.prices.values(), *self.fixed.values()]
        self.demand = times = read(part.get("demand", 1), ANY, "fewest.demand")
        fits = times == 1 or (times > 1 and not self.mixed and not self.fixed)
        need(fits, "fewest.demand must be 1 of mixes and with fixed costs, not {}", self.demand)
        fits = min([*costs, self.least]) >= 0 and len(self.fixed) == len(fixed)
        need(fits, "fewest: a cost or probability is negative, or a cost stands twice")
        self.unit = 0 if self.rule == "attempts" else lcm(*(c.denominator for c in costs))
        self.begin = dict[int, Any]()
        starts, limits = self.starts(part.get("starts"), "fewest.starts"), part.get("horizon")
        limits = read(limits if self.family else [limits], (ANY,) * len(starts), "fewest.horizon")
        self.limits = sorted({*limits})
        for (i, first), horizon in zip(starts, limits, strict=True):
            fits = i not in self.begin and all(self.best[s] for s in first)
            fits = fits and all(self.cost(s, 1, Fraction(1)) is not None for s in first)
            need(fits, f"fewest.starts: member {i} stands twice, or a start has no cost or scope")
            self.begin[i] = sorted({*first}), horizon
        self.offered = read(part.get("offered") if self.mixed else [], [None], "fewest.offered")

    def answers(self, rewards: Any, exam: bool = False) -> dict[Any, list[int]]:
        """For each optimal pair (s, a) in scope and each action the rewards that prefer this, as
        bits; of an exam also those that find equal what is not, or tell ties apart."""
        whole, found = [in_common([reward])[1][0] for reward in rewards], dict[Any, list[int]]()
        for s in self.scope:
            best = self.best[s]
            worth = [[dot(w, mu) for mu in self.table[s]] for w in whole]
            for a, b in ((a, b) for a in best for b in self.home[s].actions):
                wrong = (x[a] < x[b] or (exam and (x[a] == x[b]) != (b in best)) for x in worth)
                found.setdefault((s, a), []).append(sum(x << j for j, x in enumerate(wrong)))
        return found

    def singles(self, excluded: Any, rewards: Any) -> list[Any]:
        """Of a mix the member of each comparison and listed item, what it excludes and costs."""
        price, found = self.prices.get("comparisons"), list[Any]()
        for (s, _), each in excluded.items() if price is not None else ():
            found += [(self.home[s].number, x, price) for x in each]
        for j, item in enumerate(self.offered):
            i, rows = self.feedback(item, f"fewest.offered[{j}]")
            price = self.prices.get(f"{item['kind']}s")
            need(price is not None, f"fewest.offered[{j}] has no cost")
            wrong = (any(dot(w, row) < 0 for row in rows) for w in rewards)
            found.append((i, sum(x << number for number, x in enumerate(wrong)), price))
        return found

    def bound(self, y: Any, masks: Any, sets: Any, demand: int = 1) -> Fraction:
        """The sum of the weights, rounded up, where no set of witnesses outweighs its cost. With a
        fixed cost some may: each is needed once, and not where another one dominates it; the rest
        together may outweigh their costs by the fixed cost of the member."""
        fits = reduce(or_, masks.values(), 0) + 1 == 1 << len(y) and min(y, default=0) >= 0
        need(fits, "fewest: a witness is no wrong reward, or its weight is missing or negative")
        worth = cache(lambda x: sum((c for j, c in enumerate(y) if x >> j & 1), Fraction(0)))
        for i in range(len(self.members)):
            found, own = dict[int, Fraction](), ((x, cost) for j, x, cost in sets if j == i)
            for x, cost in chain(own, self.walks(i, masks)):
                need(worth(x) <= cost or i in self.fixed, f"fewest: member {i} outweighs its cost")
                if worth(x) > cost:
                    found[x] = min(cost, found.get(x, cost))
            kept: list[int] = []
            for x in sorted(found, key=lambda x: (found[x], -x.bit_count())):
                kept += [x] if all(x & ~other for other in kept) else []
            over = sum((worth(x) - found[x] for x in kept), Fraction(0))
            need(over <= self.fixed.get(i, 0), f"fewest: member {i} outweighs its fixed cost")
        total = demand * sum(y, Fraction(0))
        return Fraction(-(-total * self.unit // 1), self.unit) if self.unit else total

    def walks(self, i: int, masks: Any) -> Any:
        """Sets of witnesses that demonstrations of a member exclude, and what these cost: a search
        over states and sets, again where likelier moves meet them and cost less or are allowed."""
        starts, horizon = self.begin.get(i, ((), 0))
        counts = self.begin and (self.least or self.rule == "attempts")
        for begin in [[s] for s in starts] if starts and self.rule == "table" else [starts]:
            front, length = {(s, 0): Fraction(1) for s in begin}, 0
            likeliest = dict(front)
            while front and length < horizon:
                last, front, length = front, {}, length + 1
                steps = ((*x, p, a) for x, p in last.items() for a in self.best[x[0]])
                for s, met, likely, a in steps:
                    now = met | masks.get((s, a), 0)
                    if now != met:
                        yield now, self.cost(begin[0], length, likely)
                    for t, p in self.chances[s, a].items():
                        chance = likely * p if counts and p != 1 else likely
                        if self.least <= chance > likeliest.get((t, now), 0):
                            likeliest[t, now] = front[t, now] = chance
                need(len(likeliest) <= len(ANY), "fewest: there are too many sets to search")

    def cost(self, start: int, length: int, likely: Fraction) -> Any:
        """What a demonstration costs, but for its member's fixed cost; None if nothing says so."""
        if self.rule in ("table", "demonstrations"):
            return self.prices.get(self.rule if self.rule != "table" else f"{start}")
        return Fraction(length) if self.rule == "pairs" else 1 / likely

    def spent(self) -> Fraction | None:
        """What is shown costs, with the members' fixed costs; None where one is not allowed."""
        members = {i for i, _, _ in self.listed}
        total = sum((cost for i, cost in self.fixed.items() if i in members), Fraction(0))
        for i, kind, x in self.listed:
            price, fits = self.prices.get(f"{kind}s"), x in self.offered
            if kind == "demonstration":
                (own, horizon), likely = self.begin.get(i, ((), 0)), self.probability(x)
                fits = x and x[0][0] in own and len(x) <= horizon and likely >= self.least
                price = self.cost(x[0][0], len(x), likely) if fits else None
            elif kind == "comparison":
                fits = x["better"] in self.best[self.members[i].states[x["state"]]]
            if price is None or not fits:
                return None
            total += price
        return total

    def says(self, file: Any, said: dict[str, Any], chosen: dict[str, Any]) -> str:
        """5. What a file and its settings say beside the proof is as computed; the rest by name."""
        settings, common = file.get("settings", {}), {"scope": self.claimed, "arithmetic": "exact"}
        said, chosen = {"task": self.title, **common, **said}, common | chosen
        for part, wanted in ((file, said), (settings, chosen)):
            agree(part, {key: value for key, value in wanted.items() if key in part})
        left = {*file} - {*said, "format", "proof", "settings"}
        left |= {f"settings.{x}" for x, y in settings.items() if y is not None and x not in chosen}
        return f"; not checked: {', '.join(sorted(left))}" * bool(left)

    def wrapper(self, lesson: dict[str, Any]) -> str:
        """What a lesson says of itself, and which of that was not checked."""
        claim, part = self.proof["claim"], self.proof.get("fewest")
        need({self.what, "status"} <= {*lesson}, f"{self.what} and status must be said")
        said: Any = {self.what: self.proof[self.what], "status": STATUS[claim]}
        if claim == "teaches":
            said |= {"uncovered": [], "witness": None, "loss": None}
        elif lesson.get("witness") is not None:
            weights = read(self.proof["weights"], self.k, "weights")
            said["witness"] = [x / max(map(abs, weights)) for x in weights]  # the largest 1 or -1
        unit, rows = in_common([self.weights, *(row for rows in self.said for row in rows)])
        each = (Fraction(dot(rows[0], row), unit**2) for row in rows[1:])
        said["hardest"] = min((x for x in each if x > 0), default=None)
        if part is not None:
            spent, said["lower_bound"] = self.spent(), read(part["bound"], Fraction, "bound")
            said |= {} if spent is None else {"cost": spent}
        said |= self.sizes(lesson)
        return self.says(lesson, said, self.chosen(lesson.get("settings", {})))

    def chosen(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings that agree with what is shown and with the bound; null is the usual one."""
        part, rule = self.proof.get("fewest"), dict[str, Any]()
        if part is not None and not self.mixed:
            rule = {key: part[key] for key in ("starts", "member_cost", "min_probability")}
            rule["cost"] = "given" if self.rule == "table" else self.rule
            rule["horizon"] = self.limits[0] if len(self.limits) == 1 else self.limits
        starts = [[x.number, [s - x.states[0] for s in x.starts]] for x in self.members]
        usual = {**rule, "starts": starts if self.family else starts[0][1], "member_cost": []}
        given: Any = usual | {key: x for key, x in settings.items() if x is not None}
        agree(given, rule)
        longest = max(map(len, self.shown), default=0)
        for key, least in (("budget", len(self.listed)), ("horizon", longest)):
            most = read(given.get(key, least), range(10**18), key)
            need(most >= least, f"{key} must be at least {least}, as in the proof, not {most}")
        own = {s for _, x in self.starts(given["starts"], "starts") for s in x}
        lies = read(settings.get("lies") or 0, ANY, "lies") * (1 + (not settings.get("detect")))
        need(self.demand == lies + 1, "lies need a demand of {}, not {}", lies + 1, self.demand)
        fits = "starts" not in settings or own >= {x[0][0] for x in self.shown if x}
        need(fits, "starts must hold all that demonstrations begin with, not {}", given["starts"])
        return {key: settings.get(key) for key in ("budget", "horizon", "starts", *LIES, *rule)}

    def sizes(self, lesson: dict[str, Any]) -> Any:
        """How much is shown, how likely it is, whether it is closed; facets are rows in scope."""
        wanted: Any = [{"statement": None, "normal": self.k, "equality": None}]
        facets = read(lesson.get("facets", []), wanted, "facets")
        for j, (statement, normal, tied) in enumerate(facets):
            s, a, b = self.statement(statement, f"facets[{j}]")
            fits = a in self.best[s] and normal == [*direction(self.row(s, a, b))]
            need(fits and tied is (b in self.best[s]), f"facets[{j}] is no row in scope, or no tie")
        pairs = {(s, a) for x in self.shown for s, a in x}
        near = {(t, b) for s, _ in pairs for t in [s, *self.after(s)] for b in self.best[t]}
        n_ties = sum(tied for _, _, tied in facets)
        alone = len(self.shown) == len(self.listed)  # other items assume our policy afterwards
        said: Any = {"n_demonstrations": len(self.shown), "n_pairs": sum(map(len, self.shown))}
        said |= {"n_facets": len(facets) - n_ties, "n_equalities": n_ties, "n_close_calls": 0}
        said["probabilities"] = [*map(self.probability, self.shown)]
        return said | {"closed": alone and near <= pairs}


def check_proof(task: str | Path | dict[str, Any], proof: str | Path | dict[str, Any]) -> str:
    """One line that says what is proved; raises ProofError at the first step that is false."""
    folder = Path() if isinstance(task, dict) else Path(task).parent
    check = load(task, "didact.task/1", "didact.family/1", then=lambda x: Check(x, folder))
    lesson = load(proof, "didact.proof/1", "didact.lesson/1", "didact.exam/1")
    inner = lesson if lesson["format"] == "didact.proof/1" else lesson.get("proof")
    need(type(inner) is dict and inner.get("format") == "didact.proof/1", "carries no proof")
    claim, _ = inner.get("claim"), read(lesson.get("settings", {}), {}, "settings")
    if lesson["format"] == "didact.exam/1":
        need(claim == "decides", "claim must be 'decides', not {}", claim)
        ask = lesson.get("ask")
        need(ask in ("comparisons", "preferences", "actions"), "ask must be a kind, not {}", ask)
        check.claim({**inner, "items": []})  # nothing is shown
        return f"proved: {check.states(lesson) if ask == 'actions' else check.exam(lesson)}"
    need(str(claim) in STATUS, "claim must be 'teaches' or 'open', not {}", claim)
    check.claim(inner)
    what = f"{len(check.said)} {check.what} ({sum(map(len, check.shown))} pairs)"
    line = f"proved{' open' * (claim == 'open')}: {what} {check.verdict()}"
    line += check.fewest() if "fewest" in inner else ""
    return line if inner is lesson else line + check.wrapper(lesson)


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
