"""What to show of a policy of Stable-Baselines3, in Box2D and in MuJoCo.

CartPole's is trained by PPO in half a minute, LunarLander's is Gymnasium's own rule of thumb, and
the arm of the reacher is pulled to its target by two gains that are tried out here. Each needs an
extra:

    pip install 'didact[sb3,box2d,mujoco]'
    python examples/trained_policies.py             # or only some: cart-pole lander reacher
"""

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np

import didact


def cart_pole():
    """PPO with a small network. One wrong push is made good again, so others are held, too."""
    from stable_baselines3 import PPO

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=512, seed=0, device="cpu",
                policy_kwargs={"net_arch": [32, 32]})  # fmt: skip
    model.learn(10_000)
    model.save("ppo.zip")

    def features(observation, action, after, ended):
        return np.stack([np.ones(len(after)), -np.abs(after[:, 0]) / 2.4], axis=1)

    return didact.observe("CartPole-v1", model, features=features, weights=[1.0, 0.0],
                          feature_names=["up", "-away"], discount=0.95, settings={"held": (1, 16)},
                          n_rollouts=20, length=40, tolerance=0.5)  # fmt: skip


def lander():
    """Box2D: a copy of the lander loses its legs, so episodes are replayed; engines scatter, and a
    crash is worth so much that 40 repeats leave too much undecided: this is refused."""
    from gymnasium.envs.box2d.lunar_lander import heuristic

    engines = SimpleNamespace(unwrapped=SimpleNamespace(continuous=False))

    def policy(observation):
        return heuristic(engines, observation)

    def shape(seen):
        away, speed = np.hypot(seen[:, 0], seen[:, 1]), np.hypot(seen[:, 2], seen[:, 3])
        legs = 0.1 * (seen[:, 6] + seen[:, 7])
        return np.stack([-away, -speed, -np.abs(seen[:, 4]), legs], axis=1)

    def features(observation, action, after, ended):
        """What comes nearer, slower, more upright, and down on legs; fuel; and how it ends."""
        nearer = (shape(after) - shape(observation)) * ~ended[:, None]
        fuel = np.where(action == 2, 0.3, np.where(action == 0, 0.0, 0.03)) * ~ended
        asleep = ended & (after[:, 6] + after[:, 7] == 2) & (np.abs(after[:, 0]) < 1)
        return np.column_stack([nearer, -fuel, asleep, -1.0 * (ended & ~asleep)])

    names = ["nearer", "slower", "upright", "legs", "-fuel", "landed", "-crashed"]
    return didact.observe("LunarLander-v3", policy, features=features, feature_names=names,
                          weights=[100, 100, 100, 100, 1, 100, 100], discount=0.9, n_rollouts=4,
                          length=10, tolerance=5,
                          settings={"horizon": 80, "repeats": 40})  # fmt: skip


def reacher():
    """MuJoCo: its whole state is put back; torques follow the arm's Jacobian and its speed."""
    import gymnasium

    def policy_of(pull, brake):
        def policy(seen):
            seen = np.atleast_2d(seen)
            first = np.arctan2(seen[:, 2], seen[:, 0])
            both = first + np.arctan2(seen[:, 3], seen[:, 1])
            outer = np.stack([-0.11 * np.sin(both), 0.11 * np.cos(both)], axis=1)
            inner = outer + np.stack([-0.1 * np.sin(first), 0.1 * np.cos(first)], axis=1)
            away = seen[:, 8:10]
            push = np.stack([(inner * away).sum(axis=1), (outer * away).sum(axis=1)], axis=1)
            return np.clip(-pull * push - brake * seen[:, 6:8], -1, 1)

        return policy

    env = gymnasium.make("Reacher-v5")

    def mean_reward(policy, n=10):
        total = 0.0
        for seed in range(n):
            seen, over = env.reset(seed=seed)[0], False
            while not over:
                seen, reward, _, over, _ = env.step(policy(seen)[0])
                total += reward
        return total / n

    tried = {gains: mean_reward(policy_of(*gains)) for gains in
             [(pull, brake) for pull in (5, 10, 20, 40) for brake in (0.03, 0.1, 0.3)]}  # fmt: skip
    best = max(tried, key=tried.get)
    print(f"Reacher: gains {best}, return {tried[best]:.2f}")

    def features(observation, action, after, ended):
        near = np.linalg.norm(after[:, 8:10], axis=1)
        return -np.stack([near, (np.asarray(action) ** 2).sum(axis=1)], axis=1)

    return didact.observe("Reacher-v5", policy_of(*best), features=features,
                          feature_names=["-distance", "-torque^2"], discount=0.9,
                          n_rollouts=4, length=10, settings={"actions": 0.5})  # fmt: skip


NEEDS = {cart_pole: ("stable_baselines3", "sb3"), lander: ("Box2D", "box2d"),
         reacher: ("mujoco", "mujoco")}  # fmt: skip


def main(names):
    for watch, (package, extra) in NEEDS.items():
        name = watch.__name__.replace("_", "-")
        if names and name not in names:
            continue
        if find_spec(package) is None:
            print(f"{name}: needs {package}; pip install 'didact[{extra}]'")
            continue
        try:
            seen = watch()
        except didact.DidactError as refusal:
            print(f"{name}: {refusal}")
            continue
        lesson = didact.certify(seen, didact.teach(seen), n_states=60, target=0.2)
        print(seen)
        print(f"  show {len(lesson.clips)} of {lesson.n_candidates} clips, {lesson.n_steps} steps")
        print("  they teach", dict(zip(seen.setting.feature_names, lesson.weights.round(2).tolist(),
                                       strict=True)))  # fmt: skip
        print(f"  {lesson.statement()}")


if __name__ == "__main__":
    main(sys.argv[1:])
