"""Trained agents of Stable-Baselines3 and sb3-contrib, read from their files.

Nothing is unpickled. A file is a zip. Its member `data` is JSON, in which Python
objects stand as pickles (':serialized:') beside readable texts of their parts; `policy.pth` holds
the weights of the policy's networks. A pickle can run any code, so none is decoded: the policy is
a class of Stable-Baselines3 or sb3-contrib, built anew from the readable parts and the spaces of
the environment. Its weights are read by torch.load(weights_only=True), after the opcodes of their
file were looked through. Where that is not enough, the user must say that the file is trusted."""

from __future__ import annotations

import ast
import inspect
import io
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from didact.errors import DidactError, InvalidFile, Unsupported
from didact.files.extras import require_package
from didact.files.reading import MAX_BYTES, open_file, shown_path
from didact.inputs import (
    FAILURES,
    flag,
    is_number,
    is_whole,
    own_code,
    reason_of,
    shown,
)
from didact.worlds.gym.environments import make_environment
from didact.worlds.gym.runs import (
    Normalised,
    agent_file,
    frames_of,
    normalisation_of,
    refuse_hub_name,
    run_settings,
    unpickled,
    warn_of_settings,
)

MAX_DATA = 10_000_000
"""Bytes of `data`: what Python makes of JSON takes twenty times as much memory."""
MAX_UNPACKED = 50
"""Times the packed size that a member may unpack to, beyond the first megabyte."""
MAX_OBSERVED = 1_000_000
"""Numbers of an observation: Gymnasium keeps bounds for each."""
UNTRUSTED = "a pickle can run any code; say --trust-pickle (trust_pickle=True) if you trust it"

OF_KINDS = ("CnnPolicy", "MultiInputPolicy")
OF_ACTORS = ("ActorCriticPolicy", "ActorCriticCnnPolicy", "MultiInputActorCriticPolicy")
POLICIES: dict[str, tuple[tuple[str, ...], list[int]]] = {
    "stable_baselines3.common.policies": (OF_ACTORS, [64, 64]),
    "stable_baselines3.dqn.policies": (("DQNPolicy", *OF_KINDS), [64, 64]),
    "stable_baselines3.sac.policies": (("SACPolicy", *OF_KINDS), [256, 256]),
    "stable_baselines3.td3.policies": (("TD3Policy", *OF_KINDS), [400, 300]),
    "sb3_contrib.common.maskable.policies": (
        tuple(f"Maskable{kind}" for kind in OF_ACTORS),
        [64, 64],
    ),
    "sb3_contrib.qrdqn.policies": (("QRDQNPolicy", *OF_KINDS), [64, 64]),
    "sb3_contrib.tqc.policies": (("TQCPolicy", *OF_KINDS), [256, 256]),
    "sb3_contrib.crossq.policies": (("CrossQPolicy",), [256, 256]),
    "sb3_contrib.ars.policies": (("ARSPolicy", "ARSLinearPolicy"), []),
}
"""Classes of policies by module, and widths of layers where a file names none; DDPG has those of
TD3, TRPO those of PPO."""
ACTING = {"dqn": "q_net.", "qrdqn": "quantile_net.", "sac": "actor.", "td3": "actor.",
          "tqc": "actor.", "crossq": "actor."}  # fmt: skip
