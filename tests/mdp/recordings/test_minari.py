"""Minari datasets: what we write the real package reads, and what it writes we read."""

import inspect
import json
import os
import resource
import sys
import warnings
from importlib.metadata import version

import gymnasium
import numpy as np
import pytest

import didact
from didact.cli import main
from didact.errors import InvalidFile, InvalidInput, InvalidParameter, Unsupported
from didact.mdp import Demonstration
from didact.mdp.files import task_document
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.formats import datasets_root, load_recording
from didact.mdp.recordings.minari import read_episodes, read_minari, write_episodes
from didact.mdp.recordings.recording import Episode, Recording
from didact.teaching import teach
from didact.worlds import from_gymnasium, make
from didact.worlds.opening import environment_task, recorded_task
from tests import effort
from tests.command_line import Answer, in_own_process, refused
from tests.effort import crossed
from tests.observing import observe

minari = pytest.importorskip("minari")
h5py = pytest.importorskip("h5py")
minari_storage = pytest.importorskip("minari.dataset.minari_storage")


PARQUET = pytest.param(
    "parquet",
    marks=pytest.mark.skipif(
        tuple(map(int, version("minari").split(".")[:3])) < (0, 5, 3),
        reason="this Minari writes no Parquet",
    ),
)


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """A home of Minari's of its own, and no way to the network."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))

    def refuse(*arguments, **options):
        raise AssertionError("nothing may be fetched")

    monkeypatch.setattr("socket.socket.connect", refuse)
    return tmp_path / "minari"


@pytest.fixture
def recording():
    task = make("random-grid", size=4, n_features=3, slip="1/4", terminals=2, seed=3)
    lesson = teach(task)
    return Recording(lesson.demonstrations, task=task, lesson=lesson.document())


@pytest.mark.parametrize("id", ["lesson-v0", "mine/grids/lesson-v3"])
def test_the_real_package_reads_what_we_write(id, recording, root):
    assert recording.save(id) == root / id
    dataset = minari.load_dataset(id)
    assert (dataset.id, dataset.total_episodes) == (id, len(recording.demonstrations))
    assert dataset.total_steps == recording.n_pairs
    assert dataset.observation_space == gymnasium.spaces.Discrete(16)
    assert dataset.action_space == gymnasium.spaces.Discrete(4)
    assert list(minari.list_local_datasets()) == [id]
    about = list(dataset.storage.get_episode_metadata(range(len(dataset))))
    for episode, told, shown in zip(dataset, about, recording.demonstrations, strict=True):
        assert told["options"] == {"start_state": shown[0][0]}
        assert len(episode.observations) == len(shown) + 1
        pairs = zip(episode.observations[:-1].tolist(), episode.actions.tolist(), strict=True)
        assert tuple(pairs) == shown.pairs
        assert (episode.terminations | episode.truncations).tolist() == [
            *[False] * (len(shown) - 1),
            True,
        ]
        assert bool(episode.terminations[-1]) == bool(
            recording.task.mdp.terminal[episode.observations[-1]]
        )
    repr(dataset[0])


def test_it_reads_back_by_name_and_by_folder(recording, root):
    recording.save("lesson-v0")
    for source in ("lesson-v0", root / "lesson-v0", root / "lesson-v0" / "data"):
        back = load_recording(source)
        assert back.demonstrations == recording.demonstrations
        assert back.lesson == recording.lesson
        assert task_document(back.task) == task_document(recording.task)


def test_chosen_numbers_are_those_of_filter_episodes(recording):
    recording.save("lesson-v0")
    dataset = minari.load_dataset("lesson-v0")
    chosen = [1]
    kept = dataset.filter_episodes(lambda episode: episode.id in chosen)
    assert kept.episode_indices.tolist() == chosen
    assert kept[0].actions.tolist() == [a for _, a in recording.part(chosen).demonstrations[0]]


def played(env, actions, seed):
    """An episode as Minari's collector would store it."""
    states = [env.reset(seed=seed)[0]]
    rewards, ends, cuts = [], [], []
    for action in actions:
        state, reward, ended, cut, _ = env.step(action)
        states.append(state)
        rewards.append(float(reward))
        ends.append(ended)
        cuts.append(cut)
        if ended:
            break
    return minari.data_collector.EpisodeBuffer(
        seed=seed,
        observations=np.array(states),
        actions=np.array(actions[: len(rewards)]),
        rewards=rewards,
        terminations=ends,
        truncations=cuts,
        infos={},
    )


