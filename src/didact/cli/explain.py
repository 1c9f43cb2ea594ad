"""`didact explain`: a lesson as a page to send."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from didact.cli import options, printing
from didact.errors import InvalidParameter

if TYPE_CHECKING:
    from didact.bec.halfspaces import Scope
    from didact.bec.rationalise import NearestReward, Rationalisation
    from didact.mdp import Family, Task
    from didact.planning.solve import Arithmetic
    from didact.report.page.lesson import Audience
    from didact.teaching import Lesson


_USUAL = {
    "policy": "optimal",
    "if_not_optimal": "stop",
    "teacher": "scot",
    "scope": "reachable",
    "arithmetic": "auto",
    "audience": "experts",
}


@click.command("explain")
@options.world("a random world and teacher")
@options.text(
    "--policy",
    "optimal",
    "What to explain: optimal, a .npy or .json file of actions or probabilities by state, "
    "or module:name of a function or of an agent with predict.",
    metavar="POLICY",
)
@options.choice(
    "--if-not-optimal",
    ("stop", "nearest"),
    "For a policy that no reward in the features explains: stop, or teach the nearest.",
)
@click.option("-n", "--budget", type=options.Whole(1), help="At most so many demonstrations.")
@options.file("-o", "--out", help="Where the page goes.", default="lesson.html", show_default=True)
@options.text(
    "--teacher", _USUAL["teacher"], "Who picks the demonstrations, as for `didact teach`."
)
@options.horizon
@options.scope()
@options.arithmetic("auto: exact, with a proof, up to 20,000 states times features.")
@options.choice(
    "--audience",
    ("experts", "people"),
    "Who reads it: people who watch get plain words, the mathematics folded away.",
    names=("--for",),
)
@click.option(
    "--pair",
    metavar="I,J",
    callback=options.numbers,
    help="The two features of the half-space picture.",
)
@options.as_json
def command(
    world: options.NamedWorld,
    out: str,
    pair: list[int] | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Explain WORLD or a policy for it by a few demonstrations, as one page.

    WORLD is a name that `didact worlds` lists, a Gymnasium environment such as Taxi-v4, module:name
    of an environment of your own, or a file (.json) of a task or of a family, whose members stand
    side by side. The page opens offline: what to show,
    what each demonstration rules out, what stays open. Exit code 0: taught; 3: something stays
    open, or no reward explains the policy; 4: the proof failed.
    """
    from didact.files.json import require_writable, write_text
    from didact.files.kinds import PAGE
    from didact.mdp import Family

    told = None if pair is None else ",".join(map(str, pair))
    if pair is not None and len(pair) != 2:
        raise InvalidParameter(f"--pair must read 0,1; it is {told!r:.60}")
    kept = {**given, "seed": world.seed, "members": world.members, "out": out, "pair": told}
    how: dict[str, Any] = {"seed": world.seed or 0, "command": _command(world, kept)}
    with printing.waiting(f"explaining {world.name}"):
        require_writable(out, PAGE, [world.name, given["policy"]])
        subject = world.open()
        if isinstance(subject, Family):
            for name in ("policy", "if_not_optimal", "audience"):
                if given.pop(name) != _USUAL[name]:
                    option = f"--{name.replace('_', '-')}"
                    raise InvalidParameter(f"{option} is for one world; leave it out for a family")
            explained = explain_family(subject, **how, **given)
        else:
            explained = explain_task(subject, pair=pair, **how, **given)
        if explained.page is not None:
            write_text(explained.page, out, kind=PAGE)
    if as_json:
        written = None if explained.page is None else out
        printing.print_json({**explained.document(), "page": written})
    else:
        _print(explained, out)
    return printing.exit_code(explained.is_taught)


def _print(explained: Explained, out: str) -> None:
    """The verdict, the story of the policy, and where the page is."""
    from didact.report.words.lessons import lesson_line

    lines = (
        []
        if explained.lesson is None
        else [lesson_line(explained.subject, explained.lesson, explained.verified)]
    )
    lines += [f"  {line}" if explained.lesson is not None else line for line in explained.story]
    if explained.page is None:
        lines.append("Nothing was written; --if-not-optimal nearest teaches the nearest.")
        printing.print_result(lines)
        return
    size = len(explained.page.encode("utf-8"))
    printing.print_result(lines, [f"{out} ({max(1, round(size / 1000))} kB)"])


