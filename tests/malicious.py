"""What a stranger puts into files: pickles and names that run code where somebody lets them.

The code is the module `evil_payload`, which writes a file when it is imported or called.
"""

import base64
import io
import json
import pickle
import sys
import zipfile

import pytest

MODULE = "evil_payload"


class Payload:
    """Its pickle imports the module and calls `run`."""

    def __reduce__(self):
        return eval, (f"__import__({MODULE!r}).run()",)


class Trap:
    """A folder with the module; `sprung` says whether anything has run it."""

    def __init__(self, folder):
        self.folder, self.sign = folder, folder / "it ran"
        told = f"def run(*_, **__):\n    open({str(self.sign)!r}, 'w').close()\nrun()\nX = run\n"
        (folder / f"{MODULE}.py").write_text(told)

    @property
    def sprung(self):
        return self.sign.exists() or MODULE in sys.modules


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """The module can be imported; a test ends with an error where something did."""
    folder = tmp_path / "trap"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    sys.modules.pop(MODULE, None)
    made = Trap(folder)
    yield made
    assert not made.sprung, "a file ran code"


def evil_pickle(protocol=2):
    return pickle.dumps(Payload(), protocol=protocol)


def in_text(value="evil"):
    """A Python object as Stable-Baselines3 writes it into JSON."""
    pickled = base64.b64encode(evil_pickle()).decode()
    return {":type:": f"<class '{value}'>", ":serialized:": pickled}


def policy_class(module="stable_baselines3.dqn.policies", name="DQNPolicy"):
    shown = {"__module__": module, "__init__": f"<function {name}.__init__ at 0x7f0000000000>"}
    return {**in_text("abc.ABCMeta"), **shown}


def agent_data(**changes):
    """The member `data` of an agent for FrozenLake-v1, every Python object of it malicious."""
    discrete = "gymnasium.spaces.discrete.Discrete"
    data = {
        "policy_class": policy_class(),
        "policy_kwargs": {"net_arch": [4]},
        "use_sde": False,
        "observation_space": {**in_text(discrete), "n": "16", "start": "0", "_shape": []},
        "action_space": {**in_text(discrete), "n": "4", "start": "0", "_shape": []},
        "lr_schedule": in_text("function"),
        "_last_obs": in_text("numpy.ndarray"),
    }
    return {**data, **changes}


def weights_file(table=None, size=4000):
    """A file of weights: its table of tensors is a pickle too."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2) if table is None else table)
        archive.writestr("archive/data/0", bytes(size))
    return made.getvalue()


def write_agent(path, data=None, weights=None, compression=zipfile.ZIP_STORED, **more):
    """An agent's .zip; members in `more` by name."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        text = data if isinstance(data, str | bytes) else json.dumps(data or agent_data())
        archive.writestr("data", text)
        archive.writestr("policy.pth", weights_file() if weights is None else weights)
        archive.writestr("policy.optimizer.pth", weights_file(evil_pickle()))
        for name, content in more.items():
            archive.writestr(name, content)
    return path
