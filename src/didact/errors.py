"""What didact raises.

DidactError
├── InvalidInput            the caller's data break a rule; the command line exits with 2
│   ├── InvalidNumber       not a finite number that can be read exactly
│   ├── InvalidModel        not a Markov decision process
│   ├── InvalidFile         a file that cannot be read as what it should be
│   └── InvalidParameter    an option or parameter out of its range, or an unknown name
├── Unsupported             well formed, but not something didact can answer; says why
├── NotConverged            an iteration stopped short of its promised accuracy
└── ProofFailed             the independent checker does not accept a proof; exit code 4
"""


class DidactError(Exception):
    """Any error that didact raises on purpose."""


class InvalidInput(DidactError, ValueError):
    """The caller's data break a rule."""


class InvalidNumber(InvalidInput):
    """Not a finite number that can be read exactly."""


class InvalidModel(InvalidInput):
    """Not a Markov decision process."""


class InvalidFile(InvalidInput):
    """A file that cannot be read as what it should be."""


class InvalidParameter(InvalidInput):
    """An option or parameter out of its range, or an unknown name."""


class Unsupported(DidactError):
    """Well formed, but not something didact can answer."""


class NotConverged(DidactError, ArithmeticError):
    """An iteration stopped short of its promised accuracy."""


class ProofFailed(DidactError):
    """The independent checker did not accept a proof."""


class DidactWarning(UserWarning):
    """Something the caller should know; the result is still right as described."""


class NotMixed(DidactWarning):
    """A learner's chains disagree, are too short, or are stuck: its draws are not the posterior."""
