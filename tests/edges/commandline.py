"""What the command line answered, and what bad input must look like."""

from dataclasses import dataclass


@dataclass
class Answer:
    """Exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str

    @property
    def verdict(self) -> str:
        """The first line."""
        return self.out.splitlines()[0]


def one_line(answer: Answer, message: str, code: int = 2) -> None:
    """A command was refused in one line that has the message, and printed nothing else."""
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("didact: ")
    assert answer.err.count("\n") == 1
    assert message in answer.err, answer.err
    assert "Traceback" not in answer.err