@pytest.mark.parametrize("id", ["FrozenLake-v1", "Taxi"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_others_recorded_are_the_states_of_their_environment(id):
    if id == "Taxi":
        id = "Taxi-v4" if "Taxi-v4" in gymnasium.registry else "Taxi-v3"
    env = gymnasium.make(id)
    rng = np.random.default_rng(0)
    buffers = [
        played(env, rng.integers(env.action_space.n, size=12).tolist(), seed) for seed in range(5)
    ]
    minari.create_dataset_from_buffers("theirs-v0", buffers, env=env)
    found = load_recording("theirs-v0")
    assert found.foreign
    assert found.task is None
    assert found.environment.id == id
    task = environment_task(found.environment.id, found.environment.options)
    own = found.of_task(task)
    assert task_document(task) == task_document(from_gymnasium(id))
    for buffer, shown in zip(buffers, own.demonstrations, strict=True):
        for number, action, (state, taken) in zip(
            buffer.observations, buffer.actions, shown, strict=False
        ):
            assert (state, taken) == (number, action)


SPACES = gymnasium.spaces
WATCHED = [
    (SPACES.Box(0, 9, (2,), dtype=np.int64), [[3, 4], [4, 4], [4, 5]]),
    (SPACES.Box(0, 9, (2, 1), dtype=np.float32), [[[3], [4.5]], [[4], [4]], [[4], [5]]]),
    (SPACES.MultiDiscrete([5, 6]), [[3, 4], [4, 4], [4, 5]]),
    (SPACES.MultiBinary(3), [[0, 1, 1], [1, 1, 1], [0, 0, 0]]),
    (SPACES.Tuple([SPACES.Discrete(5), SPACES.Discrete(6)]), [[3, 4], [4, 4], [4, 5]]),
    (
        SPACES.Dict(
            {"at": SPACES.MultiDiscrete([5, 6]), "told": SPACES.Text(9), "n": SPACES.Discrete(9)}
        ),
        [{"at": [3, i], "n": i, "told": "go on"} for i in range(3)],
    ),
]


def buffer_of(space, observed):
    """The buffer that Minari's own collector would have filled."""

    def columns(space, values):
        if isinstance(space, SPACES.Dict):
            return {k: columns(space[k], [value[k] for value in values]) for k in space.spaces}
        if isinstance(space, SPACES.Tuple):
            parts = enumerate(space.spaces)
            return tuple(columns(part, [value[i] for value in values]) for i, part in parts)
        return values if isinstance(space, SPACES.Text) else np.array(values, dtype=space.dtype)

    return minari.data_collector.EpisodeBuffer(
        observations=columns(space, observed), actions=np.array([1, 0]), rewards=[0.0, 0.0],
        terminations=[False, True], truncations=[False, False], infos={},
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("data_format", ["hdf5", "arrow", PARQUET])
@pytest.mark.parametrize(("space", "observed"), WATCHED, ids=lambda case: type(case).__name__)
def test_anything_that_compares_by_value_is_read_as_it_was_observed(space, observed, data_format):
    minari.create_dataset_from_buffers(
        "watched-v0", [buffer_of(space, observed)], observation_space=space,
        action_space=SPACES.Discrete(2), data_format=data_format,
    )  # fmt: skip
    (found,) = load_recording("watched-v0").demonstrations
    assert found == ObservedDemonstration.of([(observed[0], 1), (observed[1], 0)])


@pytest.mark.filterwarnings("ignore::UserWarning")
@PARQUET.marks[0]
@pytest.mark.parametrize("are_still", [True, False])
def test_pictures_that_jpeg_has_changed_are_refused_with_a_remedy(are_still, tmp_path):
    space = SPACES.Box(0, 255, (32, 32, 3), dtype=np.uint8)
    rng = np.random.default_rng(0)
    shown = [np.zeros((32, 32, 3), np.uint8)] * 3
    if not are_still:  # JPEGs of one length are kept as another array than those of several
        shown = [rng.integers(0, 256, (32, 32, 3), dtype=np.uint8) // (i + 1) for i in range(3)]
    settings = dict(observation_space=space, action_space=SPACES.Discrete(2))
    minari.create_dataset_from_buffers("pictures-v0", [buffer_of(space, shown)], **settings)
    with pytest.raises(InvalidFile, match=r"kept them as JPEG.*\(env, jpeg_encoding=False\)"):
        load_recording("pictures-v0")
    if "jpeg_encoding" in inspect.signature(minari.create_dataset_from_buffers).parameters:
        minari.create_dataset_from_buffers(
            "plain-v0", [buffer_of(space, shown)], jpeg_encoding=False, **settings
        )
        (found,) = load_recording("plain-v0").demonstrations
        assert found == ObservedDemonstration.of([(shown[0], 1), (shown[1], 0)])


def edited(folder, **changes):
    file = folder / "data" / "metadata.json"
    metadata = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({k: v for k, v in metadata.items() if v is not None}))


def test_an_entry_point_in_the_metadata_is_never_run(recording, root):
    """Without spaces Minari would make the environment that the metadata name."""
    recording.save("lesson-v0")
    spec = {"id": "Evil-v0", "entry_point": "os:abort", "kwargs": {}}
    edited(root / "lesson-v0", didact_task=None, didact_lesson=None, env_spec=json.dumps(spec))
    back = load_recording("lesson-v0")
    assert back.environment.id == "Evil-v0"
    edited(root / "lesson-v0", observation_space=None)
    with pytest.raises(InvalidFile, match="observation_space must be one of Box, Discrete"):
        load_recording("lesson-v0")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"total_steps": 10**12}, "at most 50000000 pairs"),
        ({"total_episodes": "many"}, "must say total_episodes as a whole number"),
        ({"total_episodes": 99}, "episode_2 is missing"),
        ({"data_format": "punch-cards"}, "data_format must be hdf5, arrow or parquet"),
        ({"didact_task": {"format": "x"}}, "format must be 'didact.task/1'"),
        ({"observation_space": "{"}, "observation_space must be one of Box, Discrete"),
        ({"didact_lesson": 5}, "its lesson must be an object; it is 5"),
        ({"didact_lesson": "x"}, "its lesson must be an object; it is 'x'"),
        ({"didact_lesson": []}, "its lesson must be an object; it is \\[\\]"),
    ],
)
def test_damaged_datasets_are_refused_in_one_line(changes, message, recording, root):
    recording.save("lesson-v0")
    edited(root / "lesson-v0", **changes)
    with pytest.raises(InvalidFile, match=message):
        load_recording("lesson-v0")


