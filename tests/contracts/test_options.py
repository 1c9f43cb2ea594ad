"""Options of the command line and parameters of Python have the same names.

Every option that help shows is a parameter of the function behind its command, or stands in the
list of what only an edge has; and every keyword of that function can be given on the command line,
or stands in the list of what only Python has. A default that help shows is that of the parameter,
and the choices of an option are its literals.
"""

import inspect
import typing

import click
import pytest

import didact
from didact.bec import ObserveSettings, ObserveWorkers
from didact.cli import COMMANDS, cli
from didact.cli import convert as converting
from didact.cli import explain as explaining
from didact.learners.chains.birl import birl
from didact.report import reproduce as reproducing
from didact.teaching.build import TeachSettings
from didact.teaching.clips.lesson import teach_observed
from didact.worlds.opening import open_task_or_family

EDGE_ONLY = {
    ("observe", "--time"): "seconds, half for observe and half for certify",
    "--trust-pickle": "files of agents are read on the command line only",
    "--json": "prints what Python returns",
    "--details": "prints more of what Python returns",
    "--out": "writes what Python returns, which has save",
    "--help": "Click's own",
    "--parameter": "NAME=VALUE, a keyword of make",
    "--teacher-option": "NAME=VALUE, a keyword of teach",
    "--learner-option": "NAME=VALUE, a keyword of learn",
    "--strategy-option": "NAME=VALUE of strategy_options",
    "--setting": "NAME=VALUE of changes",
    ("rank", "--svg"): "writes what .plot() draws",
    ("check", "--loss"): "prints what remaining_loss returns",
    ("check", "--proof"): "runs the independent checker",
    ("exam", "--proof"): "runs the independent checker",
    ("ask", "--comparisons"): "of strategy_options",
    ("identify", "--change"): "one of changes",
    ("exam", "--html"): "writes a sheet, as exam.report",
    ("exam", "--key"): "prints what Python returns",
    ("audit", "--person"): "answers from the keyboard, for the agent",
    ("audit", "--against"): "another agent, as SimulatorAudit.compared_with",
    ("ask", "--person"): "answers from the keyboard, for answer",
    ("observe", "--html"): "writes the lesson as a page",
    ("select", "--simulator"): "env of observe, for continuous observations",
    ("observe", "--minari"): "writes the clips, as lesson.save_minari",
    ("explain", "--for"): "--audience in fewer letters",
    ("select", "--replace"): "for --out, as of Recording.save",
}
PYTHON_ONLY = {
    ("certify", "replan"): "always on the command line",
    "task": "WORLD", "mdp": "WORLD", "tasks": "NAMES", "unseen": "WORLD", "lesson": "LESSON",
    "demonstrations": "DEMONSTRATIONS", "source": "SOURCE", "target": "TARGET", "names": "NAME",
    "policy": "POLICY", "parameters": "--parameter", "world": "--task", "changes": "--setting",
    "options": "-t, -l", "learner_options": "-l", "strategy_options": "--strategy-option",
    "env": "ENV", "bec": "a class at hand", "progress": "shown", "command": "", "watch": "",
    "answer": "--person", "settings": "of teach and ask",
    ("learn", "preset"): "settings of the paper, by name",
    ("informativeness", "measure"): "of one's own, in Python",
    ("informativeness", "true"): "a choice of Python callers",
    ("informativeness", "matching"): "a choice of Python callers",
    ("informativeness", "horizon"): "a choice of Python callers",
    ("select", "episodes"): "the file's own numbers",
    ("observe", "settings"): "its fields", ("observe", "workers"): "its fields",
}  # fmt: skip
BEHIND = {
    "worlds": [didact.make],
    "teach": [
        didact.teach,
        didact.teach_within,
        didact.teach_mixed,
        didact.teach_robust,
        TeachSettings,
    ],
    "frontier": [didact.frontier, TeachSettings],
    "show": [didact.make, didact.solve],
    "learn": [didact.learn, birl],
    "ask": [didact.ask, didact.AskSettings, birl],
    "select": [didact.select, didact.load_recording, didact.observe],
    "convert": [converting.open_recording, converting.write_recording, didact.Recording.part],
    "audit": [didact.audit, didact.exam],
    "explain": [explaining.explain_task, didact.teach],
    "reproduce": [reproducing.reproduce],
    "observe": [didact.observe, ObserveSettings, ObserveWorkers, didact.certify, teach_observed],
}
OTHER_DEFAULTS = {
    ("explain", "--teacher"): "scot: people watch whole rollouts, as SCOT shows them",
    ("frontier", "--losses"): "one text, with commas",
    ("informativeness", "--rewards"): "true: the world's own weights are at hand",
    ("observe", "--level"): "a share as a text, 95%",
    ("observe", "--target"): "a share as a text, 2%",
}
"""Options whose default is not that of the parameter, and why."""
SERVED = ("studio", "study")
"""Commands that serve pages, or are groups of others: Python has no function behind them."""
WITH_FUNCTIONS = [name for name in COMMANDS if name not in SERVED]
OWN = {"learn": didact.learn, "ask": didact.ask, "select": didact.select, "show": didact.solve}