_SHORT = {"budget": "-n", "out": "-o", "audience": "--for"}


def _command(world: options.NamedWorld, given: dict[str, Any]) -> str:
    """The command line that makes the same page, with what differs from the usual."""
    parts = ["didact", "explain", world.name]
    for setting in world.texts:
        parts += ["-p", setting]
    for name, value in given.items():
        if value is not None and _USUAL.get(name) != value:
            parts += [_SHORT.get(name, f"--{name.replace('_', '-')}"), str(value)]
    return shlex.join(parts)


IfNotOptimal = Literal["stop", "nearest"]


@dataclass(frozen=True, eq=False)
class Explained:
    """A task or a family, the lesson for it and its page; or why there is none.

    policy: whether a reward explains the given policy; None where the task's own was taken.
    nearest: what is taught instead of a policy that no reward explains. lesson, page: None where
    there is nothing to teach and the user chose to stop. story: paragraphs about the policy.
    """

    subject: Task | Family
    lesson: Lesson | None
    verified: str | None
    page: str | None
    policy: Rationalisation | None = None
    nearest: NearestReward | None = None
    story: tuple[str, ...] = ()

    @property
    def is_taught(self) -> bool:
        """Whether nothing stays open; never where no reward explains the policy."""
        return self.lesson is not None and self.lesson.is_complete

    def document(self) -> dict[str, Any]:
        """The same for machines; the page itself is a file."""
        from didact.mdp import Family

        lesson = None if self.lesson is None else self.lesson.document()
        told = {"verified": self.verified, "lesson": lesson}
        if isinstance(self.subject, Family):
            return {"family": self.subject.name, **told}
        return {
            "task": self.subject.name,
            "policy": None if self.policy is None else self.policy.document(),
            "nearest": None if self.nearest is None else self.nearest.document(),
            "story": list(self.story),
            **told,
        }


def explain_task(
    task: Task,
    *,
    policy: str = "optimal",
    if_not_optimal: IfNotOptimal = "stop",
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    pair: Sequence[int] | None = None,
    audience: Audience = "experts",
    command: str | None = None,
    **settings: Any,
) -> Explained:
    """The page of a lesson for a task, and for a policy where one is given.

    policy: 'optimal' for the task's own weights, else as `read_policy` takes it. settings go to
    `teach`; demonstrations are whole, to be watched to their end. arithmetic 'auto' is exact up to
    EXACT_UP_TO states times features. audience: for whom the page is.
    """
    from didact.bec.classes import equivalence_class
    from didact.cli.policies import read_policy
    from didact.report.page.lesson import lesson_page
    from didact.report.page.writing import EXACT_UP_TO
    from didact.teaching.lesson import verified_lesson

    if pair is not None:
        k = task.mdp.n_features
        if len(set(pair)) != 2 or not all(0 <= feature < k for feature in pair):
            raise InvalidParameter(
                f"--pair must name two different features from 0 to {k - 1}; it is "
                f"{','.join(map(str, pair))}"
            )
    if arithmetic == "auto" and task.mdp.n_states * task.mdp.n_features > EXACT_UP_TO:
        arithmetic = "float"
    # Whole rollouts of SCOT end where their episodes do; the exact teacher chooses how a
    # demonstration begins, and after its last needed step it may go on to the horizon.
    settings.setdefault("teacher", _USUAL["teacher"])
    how: dict[str, Any] = {"scope": scope, "arithmetic": arithmetic}
    about: dict[str, Any] = {"story": ()}
    given = None if policy == "optimal" else read_policy(policy, task)
    if given is not None:
        or_nearest = if_not_optimal == "nearest"
        taught, about = _reward_of(task, policy, given, or_nearest=or_nearest, **how)
        if taught is None:
            return Explained(task, None, None, None, **about)
        task = taught
    bec = equivalence_class(task, **how)
    own = None if given is None else _own_actions(bec.plan.optimal, given)
    lesson = _best_lesson(task, bec, {"trim": False, "taken": own, **settings})
    if own is not None:
        about["story"] = (*about["story"], *_ties(task, bec, own, lesson))
    verified = verified_lesson(task, lesson)
    drawn = None if pair is None else (pair[0], pair[1])
    shown: dict[str, Any] = {"command": command, "story": about["story"], "pair": drawn}
    page = lesson_page(task, lesson, bec=bec, verified=verified, audience=audience, **shown)
    return Explained(task, lesson, verified, page, **about)