def test_sizes_are_checked_before_memory_is_taken(recording, root):
    """An array that claims more than the file holds is a few bytes on the disk."""
    recording.save("lesson-v0")
    with h5py.File(root / "lesson-v0" / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0"]["actions"]
        file["episode_0"].create_dataset("actions", shape=(10**12,), dtype="i8", chunks=(1024,))
    with pytest.raises(InvalidFile, match=r"actions.* may hold at most [0-9]+ in all"):
        load_recording("lesson-v0")
    with h5py.File(root / "lesson-v0" / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0"]["actions"]
        few = {"shape": (49_000_000,), "chunks": (1024,)}  # whose pairs would take gigabytes
        file["episode_0"].create_dataset("actions", dtype="i8", **few)
    with pytest.raises(InvalidFile, match=r"actions.* may hold at most [0-9]+ in all"):
        load_recording("lesson-v0")
    with h5py.File(root / "lesson-v0" / "data" / "main_data.hdf5", "a") as file:
        del file["episode_0"]["actions"]
        chunks = {"chunks": (400_000_000,), "maxshape": (None,)}
        file["episode_0"].create_dataset("actions", shape=(3,), dtype="i8", **chunks)
    with pytest.raises(InvalidFile, match="actions must be kept in smaller parts"):
        load_recording("lesson-v0")


def linked(file):
    """One episode under a thousand names."""
    first = file["episode_0"]
    for name in ("observations", "actions"):
        del first[name]
    first.create_dataset("observations", (20_001,), dtype="i8", chunks=(1000,))
    first.create_dataset("actions", (20_000,), dtype="i8", chunks=(1000,))
    for number in range(2, 1000):
        file[f"episode_{number}"] = first


def one_text(file):
    del file["episode_0"]["observations"]
    kept = {"dtype": "S400", "chunks": (1000,), "compression": "gzip"}
    file["episode_0"].create_dataset("observations", (900_000,), **kept)


def tight(file):
    """What gzip makes of zeros: a thousandth."""
    del file["episode_0"]["actions"]
    kept = {"data": np.zeros(2_500_000, "i1"), "compression": "gzip", "chunks": (100_000,)}
    file["episode_0"].create_dataset("actions", **kept)


@pytest.mark.parametrize("trap", [linked, one_text, tight])
def test_what_a_file_unpacks_to_is_counted_in_all(trap, recording, root):
    """A file of a megabyte may cost a gigabyte at most, whatever packs its arrays."""
    recording.save("lesson-v0")
    with h5py.File(root / "lesson-v0" / "data" / "main_data.hdf5", "a") as file:
        trap(file)
    edited(root / "lesson-v0", total_episodes=1000)
    with pytest.raises(InvalidFile, match=r" may hold at most [0-9]+ in all"):
        load_recording("lesson-v0")


@pytest.mark.parametrize(
    "options",
    [
        {"desc": ["S" + "F" * 2999, "F" * 2999 + "G"]},
        {"desc": [["S", "F"] * 1500, ["F", "G"] * 1500]},
        {"map_name": None, "size": 100_000},
        {"size": 1e300},
    ],
)
def test_a_world_that_a_file_names_is_small(options):
    with pytest.raises(InvalidInput, match=r"must be small, at most 4096 cells.*--task"):
        recorded_task("FrozenLake-v1", options)
    assert recorded_task("FrozenLake-v1", {"desc": ["SF", "FG"]}).mdp.n_states == 4


@pytest.mark.slow
def test_a_file_of_a_megabyte_costs_less_than_a_gigabyte(recording, root):
    """The most that is read of one: as many steps as it may hold."""
    recording.save("lesson-v0")
    path = root / "lesson-v0" / "data" / "main_data.hdf5"
    with h5py.File(path, "a") as file:
        del file["episode_0"]["actions"], file["episode_0"]["observations"]
        file["episode_0"].create_dataset("filler", data=np.arange(100_000))
        kept = {"dtype": "i8", "chunks": (100_000,)}
        file["episode_0"].create_dataset("actions", (990_000,), **kept)
        file["episode_0"].create_dataset("observations", (990_001,), **kept)
    edited(root / "lesson-v0", total_episodes=1, didact_lesson=None)
    assert os.path.getsize(path) < 1_000_000
    code = """
import resource, sys
from didact.mdp.recordings.formats import load_recording
print(sum(map(len, load_recording(sys.argv[1]).demonstrations)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    done = in_own_process(root / "lesson-v0", python=("-c", code))
    assert done.code == 0, done.err
    steps, kilobytes = map(int, done.out.split())
    assert steps == 990_000
    assert kilobytes < 1_000_000


def test_nothing_outside_the_file_is_read(recording, root, tmp_path):
    """Links, arrays that lie in other files, and arrays put together from them."""
    recording.save("lesson-v0")
    data = root / "lesson-v0" / "data" / "main_data.hdf5"
    before = data.read_bytes()
    secret = np.arange(9, dtype="i8")
    (tmp_path / "secret").write_bytes(secret.tobytes())
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["observations"] = other["group/observations"] = secret
    lying = h5py.VirtualLayout(shape=(9,), dtype="i8")
    lying[:] = h5py.VirtualSource(tmp_path / "other.hdf5", "observations", shape=(9,))
    outside = [(str(tmp_path / "secret"), 0, 72)]
    changes = [
        lambda file: file.__setitem__("x", h5py.ExternalLink(tmp_path / "other.hdf5", "group")),
        lambda file: file.__setitem__("x", h5py.SoftLink("/episode_1")),
        lambda file: file["x"].__setitem__(
            "observations", h5py.ExternalLink(tmp_path / "other.hdf5", "observations")
        ),
        lambda file: file["x"].__setitem__("observations", h5py.SoftLink("actions")),
        lambda file: file["x"].create_dataset("observations", (9,), "i8", external=outside),
        lambda file: file["x"].create_virtual_dataset("observations", lying),
    ]
    for number, change in enumerate(changes):
        data.write_bytes(before)
        with h5py.File(data, "a") as file:
            file.move("episode_0", "x")
            if number < 2:
                del file["x"]
            else:
                del file["x/observations"]
            change(file)
            file.move("x", "episode_0")
        with pytest.raises(InvalidFile, match="must lie in this file"):
            load_recording("lesson-v0")


@pytest.mark.parametrize("kept", ["arrow", PARQUET])
def test_the_other_formats_of_minari_are_read(kept, recording, root):
    """Written by Minari itself."""
    recording.save("lesson-v0")
    ours = load_recording("lesson-v0")
    spaces = gymnasium.spaces.Discrete(16), gymnasium.spaces.Discrete(4)
    storage = minari_storage.MinariStorage.new(root / "theirs", *spaces, data_format=kept)
    for shown in ours.demonstrations:
        steps = {name: [0] * len(shown) for name in ("rewards", "terminations", "truncations")}
        states = np.array([*(s for s, _ in shown), 0])
        actions = np.array([a for _, a in shown])
        buffer = minari.data_collector.EpisodeBuffer(
            options={"start_state": shown[0][0]}, observations=states, actions=actions, **steps
        )
        storage.update_episodes([buffer])
    assert load_recording(root / "theirs").demonstrations == ours.demonstrations
    (part,) = (root / "theirs" / "0").glob(f"*.{kept}")
    part.write_bytes(part.read_bytes()[: part.stat().st_size // 3])
    with pytest.raises(InvalidFile):
        load_recording(root / "theirs")


def test_the_start_in_the_options_is_the_start(recording, root):
    recording.save("lesson-v0")
    with h5py.File(root / "lesson-v0" / "data" / "main_data.hdf5", "a") as file:
        file["episode_0"].attrs["options/start_state"] = 15
    with pytest.raises(InvalidFile, match="must start in the state that its options say, 15"):
        load_recording("lesson-v0")


def test_episodes_must_hold_together(recording, root):
    recording.save("lesson-v0")
    with h5py.File(root / "lesson-v0" / "data" / "main_data.hdf5", "a") as file:
        actions = file["episode_0"]["actions"]
        actions.resize((len(actions) - 1,))
    with pytest.raises(InvalidFile, match="one observation more than actions"):
        load_recording("lesson-v0")


@pytest.mark.parametrize("name", ["no version", "spaces in it-v0", "x/../../y-v0"])
def test_names_that_minari_does_not_take(name, recording):
    with pytest.raises(InvalidFile):
        recording.save(name, format="minari")
    with pytest.raises(InvalidFile):
        load_recording(name, format="minari")


def test_a_dataset_needs_a_task_and_an_episode(recording, tmp_path):
    with pytest.raises(InvalidFile, match="needs the task"):
        Recording((Demonstration([(0, 0)]),)).save(f"{tmp_path}/x-v0")
    with pytest.raises(InvalidFile, match="at least one episode"):
        Recording((), task=recording.task).save(f"{tmp_path}/x-v0")


def test_without_the_package_one_line_says_what_to_install(recording, tmp_path, monkeypatch):
    recording.save(f"{tmp_path}/x-v0")
    monkeypatch.setitem(sys.modules, "minari", None)
    for use in (
        lambda: read_minari(tmp_path / "x-v0"),
        lambda: recording.save(f"{tmp_path}/y-v0"),
    ):
        with pytest.raises(Unsupported, match=r"pip install 'didact\[minari\]'"):
            use()


def test_where_minari_keeps_datasets(monkeypatch, root):
    assert datasets_root() == root
    monkeypatch.delenv("MINARI_DATASETS_PATH")
    assert datasets_root().parts[-2:] == (".minari", "datasets")
    monkeypatch.setenv("HOME", str(root))
    with pytest.raises(InvalidFile, match="nothing is fetched from elsewhere"):
        load_recording("D4RL/door/human-v2")


FULL = """
import resource, sys
sys.dont_write_bytecode = True  # Python would leave a part of it, and not notice
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from didact.cli import main
main(sys.argv[2:])
"""


def on_full_disk(most, *arguments):
    """The command where no file can be longer; every day in a fork, which has loaded it all."""
    if effort.takes_all():
        return in_own_process(most, *arguments, python=("-c", FULL))
    pipes = [os.pipe() for _ in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        left = 1
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            sys.stdout, sys.stderr = (os.fdopen(pipe[1], "w") for pipe in pipes)
            main([*arguments])
        except SystemExit as ended:
            left = ended.code
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(left)
    said = []
    for reader, writer in pipes:
        os.close(writer)
        with open(reader, encoding="utf-8") as lines:
            said.append(lines.read())
    return Answer(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), *said)


TARGETS = ("lesson-v0", "./here-v0", "imitation", "lesson.json", "l.jsonl")


@pytest.mark.parametrize(("most", "target"), crossed((0, 100, 1_000, 3_000), TARGETS, one_in=4))
def test_a_full_disk_is_told_in_one_line_and_leaves_what_was_there(
    target, most, recording, root, tmp_path, monkeypatch
):
    """A limit on sizes of files stands for the disk; HDF5 would end the process."""
    monkeypatch.chdir(tmp_path)
    recording.save("from.json")
    before = recording.part([0])
    before.save(target)
    here = contents(tmp_path)
    arguments = ("convert", "from.json", target, "--task", "random-grid", "--replace")
    size = ("-p", "size=4", "-p", "n_features=3", "-p", "slip=1/4", "-p", "terminals=2")
    answer = on_full_disk(most, *arguments, *size, "-p", "seed=3")
    refused(answer, "cannot be written: File too large")
    assert contents(tmp_path) == here


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Importing(gymnasium.Env):
    """An environment that imports what its option names, as Shimmy's do with the ids they take."""

    def __init__(self, env_id="", **others):
        __import__(str(env_id or others).partition(":")[0])


SPECS = [
    ({"id": "evil_payload:X-v0"}, "names a module, and files run no code"),
    ({"id": "space/evil_payload:X-v0"}, "names a module, and files run no code"),
    ({"id": "evil_payload.X-v0"}, "has no environment 'evil_payload.X-v0'"),
    ({"id": "Evil-v0", "entry_point": "evil_payload:X"}, "has no environment 'Evil-v0'"),
    ({"id": "Importing-v0", "kwargs": {"env_id": "evil_payload:X-v0"}}, "numbers and words"),
    ({"id": "Importing-v0", "kwargs": {"more": [{"file": "evil/payload.py"}]}}, "numbers and"),
    ({"id": "Importing-v0", "kwargs": {"evil.payload": 1, "m": [[[[[1]]]]]}}, "numbers and words"),
    ({"id": "FrozenLake-v1", "kwargs": {"entry_point": "evil_payload"}}, "unexpected keyword"),
    (
        {
            "id": "Unknown-v0",
            "additional_wrappers": [{"name": "X", "entry_point": "evil_payload:X", "kwargs": {}}],
        },
        "has no environment",
    ),
]


@pytest.mark.parametrize(("spec", "message"), SPECS)
def test_an_environment_in_the_metadata_imports_nothing(
    spec, message, recording, root, monkeypatch, tmp_path
):
    """Gymnasium imports the module of an id such as module:Name-v0, and entry points of specs."""
    from didact.cli.convert import open_recording

    (tmp_path / "evil_payload.py").write_text("raise SystemExit('it ran')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(
        gymnasium.registry,
        "Importing-v0",
        gymnasium.envs.registration.EnvSpec("Importing-v0", entry_point=Importing),
    )
    recording.save("lesson-v0")
    written = json.dumps({"kwargs": {}, **spec})
    edited(root / "lesson-v0", didact_task=None, didact_lesson=None, env_spec=written)
    with pytest.raises(InvalidInput, match=message):
        open_recording("lesson-v0")


def balance(seen):
    seen = np.atleast_2d(seen)
    return (seen[:, 2] + 0.5 * seen[:, 3] > 0).astype(int)


def phi(observation, action, after, ended):
    return np.stack([np.ones(len(observation)), -np.abs(after[:, 0])], axis=1)


GIVEN = dict(features=phi, weights=[1.0, 0.0], discount=0.9, tolerance=0.5, horizon=40)


def recorded(n=4, length=12):
    """Episodes of CartPole by a loop of one's own."""
    env, episodes = gymnasium.make("CartPole-v1").unwrapped, []
    for seed in range(n):
        shown = [env.reset(seed=seed)[0]]
        actions, rewards = [], []
        for _ in range(length):
            action = int(balance(shown[-1])[0])
            after, reward, *_ = env.step(action)
            shown.append(after)
            actions.append(action)
            rewards.append(reward)
        episodes.append(Episode(seed, shown, actions, rewards))
    return episodes, (env.observation_space, env.action_space)


@pytest.fixture
def dataset(tmp_path):
    episodes, spaces = recorded()
    write_episodes(episodes, spaces, str(tmp_path / "cart-v0"), {})
    return str(tmp_path / "cart-v0")


def test_episodes_come_back(dataset):
    given, _ = recorded()
    for one, other in zip(read_episodes(dataset), given, strict=True):
        assert one.seed == other.seed
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.actions, other.actions)


def test_recorded_episodes_are_replayed_and_taught_by(dataset):
    seen = observe("CartPole-v1", balance, recorded=dataset, **GIVEN)
    assert seen.n_rollouts == 4
    assert len(seen.rows) == 48
    given, _ = recorded()
    np.testing.assert_allclose(seen.observations[:12], given[0].observations[:-1], rtol=1e-6)
    own = observe("CartPole-v1", balance, restore="copy", n_rollouts=1, length=2, **GIVEN)
    assert seen.rows.shape[1:] == own.rows.shape[1:]
    lesson = didact.teach(seen, demonstrations="rollouts")
    assert all(clip.first == 0 and clip.last == 11 for clip in lesson.clips)


def test_episodes_without_seeds_begin_in_what_they_show(tmp_path):
    given, spaces = recorded()
    seeded = tmp_path / "seeded-v0"
    write_episodes(given, spaces, str(seeded), {})
    with_seeds = observe("CartPole-v1", balance, recorded=str(seeded), **GIVEN)
    plain = [episode._replace(seed=None) for episode in given]
    write_episodes(plain, spaces, str(tmp_path / "plain-v0"), {})
    assert [episode.seed for episode in read_episodes(tmp_path / "plain-v0")] == [None] * 4
    (tmp_path / "cart.csv").write_text(as_table(given))
    for source in ("plain-v0", "cart.csv"):
        seen = observe("CartPole-v1", balance, recorded=str(tmp_path / source), **GIVEN)
        np.testing.assert_allclose(seen.observations, with_seeds.observations, rtol=1e-6)
        np.testing.assert_allclose(seen.rows, with_seeds.rows, atol=1e-4)
        assert "recorded episodes have no seeds" in "; ".join(seen.notes)
    assert "recorded episodes have no seeds" not in "; ".join(with_seeds.notes)


def as_table(episodes):
    """Observations and actions of episodes as CSV."""
    lines = ["episode,step,obs_0,obs_1,obs_2,obs_3,action"]
    for number, episode in enumerate(episodes):
        for step, action in enumerate(episode.actions):
            shown = map(repr, map(float, episode.observations[step]))
            lines.append(",".join([str(number), str(step), *shown, str(action)]))
    return "\n".join(lines)


def test_what_observations_do_not_tell_is_refused(tmp_path):
    given, _ = recorded(n=1)
    changed = [given[0]._replace(observations=[1.5 * seen for seen in given[0].observations])]
    (tmp_path / "cart.csv").write_text(as_table(changed))
    with pytest.raises(InvalidParameter, match="episode 0 shows something else at step 1"):
        observe("CartPole-v1", balance, recorded=str(tmp_path / "cart.csv"), **GIVEN)
    table = tmp_path / "pendulum.csv"
    table.write_text(
        'episode,step,observation,action\n0,0,"[1, 0, 0]",[0.5]\n0,1,"[1, 0, 0]",[0.5]'
    )
    with pytest.raises(
        InvalidParameter, match="seeds of their resets in Pendulum-v1, whose states"
    ):
        observe("Pendulum-v1", lambda o: [0.0], recorded=str(table),
                features=lambda o, a, n, e: [1.0], discount=0.9)  # fmt: skip
    for rows, told in (
        ("0,0,1,2", "at least two steps"),
        ("0,0,1,2\n0,2,1,2", "must count up by one"),
        ("0,0,one,2\n0,1,1,2", "line 2: the observation must be numbers"),
        ("0,0,1,left\n0,1,1,2", "line 2: the action must be numbers"),
    ):
        table.write_text(f"episode,step,observation,action\n{rows}")
        with pytest.raises(InvalidFile, match=told):
            read_episodes(table)
    table.write_text("episode,step,state,action\n0,0,1,2")
    with pytest.raises(InvalidFile, match="must have observations for a simulator"):
        read_episodes(table)


@pytest.mark.parametrize("name", ["HalfCheetah-v5", "Hopper-v5", "InvertedPendulum-v5"])
def test_mujoco_goes_on_from_what_was_recorded(tmp_path, name):
    pytest.importorskip("mujoco")
    env = gymnasium.make(name)
    env.action_space.seed(0)
    shown, lines = env.reset(seed=0)[0], ["episode,step,observation,action"]
    for step in range(20):
        action = env.action_space.sample()
        lines.append(f'0,{step},"{shown.tolist()}","{action.tolist()}"')
        shown, _, has_ended, *_ = env.step(action)
        if has_ended:
            break
    (tmp_path / "steps.csv").write_text("\n".join(lines))
    size = env.action_space.shape
    seen = observe(name, lambda o: np.zeros(size), recorded=str(tmp_path / "steps.csv"),
                   features="auto", discount=0.8, tolerance=0.1)  # fmt: skip
    assert len(seen.rows) == len(lines) - 1


def test_another_environment_is_refused(dataset):
    with pytest.raises(InvalidParameter, match="episode 0 shows something else at step"):
        observe("MountainCar-v0", lambda o: 0, recorded=dataset,
                       features=lambda o, a, n, e: [1.0])  # fmt: skip


def test_what_is_wrong_is_told_in_one_line(dataset, tmp_path):
    with pytest.raises(InvalidFile, match="is neither a file nor a Minari dataset"):
        read_episodes("none-v0")
    import h5py

    with h5py.File(f"{dataset}/data/main_data.hdf5", "a") as file:
        del file["episode_1/observations"]
    with pytest.raises(InvalidFile, match="observations is missing"):
        read_episodes(dataset)
    with pytest.raises(InvalidFile, match="at least one episode"):
        write_episodes([], (None, None), str(tmp_path / "no-v0"), {})


def test_minari_reads_the_clips_of_a_lesson(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    seen = didact.observe("point-robot", discount=0.9, n_rollouts=6, length=8)
    lesson = didact.teach(seen)
    lesson.save_minari("clips-v0")
    loaded = list(minari.load_dataset("clips-v0").iterate_episodes())
    assert len(loaded) == len(lesson.clips)
    for episode, clip in zip(loaded, lesson.clips, strict=True):
        np.testing.assert_array_equal(episode.observations[:-1], clip.observations)
        np.testing.assert_array_equal(episode.actions, clip.actions)
        robot = seen.setting.simulator.env
        after, rewards, _ = robot.step(clip.observations, clip.actions)
        np.testing.assert_array_equal(episode.observations[1:], after)
        np.testing.assert_allclose(episode.rewards, rewards)
    with pytest.raises(InvalidFile, match="exist"):
        lesson.save_minari("clips-v0")


def test_clips_without_a_simulator_are_not_written(tmp_path):
    didact.observe("point-robot", discount=0.9, n_rollouts=2, length=4).save(tmp_path / "seen.npz")
    lesson = didact.teach(didact.load_observed(tmp_path / "seen.npz"))
    with pytest.raises(InvalidParameter, match="load_observed"):
        lesson.save_minari(str(tmp_path / "clips-v0"))