def command_named(name):
    return cli.get_command(click.Context(cli), name)


def options_of(name):
    """The long options that help shows."""
    given = [p for p in command_named(name).params if isinstance(p, click.Option) and not p.hidden]
    return [option for p in given for option in p.opts if option.startswith("--")]


def parameters_of(functions):
    return {name for function in functions for name in inspect.signature(function).parameters}


@pytest.mark.parametrize("name", WITH_FUNCTIONS)
def test_every_option_has_the_name_of_a_parameter(name):
    behind = BEHIND.get(name) or [getattr(didact, name, didact.make)]
    known = parameters_of(behind) | {"seed", "task"}
    if "--members" in options_of(name):
        known |= parameters_of([open_task_or_family]) | {"members"}
    for option in options_of(name):
        if option not in EDGE_ONLY and (name, option) not in EDGE_ONLY:
            assert option.removeprefix("--").replace("-", "_") in known, (name, option)


@pytest.mark.parametrize("name", [name for name in WITH_FUNCTIONS if name != "worlds"])
def test_every_keyword_can_be_given_on_the_command_line(name):
    function = OWN.get(name) or next(iter(BEHIND.get(name, [])), getattr(didact, name, None))
    offered = {option.removeprefix("--").replace("-", "_") for option in options_of(name)}
    for keyword in inspect.signature(function).parameters:
        if keyword not in PYTHON_ONLY and (name, keyword) not in PYTHON_ONLY:
            assert keyword in offered or keyword == "weights", (name, keyword)


def literals_of(function, name):
    """The values that the annotation of a parameter lists; none where it is no Literal."""
    if function.__module__.startswith("didact.cli"):
        return set()  # annotated by names that are imported for type checkers alone
    hint = typing.get_type_hints(function)[name]
    parts = [hint, *typing.get_args(hint)]
    return {v for p in parts if typing.get_origin(p) is typing.Literal for v in typing.get_args(p)}


def same_parameters():
    """Command, option, the first function behind it with a parameter of that name, the name."""
    for command in WITH_FUNCTIONS:
        behind = BEHIND.get(command) or [getattr(didact, command, didact.make)]
        for option in command_named(command).params:
            long = [name for name in option.opts if name.startswith("--")]
            name = long[0].removeprefix("--").replace("-", "_") if long else None
            owners = [each for each in behind if name in inspect.signature(each).parameters]
            if owners:
                yield command, option, owners[0], name


def test_defaults_are_those_of_the_parameters_and_choices_their_literals():
    n_defaults = n_choices = 0
    for command, option, function, name in same_parameters():
        where, shown = (command, f"--{name.replace('_', '-')}"), option.default
        default = inspect.signature(function).parameters[name].default
        if option.is_flag and not option.secondary_opts:
            assert default in (False, inspect.Parameter.empty), where
        elif isinstance(shown, str | int | float) and where not in OTHER_DEFAULTS:
            assert str(shown) == str(default), where
            n_defaults += 1
        if isinstance(option.type, click.Choice) and (literals := literals_of(function, name)):
            assert set(option.type.choices) == literals, where
            n_choices += 1
    assert n_defaults > 40
    assert n_choices > 15
