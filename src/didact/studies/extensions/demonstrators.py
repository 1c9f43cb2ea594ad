"""Do people show a task or merely do it? Recorded people, told apart by their trajectories.

Each person gave one trajectory for each table of rewards in one grid; who showed and who did is
known and only used to judge. A trajectory's evidence is the normalised log Bayes factor of
`informativeness` with the measure 'posterior': how surely a Bayesian observer names the true table
after it, against other trajectories of a softmax doer of the same table. The observer and the doer
integrate over the same four inverse temperatures. A person's score is the mean over trajectories of

    log((1 - LAPSE) BF + LAPSE) - log(LAPSE BF + 1 - LAPSE),

of people who show with probability 1 - LAPSE where they teach, and with LAPSE where they do: one
strange trajectory then decides nothing. Nothing of this is fitted. Probabilities are: a logistic
line in the score, for each person from all others, so that they can be judged.

The file is JSON with the keys grid, legend, safe, dangerous, discount and people, of which each has
a condition ('showing' or 'doing') and demonstrations: the dangerous letters, and steps [row,
column, action]. Without a file people are simulated on the same kind of grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidParameter
from didact.files.json import read_json
from didact.inputs import shown
from didact.learners.chains.informativeness import informativeness, walks_of
from didact.learners.evidence import softmax
from didact.mdp import MDP
from didact.numerics.exact import Floats
from didact.planning.batch import action_values_of
from didact.random import stream
from didact.stages import counting
from didact.studies.study import Record, Study, one_trial, setting
from didact.studies.summary import Column, Estimate, Summary, table_of
from didact.worlds import gridworld

NAME = "people"
CONFIDENCES = (0.1, 0.3, 1.0, 3.0)
LAPSE = 0.2
RESAMPLES = 2_000
GRID = {
    "grid": [".oooo.", ".oppp.", ".opccy", ".oppc.", ".cccc."],
    "legend": {"y": "goal, +50, ends"},
    "safe": 0,
    "dangerous": -10,
    "discount": "0.99",
}
MEASURES = {
    "score": "normalised Bayes factor",
    "posterior": "log P(true table | trajectory)",
    "length": "length",
}


@dataclass(frozen=True)
class PeopleSettings:
    """A file of recorded people, or how many to simulate of each kind."""

    trials: int = setting(1, source="one file", paper=None)
    file: str = setting("", source="none: people are simulated; set file=PATH for recorded ones")
    simulated: int = setting(15, source="our choice: people of each kind where there is no file")
    draws: int = setting(200, source="our choice: drawn trajectories for each table")
    seed: int = setting(0, source="our choice", paper=None)


class _Grid:
    """The grid of a file as a model, and the weights of every table of rewards."""

    def __init__(self, document: Mapping[str, Any]):
        rows, legend = list(document["grid"]), dict(document["legend"])
        goal = next(letter for letter, words in legend.items() if "goal" in words)
        self.colours = sorted({*"".join(rows)} - {".", goal})
        self.width = len(rows[0])
        letters = [".", *self.colours, goal]
        bonus = {x: document["safe"] for x in letters} | {goal: 50}
        world = gridworld(rows, bonus, terminal=goal, discount=document["discount"])
        self.mdp: MDP = world.mdp
        self.tables = [
            frozenset(found)
            for n in range(len(self.colours) + 1)
            for found in combinations(self.colours, n)
        ]
        safe, dangerous = float(document["safe"]), float(document["dangerous"])
        self.rewards = np.array(
            [
                [50.0 if x == goal else dangerous if x in table else safe for x in letters]
                for table in self.tables
            ]
        )


def trial(settings: PeopleSettings, number: int) -> Record:
    """Of every trajectory its person, whether it was shown, and what tells about that."""
    document = read_json(settings.file) if settings.file else GRID
    try:
        grid = _Grid(document)
        people = _read(document, grid) if settings.file else _simulated(settings, grid)
    except DidactError:
        raise
    except (KeyError, StopIteration, TypeError, AttributeError, ValueError) as error:
        raise InvalidParameter(
            "a file of people must hold an object with a grid, a goal in its legend, and people "
            f"with a condition and demonstrations: {error!r}"
        ) from None
    rng = stream(settings.seed, NAME, "draws")
    found = []
    tell = counting("people: {:,} of {:,}")
    for place, (showing, trajectories) in enumerate(people):
        if tell is not None:
            tell(place, len(people))
        for table, pairs in trajectories:
            told = informativeness(
                *(grid.mdp, [pairs]),
                rewards=grid.rewards,
                confidence=CONFIDENCES,
                measure="posterior",
                true=table,
                n_draws=settings.draws,
                seed=rng,
            )
            found.append(
                {
                    "person": place,
                    "showing": showing,
                    "table": table,
                    "factor": told.log_bayes_factor,
                    "posterior": told.log_posterior,
                    "length": len(pairs),
                }
            )
    return {"trajectories": found}


Person = tuple[bool, list[tuple[int, list[tuple[int, int]]]]]


def _read(document: Mapping[str, Any], grid: _Grid) -> list[Person]:
    people: list[Person] = []
    for person in document["people"]:
        given = [
            (
                grid.tables.index(frozenset(each["dangerous"])),
                [(row * grid.width + column, action) for row, column, action in each["steps"]],
            )
            for each in person["demonstrations"]
        ]
        people.append((person["condition"] == "showing", given))
    if {showing for showing, _ in people} != {True, False}:
        raise InvalidParameter(
            f"people must be of both conditions, 'showing' and 'doing'; it is {shown(people)[:80]}"
        )
    return people


def _simulated(settings: PeopleSettings, grid: _Grid) -> list[Person]:
    """Doers at inverse temperature 1; who shows takes the most telling of some walks at 0.3."""
    values = action_values_of(grid.mdp, grid.rewards)
    logs = np.array([softmax(q, 1.0)[1].ravel() for q in values])
    logs = np.concatenate((logs, np.zeros((len(logs), 1))), axis=1)
    start = np.full(30, 2 * grid.width)
    people: list[Person] = []
    for place in range(2 * settings.simulated):
        showing, given = place % 2 == 1, []
        rng = stream(settings.seed, NAME, "person", place)
        for table, q in enumerate(values):
            walks = walks_of(grid.mdp, softmax(q, 0.3 if showing else 1.0)[0], start, 60, rng)
            chosen = 0
            if showing:
                likely = np.array([log[walks].sum(axis=1) for log in logs])
                chosen = int((likely[table] - np.logaddexp.reduce(likely)).argmax())
            pairs = [divmod(x, grid.mdp.n_actions) for x in walks[chosen].tolist() if x >= 0]
            given.append((table, pairs))
        people.append((showing, given))
    return people


def area(scores: Floats, labels: Floats) -> float:
    """The area under the ROC curve: how often a shown one scores higher; ties count one half."""
    ahead = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return float((np.sign(ahead) / 2 + 0.5).mean())


def bounded(log_factors: Floats, lapse: float = LAPSE) -> Floats:
    """The log odds of showing where a share of trajectories is of the other kind."""
    factors = np.exp(np.clip(log_factors, -50, 50))
    return np.asarray(np.log((1 - lapse) * factors + lapse) - np.log(lapse * factors + 1 - lapse))


def calibrated(scores: Floats, labels: Floats) -> Floats:
    """The probability of showing of each, by a logistic line through all others (ridge 0.01)."""
    found = np.empty(len(scores))
    scale = max(1e-12, float(scores.std()))
    design = np.stack([np.ones(len(scores)), (scores - scores.mean()) / scale], axis=1)
    for out in range(len(scores)):
        kept = np.arange(len(scores)) != out
        x, y, line = design[kept], labels[kept], np.zeros(2)
        for _ in range(50):
            p = 1 / (1 + np.exp(-x @ line))
            hessian = x.T @ (x * (p * (1 - p))[:, None]) + 0.01 * np.eye(2)
            line = line + np.linalg.solve(hessian, x.T @ (y - p) - 0.01 * line)
        found[out] = 1 / (1 + np.exp(-design[out] @ line))
    return found


def _area_with_interval(scores: Floats, labels: Floats, persons: Floats, seed: int) -> Estimate:
    """The area, and its 95% interval over people drawn with replacement within each kind."""
    rng, found = stream(seed, NAME, "resamples"), []
    kinds = [np.unique(persons[labels == kind]) for kind in (0, 1)]
    rows = {person: np.flatnonzero(persons == person) for kind in kinds for person in kind}
    for _ in range(RESAMPLES):
        drawn = [rows[p] for kind in kinds for p in rng.choice(kind, len(kind))]
        chosen = np.concatenate(drawn)
        found.append(area(scores[chosen], labels[chosen]))
    low, high = np.quantile(found, [0.025, 0.975])
    return Estimate(area(scores, labels), float(low), float(high), float(np.std(found)), len(rows))


def summarise(settings: PeopleSettings, records: Sequence[Record]) -> Summary:
    """Areas under the ROC curve by trajectory and person, and how calibrated probabilities are."""
    rows = [row for record in records for row in record["trajectories"]]
    persons = np.array([row["person"] for row in rows])
    labels = np.array([float(row["showing"]) for row in rows])
    people = np.unique(persons)
    kinds = np.array([labels[persons == person][0] for person in people])
    columns = {
        "score": bounded(np.array([row["factor"] for row in rows])),
        "posterior": np.array([row["posterior"] for row in rows]),
        "length": np.array([float(row["length"]) for row in rows]),
    }
    single, whole, remarks = list[Estimate](), list[Estimate](), list[str]()
    for name in MEASURES:
        means = np.array([columns[name][persons == person].mean() for person in people])
        single.append(_area_with_interval(columns[name], labels, persons, settings.seed))
        whole.append(_area_with_interval(means, kinds, people, settings.seed))
        if name == "score":
            chances = calibrated(means, kinds)
            brier = float(((chances - kinds) ** 2).mean())
            sure = np.maximum(chances, 1 - chances).mean()
            right = ((chances > 0.5) == (kinds == 1)).mean()
            remarks.append(
                f"Of {len(people)} people {100 * right:.0f}% are told right by probabilities that "
                f"claim {100 * sure:.0f}% (each from the others); Brier score {brier:.3f}."
            )
            tables = sorted({row["table"] for row in rows})
            of_table = np.array([row["table"] for row in rows])
            apart = [area(columns[name][of_table == t], labels[of_table == t]) for t in tables]
            remarks.append(
                f"Within one table of rewards: AUC {np.mean(apart):.2f} on average, from "
                f"{min(apart):.2f} to {max(apart):.2f}."
            )
    if not settings.file:
        remarks.append("People were simulated: no file was given (set file=PATH).")
    found = {Column("AUC, trajectories"): single, Column("AUC, people"): whole}
    table = table_of("Showing or doing: people told apart", "by", MEASURES.values(), found)
    return Summary((table,), (), (), tuple(remarks))


STUDY = Study(
    NAME,
    PeopleSettings(),
    trial,
    summarise,
    title="Showing or doing: people told apart by what they demonstrate",
    quick=PeopleSettings(simulated=3, draws=50),
    n_trials=one_trial,
)
