"""Policies in an environment's own state numbers."""

import gymnasium
import numpy as np
import pytest

from didact.errors import InvalidModel, InvalidParameter
from didact.mdp.idle import deciding_states, idle_states
from didact.planning import as_policy, solve
from didact.worlds import from_gymnasium, make
from didact.worlds.gym.policies import environment_states, in_numbers, policy_of_environment

TAXI = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
CLIFF = "CliffWalking-v1" if "CliffWalking-v1" in gymnasium.registry else "CliffWalking-v0"


class Agent:
    """A trained agent as Stable-Baselines3 has it: noisy unless asked for its best action."""

    def __init__(self, actions):
        self.actions = actions
        self.asked = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.append((int(observation), deterministic))
        action = self.actions[int(observation)] if deterministic else 0
        return np.array(action), None


@pytest.mark.parametrize("name", [TAXI, CLIFF, "FrozenLake-v1"])
def test_states_keep_their_numbers_in_the_environment(name):
    """A step of the environment goes where the task's own transitions say."""
    task = from_gymnasium(name, **({"is_slippery": False} if "Lake" in name else {}))
    numbers = environment_states(task, name)
    table = gymnasium.make(name, **({"is_slippery": False} if "Lake" in name else {})).unwrapped.P
    moves, mdp = task.mdp.transitions, task.mdp
    for state in np.flatnonzero(deciding_states(mdp)).tolist():
        for action in range(mdp.n_actions):
            after = int(moves.successors[moves.offsets[state * mdp.n_actions + action]])
            assert numbers[after] in [row[1] for row in table[numbers[state]][action]]


def test_an_agent_is_asked_in_the_environments_numbers_without_exploration():
    task = from_gymnasium(TAXI)
    plan, numbers = solve(task.mdp, task.true_weights), environment_states(task, TAXI)
    best = np.zeros(500, dtype=int)
    best[list(numbers)] = plan.optimal.argmax(axis=1)
    agent = Agent(best)
    policy = as_policy(task.mdp, policy_of_environment(task, agent, TAXI))
    assert plan.optimal[policy > 0].all()
    assert {deterministic for _, deterministic in agent.asked} == {True}
    assert {state for state, _ in agent.asked} == {
        numbers[s] for s in np.flatnonzero(deciding_states(task.mdp))
    }


def test_tables_and_functions_are_read_by_the_environments_numbers():
    task = from_gymnasium(CLIFF)
    actions = np.arange(48) % 4
    shares = np.eye(4)[actions]
    wanted = as_policy(task.mdp, lambda s: actions[environment_states(task, CLIFF)[s]])
    for given in (actions, shares, lambda state: actions[state]):
        read = policy_of_environment(task, given, gymnasium.make(CLIFF))
        used = ~idle_states(task.mdp)
        assert np.array_equal(as_policy(task.mdp, read)[used], wanted[used])


def test_a_table_of_another_size_is_left_alone():
    table = np.arange(7)
    assert in_numbers(table, range(3), 3) is table


def test_agents_without_the_flag_work_too():
    class Plain:
        def predict(self, observation):
            return 2

    assert in_numbers(Plain(), [4, 5], 6)(1) == 2


@pytest.mark.parametrize("answer", [np.array([1, 2]), 0.5, None])
def test_an_agent_that_gives_no_action_is_refused(answer):
    class Odd:
        def predict(self, observation):
            return answer

    with pytest.raises(InvalidModel, match="must give one action"):
        in_numbers(Odd(), [0], 1)(0)


def test_a_task_from_elsewhere_is_refused():
    with pytest.raises(InvalidParameter, match="must come from the environment Taxi-v"):
        environment_states(make("six-cell"), "Taxi-v4")


@pytest.mark.slow
def test_a_real_stable_baselines_agent_is_read():
    sb3 = pytest.importorskip("stable_baselines3")
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    agent = sb3.DQN("MlpPolicy", env, learning_starts=10, seed=0).learn(200)
    task = from_gymnasium("FrozenLake-v1", is_slippery=False)
    policy = as_policy(task.mdp, policy_of_environment(task, agent, env))
    wanted = [int(agent.predict(s, deterministic=True)[0]) for s in range(16)]
    going = ~task.mdp.terminal
    assert policy[going].argmax(axis=1).tolist() == np.array(wanted)[going].tolist()
