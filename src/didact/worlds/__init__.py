"""Worlds: makers of tasks by name, grids drawn with letters, and Gymnasium environments."""

from didact.worlds.examples import ball_sorting, chain, six_cell, uvm_failure
from didact.worlds.garnet import garnet
from didact.worlds.grids import gridworld, random_grid
from didact.worlds.gym.minigrid import from_minigrid
from didact.worlds.gym.tables import from_gymnasium
from didact.worlds.gym.trained import load_agent
from didact.worlds.gym.walks import from_environment
from didact.worlds.opening import make
from didact.worlds.registry import REQUIRED, WorldInfo, register_world, worlds

__all__ = [
    "REQUIRED",
    "WorldInfo",
    "ball_sorting",
    "chain",
    "from_environment",
    "from_gymnasium",
    "from_minigrid",
    "garnet",
    "gridworld",
    "load_agent",
    "make",
    "random_grid",
    "register_world",
    "six_cell",
    "uvm_failure",
    "worlds",
]
