"""What to show of a policy in CartPole, Pendulum and MountainCar, none of which has a table.

CartPole's policy is a line found by the cross-entropy method; those of Pendulum and MountainCar are
planned on a grid of their states. All three are trained here, in seconds. A policy of
Stable-Baselines3 would be given to `observe` in the same way: `PPO.load("ppo.zip")`.

    python examples/policies_in_simulators.py
"""

import numpy as np

import didact
from didact.worlds.simulators.classics import TORQUES, MountainCar, Pendulum
from didact.worlds.simulators.opening import open_simulator


def cart_pole():
    """The cart must stay on its track and the pole up; falling is what costs."""
    simulator = open_simulator("CartPole-v1")

    def steps_until_the_fall(line, n=20, most=200):
        batch, total = simulator.begin(range(n)), 0
        for _ in range(most):
            actions = (batch.observations @ line > 0).astype(int)
            ended = batch.step(actions).ended
            total += int((~ended).sum())
            batch.keep(~ended)
            if not len(batch.states):
                break
        return total / n

    rng, mean, spread = np.random.default_rng(0), np.zeros(4), np.ones(4)
    for _ in range(8):
        lines = mean + spread * rng.normal(size=(40, 4))
        best = np.argsort([-steps_until_the_fall(line) for line in lines])[:8]
        mean, spread = lines[best].mean(axis=0), lines[best].std(axis=0) + 0.05
    print(f"CartPole: {steps_until_the_fall(mean):.0f} of 200 steps")

    def features(observation, action, after, ended):
        return np.stack([np.ones(len(after)), -np.abs(after[:, 2]) / 0.21], axis=1)

    return didact.observe("CartPole-v1", lambda seen: (np.atleast_2d(seen) @ mean > 0).astype(int),
                          features=features, weights=[1.0, 0.0], discount=0.95, n_rollouts=10,
                          length=20, tolerance=0.5)  # fmt: skip


def pendulum():
    """Gymnasium's own environment, with the policy of its equations on a grid."""
    plan, equations = Pendulum().best_policy(0.9), Pendulum()

    def policy(seen):
        return TORQUES[plan(seen)][:, None]

    def features(observation, action, after, ended):
        states = equations.state_of(observation)
        return -np.stack([states[:, 0] ** 2, states[:, 1] ** 2, action[:, 0] ** 2], axis=1)

    return didact.observe("Pendulum-v1", policy, features=features, weights=[1.0, 0.1, 0.001],
                          discount=0.9, n_rollouts=4, length=5,
                          settings={"actions": 1.0})  # fmt: skip


def mountain_car():
    """Many copies at once; pushing costs a little."""
    return didact.observe(MountainCar(), discount=0.99, n_rollouts=10, length=100)


def main():
    for watch in (cart_pole, pendulum, mountain_car):
        seen = watch()
        lesson = didact.certify(seen, didact.teach(seen), n_states=60, target=0.2)
        print(seen)
        print(f"  show {len(lesson.clips)} of {lesson.n_candidates} clips, {lesson.n_steps} steps")
        print(f"  {lesson.statement()}")


if __name__ == "__main__":
    main()
