"""The command line: one module for each command, with its options, its work and what it prints.

Modules of commands import what they work with when they run, so that help comes at once. Exit codes
are those of `didact.cli.printing`. A traceback is always a bug.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from didact import __version__
from didact.cli import printing
from didact.errors import DidactError, DidactWarning, ProofFailed

COMMANDS = (
    *("worlds", "show", "teach", "frontier", "check", "attack", "identify", "explain", "learn"),
    *("informativeness", "ask"),
    *("transfer", "exam", "audit", "observe", "rank", "select", "convert", "reproduce"),
    *("studio", "study"),
)


class OwnOutput(click.Context):
    """Runs a command so that standard output has only what the command itself prints."""

    def invoke(self, *arguments: Any, **options: Any) -> Any:
        """The command's result; Click has printed help and versions before."""
        with printing.own_output():
            return super().invoke(*arguments, **options)


class LazyGroup(click.Group):
    """Commands are imported when they are named, so that help comes at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order of a first visit."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, from its own module."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"didact.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        for each in (command, *getattr(command, "commands", {}).values()):
            each.context_class = OwnOutput
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader that stops reading is no error (Click would exit with 1).

        Click takes an EOFError for an interruption, which it is not where a file or a worker ended
        too early; keys that a person types are read by `didact.cli.person`.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _drop(sys.stdout)
            return 0
        except KeyboardInterrupt:
            printing.end_line()  # after ^C, which a terminal shows
            _fail("interrupted", printing.INTERRUPTED)
        except EOFError as error:
            raise RuntimeError("something that was read ended too early") from error


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="didact")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find the fewest demonstrations that teach a reward, and prove that they do."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; one line on standard error for bad input, exit code 2."""
    import logging
    import warnings

    _open_closed_streams()
    handler = logging.StreamHandler()
    handler.setFormatter(printing.OneLine())
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("didact").setLevel(logging.INFO)
    warnings.showwarning = lambda message, category, *_: (
        printing.print_note(message) if issubclass(category, DidactWarning) else None
    )
    try:
        code = cli.main(arguments, prog_name="didact", standalone_mode=False)
        sys.stdout.flush()
    except ProofFailed as error:
        _fail(str(error), printing.PROOF_FAILED)
    except DidactError as error:
        _fail(str(error), printing.BAD_INPUT)
    except click.ClickException as error:
        context: click.Context | None = getattr(error, "ctx", None)
        hint = "" if context is None else f" Try '{context.command_path} --help'."
        _fail(error.format_message() + hint, printing.BAD_INPUT)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", printing.INTERRUPTED)
    except OSError as error:
        _drop(sys.stdout)
        if error.filename is not None:
            _fail(f"{error.filename}: {error.strerror}", printing.BAD_INPUT)
        _fail(f"the output cannot be written: {error.strerror}", printing.NO_OUTPUT)
    except MemoryError:
        _fail("there is not enough memory for this; try a smaller world", printing.BAD_INPUT)
    else:
        sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    try:
        printing.print_note(message)
    except OSError:  # nobody can be told; the exit code still says it
        _drop(sys.stderr)
    sys.exit(code)


def _drop(stream: Any) -> None:
    """Send the rest of a stream nowhere, so that the interpreter does not fail on it at exit."""
    with suppress(OSError):  # what is no file of the system has nothing to fail on
        number = stream.fileno()
        opened = os.open(os.devnull, os.O_WRONLY)
        os.dup2(opened, number)
        os.close(opened)


def _open_closed_streams() -> None:
    """Give standard streams that are closed a place that takes everything.

    Otherwise the next file that is opened gets their number, and what a library prints goes there.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is not None:
            continue
        opened = os.open(os.devnull, os.O_RDWR)
        try:
            os.fstat(number)
        except OSError:
            os.dup2(opened, number)
        setattr(sys, name, open(opened, mode, encoding="utf-8"))  # noqa: SIM115 (to the end)
