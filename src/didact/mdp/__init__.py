"""The model, the task, demonstrations, and their files."""

from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.family import Family, as_family, family_demonstrations
from didact.mdp.files import load_family, load_task
from didact.mdp.items import Comparison, Preference, RankedTrajectories, Stop
from didact.mdp.model import MDP
from didact.mdp.recordings.formats import (
    given_demonstrations,
    load_demonstrations,
    load_recording,
)
from didact.mdp.recordings.recording import Recording
from didact.mdp.task import Task, as_mdp, as_task
from didact.mdp.transitions import Transitions

__all__ = [
    "MDP",
    "Comparison",
    "Demonstration",
    "Family",
    "Preference",
    "RankedTrajectories",
    "Recording",
    "Stop",
    "Task",
    "Transitions",
    "as_demonstrations",
    "as_family",
    "as_mdp",
    "as_task",
    "family_demonstrations",
    "given_demonstrations",
    "load_demonstrations",
    "load_family",
    "load_recording",
    "load_task",
]