def _reward_of(
    task: Task, policy: str, given: Any, *, or_nearest: bool, **how: Any
) -> tuple[Task | None, dict[str, Any]]:
    """The task with the reward that explains a policy, or the nearest one where that is wanted.

    None where no reward does; and what `Explained` tells of the policy.
    """
    from didact.bec.rationalise import nearest_reward, rationalise
    from didact.mdp import Task
    from didact.report.page.scene import scene_of
    from didact.report.page.words import policy_story

    found, nearest = rationalise(task.mdp, given, **how), None
    if not found.explains and or_nearest:
        nearest = nearest_reward(task.mdp, given, **how)
    story = tuple(policy_story(task, policy, found, nearest, scene_of(task)))
    weights = found.weights if nearest is None else nearest.weights
    about = {"policy": found, "nearest": nearest, "story": story}
    if weights is None:
        return None, about
    name = f"{task.name}, {policy}" if nearest is None else f"{task.name}, nearest to {policy}"
    seen = task.observations
    return Task(task.mdp, list(weights), name=name, layout=task.layout, observations=seen), about


def _own_actions(optimal: Any, policy: Any) -> Any:
    """The actions (S, A) that demonstrations may take: the policy's own, where those are optimal.

    Where none of them is, which only happens under the nearest reward, every optimal one.
    """
    import numpy as np

    own = optimal & (np.asarray(policy) > 0)
    return np.where(own.any(axis=1)[:, None], own, optimal)


def _best_lesson(task: Task, bec: Any, settings: Mapping[str, Any]) -> Lesson:
    """The lesson that the settings ask for; where it shows nothing, all that can be shown.

    A demonstration that states no facet of the class may still exclude rewards. The teacher
    `scot-redundant` picks it, and the page tells what stays open.
    """
    from didact.teaching import teach

    lesson = teach(task, bec=bec, **settings)
    if lesson.is_complete or lesson.demonstrations or settings["teacher"] != "scot":
        return lesson
    return teach(task, bec=bec, **{**settings, "teacher": "scot-redundant"})


def _ties(task: Task, bec: Any, own: Any, lesson: Lesson) -> Iterator[str]:
    """Where the reward holds other actions for as good as the policy's own."""
    from didact.bec.halfspaces import scope_states
    from didact.inputs import counted

    counts = scope_states(task.mdp, bec.scope) & (bec.plan.optimal & ~own).any(axis=1)
    n = int(counts.sum())
    if not n:
        return
    open_words = "" if lesson.is_complete else " That they are as good it cannot show."
    yield (
        f"Under this reward other actions are exactly as good in {counted(n, 'state')}. Every "
        f"step that is shown is the policy's own.{open_words}"
    )


def explain_family(
    family: Family,
    *,
    scope: Scope = "reachable",
    arithmetic: Arithmetic = "auto",
    command: str | None = None,
    **settings: Any,
) -> Explained:
    """The page of a lesson for a family; settings go to `teach`."""
    from didact.bec.classes import equivalence_class
    from didact.report.page.family import family_page
    from didact.teaching import teach
    from didact.teaching.lesson import verified_lesson

    bec = equivalence_class(family, scope=scope, arithmetic=arithmetic)
    lesson = teach(family, bec=bec, **{"trim": False, **settings})
    verified = verified_lesson(family, lesson)
    page = family_page(family, lesson, bec=bec, verified=verified, command=command)
    return Explained(family, lesson, verified, page)