"""Of a policy of several networks, the one that acts; older files name the others otherwise."""
CLASSES = {
    "activation_fn": (
        "torch.nn.modules.activation",
        ("ELU", "GELU", "LeakyReLU", "Mish", "ReLU", "SELU", "Sigmoid", "SiLU", "Softplus", "Tanh"),
    ),
    "features_extractor_class": (
        "stable_baselines3.common.torch_layers",
        ("FlattenExtractor", "NatureCNN"),
    ),
}
"""Options of a policy that are classes: their module, and the names that are known."""
SWITCHES = (
    *("use_sde", "full_std", "use_expln", "squash_output", "normalize_images"),
    *("share_features_extractor", "with_bias", "squash"),
)
WITHOUT_EFFECT = ("optimizer_class", "optimizer_kwargs", "ortho_init", "log_std_init")
"""Options that change no answer of a trained policy that is asked for its best action."""
TENSORS = {
    ("collections", "OrderedDict"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._utils", "_rebuild_parameter"),
    ("torch.serialization", "_get_layout"),
    *(("torch", f"{kind}Storage") for kind in ("Float", "Double", "Half", "Long", "Int", "Byte")),
}
"""What a file of weights may name: tensors and the table that holds them."""
NUMBERS = ("float32", "float64", "uint8", "int8", "int16", "int32", "int64")


def load_agent(path: str | os.PathLike[str], env: Any = None, *, trust_pickle: bool = False) -> Any:
    """The trained agent in a file of Stable-Baselines3 or sb3-contrib (.zip), with `predict`.

    Nothing is unpickled: the policy is built anew from the plain text and the weights in the file,
    and acts as the one that Stable-Baselines3 loads. Other files are refused unless trusted.

    path: of the file, or of the folder of a training run (RL Baselines3 Zoo), whose frame_stack is
        kept with the agent; its env_wrapper and env_kwargs are told, and imported by nobody.
    env: the environment whose spaces the agent has: its id, itself, its class or a function that
        makes one. Observations that are dicts need it; else the file tells the spaces.
    trust_pickle: True lets vecnormalize.pkl beside the file be unpickled, and the file itself where
        its text is not enough, which can run any code that they hold.
    """
    shown_path(path)
    refuse_hub_name(os.fspath(path))
    path = agent_file(os.fspath(path))
    flag(trust_pickle, "trust_pickle")
    open_file(path).close()
    beside = normalisation_of(path)
    settings = run_settings(path)
    warn_of_settings(path, settings, env)
    n_frames = frames_of(settings)
    spaces = _spaces_of(env, n_frames)
    try:
        agent = _agent_of(path, spaces, beside, trust_pickle=trust_pickle)
    except DidactError:
        if not trust_pickle:
            raise
        agent = unpickled(path, _require_package(), spaces)
    agent = Normalised(agent, beside) if beside is not None else agent
    if n_frames > 1:
        agent.frame_stack = n_frames
    return agent


def _spaces_of(env: Any, n_frames: int) -> Any:
    """The environment whose spaces are taken; None where none is given."""
    if isinstance(env, str):
        made = make_environment(env, {})
        if n_frames == 1:
            return made
        from didact.worlds.simulators.wrappers import framed

        return framed(made, n_frames)
    if inspect.isclass(env) or (callable(env) and not hasattr(env, "action_space")):
        with own_code("making the environment"):
            env = env()
    if hasattr(env, "single_observation_space"):  # Gymnasium's vectors: the spaces of one
        return SimpleNamespace(
            observation_space=env.single_observation_space,
            action_space=env.single_action_space,
        )
    return env


def _agent_of(path: str, spaces: Any, beside: str | None, *, trust_pickle: bool) -> Any:
    """The agent, built from the plain parts of its file."""
    plan, weights = planned(path, spaces)
    if beside is not None and not trust_pickle:
        raise Unsupported(
            f"{shown_path(path)}: {os.path.basename(beside)} beside it says how the agent's "
            f"observations were normalised; {UNTRUSTED}, or move it away if it is another agent's"
        )
    _require_package()
    try:
        return _built(*plan, weights)
    except DidactError as error:
        raise type(error)(f"{shown_path(path)}: {error}") from None
    except FAILURES as error:
        raise InvalidFile(f"{shown_path(path)}: cannot be rebuilt: {reason_of(error)}") from None


Plan = tuple[tuple[str, str], Any, Any, dict[str, Any]]
"""Module and name of the policy's class, its spaces, and its options."""


def planned(path: str, spaces: Any = None) -> tuple[Plan, bytes]:
    """How to build the policy of a file, and its weights: all that needs neither SB3 nor torch."""
    with open_file(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                data = _data(archive)
                weights = _member(archive, "policy.pth", MAX_BYTES)
            _require_tensors(weights)
            return _plan(data, spaces, len(weights)), weights
        except DidactError as error:
            raise type(error)(f"{shown_path(path)}: {error}") from None
        except FAILURES as error:  # zipfile's and pickletools' own
            raise InvalidFile(
                f"{shown_path(path)}: is not a whole file of Stable-Baselines3: "
                f"{reason_of(error, 120)}"
            ) from None


def refuse_pickle(path: str) -> None:
    """Refuse a file that is nothing but a pickle."""
    if path.endswith((".pkl", ".pickle", ".pth", ".pt", ".joblib")):
        raise Unsupported(
            f"{shown_path(path)}: is a pickle, which can run any code, and is not read; name the "
            "agent's .zip of Stable-Baselines3, a table of its actions, or module:name"
        )


def _needs_pickle(what: str) -> Unsupported:
    return Unsupported(f"{what} cannot be read without unpickling it; {UNTRUSTED}")


def _member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """The bytes of a member, which is never written anywhere; no more than it may have."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        raise InvalidFile(f"must be a file of Stable-Baselines3; it has no {name}") from None
    most = min(most, 1_000_000 + MAX_UNPACKED * entry.compress_size)
    if entry.file_size > most:
        raise InvalidFile(f"{name} must have at most {most} bytes; it has {entry.file_size}")
    return archive.read(entry)


def _data(archive: zipfile.ZipFile) -> Mapping[str, Any]:
    try:
        data = json.loads(_member(archive, "data", MAX_DATA))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DidactError):
            raise
        raise InvalidFile(f"data must be JSON: {reason_of(error, 120)}") from None
    if not isinstance(data, dict):
        raise InvalidFile(f"data must be an object; it is {shown(data)}")
    return data


def _plan(data: Mapping[str, Any], spaces: Any, n_bytes: int) -> Plan:
    """How to build the policy, by plain text alone."""
    kind = _class_of(data.get("policy_class"))
    options = _options(data.get("policy_kwargs", {}))
    if kind[0].endswith(".common.policies"):
        options["use_sde"] = data.get("use_sde") is True
    seen = _space(data, "observation_space", getattr(spaces, "observation_space", None))
    taken = _space(data, "action_space", getattr(spaces, "action_space", None))
    _require_size(n_bytes, kind, _n_numbers(seen), _n_numbers(taken), options)
    return kind, seen, taken, options


def _class_of(written: Any) -> tuple[str, str]:
    """Module and name of a policy's class; JSON tells the name only in that of its function."""
    given = written if isinstance(written, dict) else {}
    module = given.get("__module__")
    found = re.match(r"<function (\w+)\.__init__ at ", str(given.get("__init__")))
    name = found[1] if found else ""
    if name.startswith("Recurrent"):
        raise Unsupported(
            f"its policy {name} remembers earlier observations; only agents without memory, which "
            "act on what they see alone, can be observed"
        )
    if not isinstance(module, str) or module not in POLICIES or (name not in POLICIES[module][0]):
        raise _needs_pickle(f"its policy {shown(name or module)}, none that is known here,")
    return module, name


def _options(written: Any) -> dict[str, Any]:
    """The options of a policy that are readable; refused where one is not."""
    if not isinstance(written, dict):
        raise InvalidFile(f"policy_kwargs must be an object; it is {shown(written)}")
    if ":serialized:" in written and len(written) == 2:
        raise _needs_pickle("policy_kwargs")
    found = {}
    for name, value in written.items():
        if name in (":type:", ":serialized:", *WITHOUT_EFFECT):
            continue
        if name == "net_arch" and isinstance(value, str):
            value = _read_literal(value)
        if name == "net_arch" and isinstance(value, list) and len(value) == 1 and (
            isinstance(value[0], dict)
        ):  # fmt: skip
            value = value[0]  # how Stable-Baselines3 wrote it before 1.8
        if (name == "net_arch" and _is_architecture(value)) or _is_plain(name, value):
            found[name] = value
        elif name in CLASSES:
            found[name] = _named_class(name, value)
        else:
            raise _needs_pickle(f"policy_kwargs[{shown(name)}]")
    return found


def _is_plain(name: str, value: Any) -> bool:
    """Whether an option is a switch or a number that is known."""
    if name in SWITCHES:
        return isinstance(value, bool)
    if name in ("n_critics", "n_quantiles"):
        return is_whole(value) and 1 <= value <= 1000
    if name in ("batch_norm_momentum", "batch_norm_eps", "renorm_warmup_steps"):
        return is_number(value)
    if name == "features_extractor_kwargs":
        return value == {} or (isinstance(value, dict) and _are_widths([value.get("features_dim")])
                               and len(value) == 1)  # fmt: skip
    return name == "clip_mean" and is_number(value)


def _is_architecture(value: Any) -> bool:
    """Whether this is widths of layers, for all networks or by their names."""
    if isinstance(value, dict):
        return set(value) <= {"pi", "vf", "qf"} and all(map(_are_widths, value.values()))
    return _are_widths(value)


def _are_widths(value: Any) -> bool:
    """Whether these are widths of few layers; how wide is compared with the weights."""
    few = isinstance(value, list) and len(value) <= 100
    return few and all(is_whole(width) and 1 <= width < 2**31 for width in value)


def _named_class(option: str, text: Any) -> str:
    module, names = CLASSES[option]
    found = re.fullmatch(rf"<class '{re.escape(module)}\.(\w+)'>", str(text))
    if not found or found[1] not in names:
        raise _needs_pickle(f"policy_kwargs[{option!r}], {shown(text)},")
    return found[1]


def _read_literal(text: str) -> Any:
    """Lists, dicts and numbers that a text writes as Python does; the text where it has others."""
    try:
        return ast.literal_eval(text[:10_000])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def _space(data: Mapping[str, Any], name: str, own: Any) -> Any:
    """The environment's own space, which must be the file's; else the one that the file tells."""
    from gymnasium import spaces

    given = data.get(name)
    written = given if isinstance(given, dict) else {}
    pattern = r"<class 'gym(?:nasium)?\.spaces\.\w+\.(\w+)'>"
    named = re.fullmatch(pattern, str(written.get(":type:")))
    told = (named[1] if named else None, *_sizes(written))
    if own is None:
        return _told_space(name, told, written)
    if told[0] == type(own).__name__ in ("Dict", "MultiDiscrete"):
        return own  # the weights must fit it
    is_counted = isinstance(own, spaces.Discrete | spaces.MultiBinary) and np.ndim(own.n) == 0
    size = int(own.n) if is_counted else None
    wanted = (type(own).__name__, size, None if size else tuple(own.shape or ()))
    if told != wanted and told[0] == "Box" == wanted[0] and _is_transposed(own, told[2]):
        return spaces.Box(0, 255, told[2], dtype=np.uint8)
    if told != wanted:
        raise InvalidFile(
            f"its {name} must be the environment's, {_in_words(wanted)}; it is {_in_words(told)}"
            + _frames(wanted, told)
        )
    return spaces.Discrete(int(own.n)) if isinstance(own, spaces.Discrete) else own


def _frames(own: tuple[Any, ...], told: tuple[Any, ...]) -> str:
    """What to do where a file's observations are several of the environment's."""
    one, many = own[2], told[2]
    if one and many and len(one) == 3 and many[1:] == one[:2]:
        many = (*many[1:], many[0])  # pictures with their colours first
    if not one or not many or one[:-1] != many[:-1] or many[-1] % one[-1] or many == one:
        return ""
    return (
        f". It saw {many[-1] // one[-1]} frames at once: give VecFrameStack(make_vec_env(id), "
        f"{many[-1] // one[-1]}) as env, or the name of a function that makes it"
    )


def _told_space(
    name: str, told: tuple[str | None, int | None, Any], written: Mapping[str, Any]
) -> Any:
    """The space that a file tells: its kind, its number of values, its shape and its dtype."""
    from gymnasium import spaces

    kind, n, shape = told
    if kind in ("Discrete", "MultiBinary") and n is not None:
        return getattr(spaces, kind)(n)
    dtype = written.get("dtype")
    is_box = kind == "Box" and dtype in NUMBERS and shape is not None
    is_picture = is_box and dtype == "uint8" and len(shape or ()) == 3
    if is_box and not is_picture and name == "observation_space":
        # bounds of what is observed change no answer; those of actions do
        return spaces.Box(-1, 1, shape, dtype=np.dtype(dtype).type)
    bounds = [_told_numbers(written.get(side), shape) for side in ("low", "high")]
    if is_box and name == "action_space" and all(bound is not None for bound in bounds):
        return spaces.Box(*bounds, dtype=np.dtype(dtype).type)
    raise _needs_pickle(f"its {name} {shown(kind)}")


def _told_numbers(text: Any, shape: Any) -> Any:
    """Numbers that a text shows as an array; None where some are left out."""
    if not isinstance(text, str) or len(text) > 10_000 or shape is None:
        return None
    try:
        found = np.array([float(part) for part in text.strip("[] \n").replace("\n", " ").split()])
    except ValueError:
        return None
    fits = found.size == math.prod(shape) and np.isfinite(found).all()
    return found.reshape(shape).astype(np.float32) if fits else None


def _sizes(written: Mapping[str, Any]) -> tuple[int | None, tuple[int, ...] | None]:
    """The number of a Discrete space, or the shape of another, where the text tells it."""
    n, shape = str(written.get("n", "")), written.get("_shape", written.get("shape"))
    if n.isdecimal() and len(n) < 10 and int(n):
        return int(n), None
    if not isinstance(shape, list) or len(shape) > 8:
        return None, None
    are_sides = all(is_whole(side) and 0 < side <= MAX_OBSERVED for side in shape)
    fits = are_sides and math.prod(shape) <= MAX_OBSERVED
    return None, tuple(shape) if fits else None


def _is_transposed(own: Any, shape: tuple[int, ...] | None) -> bool:
    """Whether this is the shape of the environment's pictures with their colours first."""
    is_picture = str(own.dtype) == "uint8" and len(own.shape) == 3
    return is_picture and shape == (own.shape[2], own.shape[0], own.shape[1])


def _in_words(space: tuple[str | None, int | None, tuple[int, ...] | None]) -> str:
    kind, n, shape = space
    return f"{kind or 'unknown'} {n if n is not None else shape if shape is not None else ''}"


def _require_tensors(weights: bytes) -> None:
    """Refuse a file of weights that names more than tensors, before anything loads it.

    torch.load refuses that too when it is up to date; this holds for older ones as well.
    """
    import pickletools

    with zipfile.ZipFile(io.BytesIO(weights)) as archive:
        entries = archive.infolist()
        if sum(entry.file_size for entry in entries) > 2 * len(weights) + 1_000_000:
            raise InvalidFile("policy.pth must hold its weights as they are; they are packed")
        tables = [entry for entry in entries if entry.filename.endswith(".pkl")]
        if len(tables) != 1 or not tables[0].filename.endswith("/data.pkl"):
            raise InvalidFile("policy.pth must hold one table of weights, data.pkl")
        table = archive.read(tables[0])
    for code, argument, _ in pickletools.genops(table):
        if code.name == "GLOBAL":
            named = tuple(str(argument).split(" ", 1))
            if named not in TENSORS:
                raise _refused_weights(".".join(named))
        elif code.name in ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX") or (
            code.name.startswith("EXT")
        ):
            raise _refused_weights(code.name)


def _refused_weights(what: str) -> InvalidFile:
    return InvalidFile(
        f"policy.pth must hold weights alone; it names {shown(what)}, and a pickle can run any code"
    )


def _require_package() -> Any:
    return require_package("stable_baselines3", "sb3", "files of Stable-Baselines3 (.zip)")


def _built(
    kind: tuple[str, str], seen: Any, taken: Any, options: dict[str, Any], weights: bytes
) -> Any:
    """The policy with its weights; `predict` is that of the agent."""
    import torch  # type: ignore[import-not-found]
    from stable_baselines3.common import torch_layers  # type: ignore[import-not-found]

    state = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
    if not isinstance(state, dict) or not all(map(torch.is_tensor, state.values())):
        raise InvalidFile("policy.pth must be a table of weights; it holds something else")
    made = {
        name: getattr(torch.nn if name == "activation_fn" else torch_layers, value)
        if name in CLASSES
        else value
        for name, value in options.items()
    }
    if kind[0].endswith((".common.policies", ".maskable.policies")):
        made["ortho_init"] = False  # first weights are replaced, and such ones take long to find
    schedule = () if ".ars." in kind[0] else (_no_steps,)
    module, name = kind
    made_by = getattr(require_package(module, "sb3", f"agents with a {name}"), name)
    policy = made_by(seen, taken, *schedule, **made)
    state = _acting_weights(kind[0], state, policy.state_dict())
    policy.load_state_dict(state)
    policy.set_training_mode(False)
    return policy


def _acting_weights(module: str, state: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The weights of a file for a policy that was built anew; refused where those that act differ.

    Older files have one features extractor where newer ones have the same once more for each
    network, and name critics otherwise; critics do not act.
    """
    acting = ACTING.get(module.split(".")[-2], "")
    found = {}
    for name, part in own.items():
        source = name
        if name not in state:
            source = re.sub(r"^(pi|vf)_features_extractor", "features_extractor", name)
        given = state.get(source)
        if given is not None and given.shape == part.shape:
            found[name] = given
        elif name.startswith(acting) and "value_net" not in name:
            raise InvalidFile(
                f"policy.pth must fit the policy that data describes; {shown(name)} has the shape "
                f"{None if given is None else tuple(given.shape)} instead of {tuple(part.shape)}"
            )
        else:
            found[name] = part
    unknown = [name for name in state if name.startswith(acting) and name not in own]
    if unknown and not acting:
        raise InvalidFile(
            f"policy.pth must fit the policy that data describes; it has {shown(min(unknown))} too"
        )
    return found


def _require_size(
    n_bytes: int,
    kind: tuple[str, str],
    n_features: int,
    n_actions: int,
    options: Mapping[str, Any],
) -> None:
    """Refuse a network that is larger than the file of its weights, before memory is taken."""
    is_cnn = kind[1].endswith("CnnPolicy")
    if is_cnn:
        n_features = options.get("features_extractor_kwargs", {}).get("features_dim", 512)
    layers = options.get("net_arch", [] if is_cnn else POLICIES[kind[0]][1])
    networks = list(layers.values()) if isinstance(layers, dict) else [layers]
    sizes = [sum(a * b for a, b in pairwise([n_features, *each, 1])) for each in networks]
    n_weights = n_actions + sum(sizes) + (options.get("n_critics", 1) - 1) * min(sizes, default=0)
    if n_weights * 2 > n_bytes:  # a weight has at least two bytes
        raise InvalidFile(
            f"policy.pth must hold the {n_weights} weights of the layers that data describes; it "
            f"has {n_bytes} bytes"
        )


def _n_numbers(space: Any) -> int:
    """How many numbers a network has for an element of a space."""
    return math.prod(space.shape) if space.shape else int(getattr(space, "n", 1))


def _no_steps(_: float) -> float:
    """A learning rate for what does not learn."""
    return 0.0
