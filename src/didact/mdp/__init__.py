"""The model, the task, demonstrations, and their files."""

from didact.mdp.demonstrations import Demonstration, as_demonstrations
from didact.mdp.exchange.recordings import Recording, load_recording, save_recording
from didact.mdp.files import load_demonstrations, load_task, save_task
from didact.mdp.model import MDP
from didact.mdp.task import Task, as_mdp, as_task
from didact.mdp.transitions import Transitions

__all__ = [
    "MDP",
    "Demonstration",
    "Recording",
    "Task",
    "Transitions",
    "as_demonstrations",
    "as_mdp",
    "as_task",
    "load_demonstrations",
    "load_recording",
    "load_task",
    "save_recording",
    "save_task",
]
