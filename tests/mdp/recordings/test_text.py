"""Demonstrations as tables: ours, those of pandas, and damaged ones."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from didact.errors import InvalidFile
from didact.mdp import Demonstration
from didact.mdp.observations import ObservedDemonstration
from didact.mdp.recordings.formats import load_recording
from didact.mdp.recordings.recording import Recording

NUMBERS = st.integers(0, 50)
EPISODES = st.dictionaries(
    NUMBERS, st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=5), max_size=5
)


def read(text, tmp_path):
    (tmp_path / "log.csv").write_text(text, newline="")
    return load_recording(tmp_path / "log.csv")


@given(episodes=EPISODES, rng=st.randoms(use_true_random=False), observed=st.booleans())
def test_every_table_reads_back_equal_in_any_order(episodes, rng, observed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    shown = tuple(Demonstration(pairs) for pairs in episodes.values())
    recording = Recording(shown, tuple(episodes), foreign=observed)
    back = load_recording(recording.save(folder / "x.csv"))
    assert (back.demonstrations, back.episodes) == (recording.demonstrations, recording.episodes)
    assert (back.foreign, back.task, back.lesson) == (observed and bool(episodes), None, None)
    with open(folder / "x.csv", newline="") as file:
        names, *rows = csv.reader(file)
    order = rng.sample(range(4), 4)
    mixed = rng.sample(rows, len(rows))
    with open(folder / "y.csv", "w", newline="") as file:
        csv.writer(file).writerows([[row[i] for i in order] for row in [names, *mixed]])
    again = load_recording(folder / "y.csv")
    read_back = dict(zip(again.episodes, again.demonstrations, strict=True))
    assert read_back == dict(zip(recording.episodes, recording.demonstrations, strict=True))


def test_logs_of_others(tmp_path):
    text = (
        '\ufeff,observation,reward,step,action,"note, long",episode\r\n'
        '0,"4",0.5,1,2.0,"a ""quoted"" note\r\nover two lines",7\r\n'
        "\r\n"
        "1, 5 ,,2,1.0,,7\r\n"
        "2,1,-1,9,0,x,0\r\n"
    )
    found = read(text, tmp_path)
    assert [list(d) for d in found.demonstrations] == [[(4, 2), (5, 1)], [(1, 0)]]
    assert (found.episodes, found.foreign) == ((7, 0), True)


OBSERVED = st.recursive(
    st.integers(-5, 5) | st.floats(-5, 5) | st.text('ab ",\n\u00e9', max_size=4),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text("xy", max_size=2), part),
    max_leaves=5,
)


@given(
    episodes=st.lists(st.lists(st.tuples(OBSERVED, NUMBERS), min_size=1, max_size=4), max_size=4)
)
def test_whatever_was_observed_reads_back_equal(episodes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    given_ones = Recording(tuple(map(ObservedDemonstration.of, episodes)), foreign=True)
    back = load_recording(given_ones.save(folder / "x.csv"))
    texts = [
        d if isinstance(d, ObservedDemonstration) else ObservedDemonstration.of(d.pairs)
        for d in back.demonstrations
    ]
    assert tuple(texts) == given_ones.demonstrations


def test_observations_as_people_write_them(tmp_path):
    cells = [
        "7",
        "7.0",
        '"[0, 1]"',
        '"[0, 1.0]"',
        '"{""b"": 1, ""a"": [2]}"',
        "A3",
        '"""A3"""',
        "-1",
    ]
    rows = "".join(f"{i},0,{cell},1\n" for i, cell in enumerate(cells))
    found = read("episode,step,observation,action\n" + rows, tmp_path)
    assert [d.pairs[0][0] for d in found.demonstrations] == [
        7, 7, "[0,1]", "[0,1]", '{"a":[2],"b":1}', '"A3"', '"A3"', "-1",
    ]  # fmt: skip
    assert found.foreign


@pytest.mark.parametrize("cell", ["[0 1]", "(0; 1)", "{'row': 1}", "null", "NaN", "[NaN]", '"A'])
def test_observations_that_are_no_json_are_refused(cell, tmp_path):
    quoted = '"' + cell.replace('"', '""') + '"'
    with pytest.raises(InvalidFile) as refused:
        read(f"episode,step,observation,action\n0,0,{quoted},1\n", tmp_path)
    assert "line 2, column observation must be a number, a plain text, or" in str(refused.value)
    assert "json.dumps" in str(refused.value)


def test_pandas_reads_ours_and_we_read_theirs(tmp_path):
    pandas = pytest.importorskip("pandas")
    shown = (Demonstration([(2, 1), (5, 2)]), Demonstration([(3, 0)]))
    path = Recording(shown, (4, 9)).save(tmp_path / "ours.csv")
    frame = pandas.read_csv(path)
    assert frame.to_dict("list") == {
        "episode": [4, 4, 9], "step": [0, 1, 0], "state": [2, 5, 3], "action": [1, 2, 0],
    }  # fmt: skip
    frame["reward"] = [0.5, None, 1.0]
    frame.sample(frac=1, random_state=3).to_csv(tmp_path / "theirs.csv")
    back = load_recording(tmp_path / "theirs.csv")
    found = dict(zip(back.episodes, back.demonstrations, strict=True))
    assert found == dict(zip((4, 9), shown, strict=True))


@pytest.mark.parametrize("name", ["observation_{}", "obs_{}", "obs[{}]", "observation.{}"])
def test_continuous_observations_in_columns_are_those_in_one(name, tmp_path):
    rows = np.random.default_rng(3).normal(size=(4, 12))
    lines = [",".join(["episode,step,action", *(name.format(j) for j in reversed(range(12)))])]
    lines += [f"7,{i},1," + ",".join(map(repr, row[::-1].tolist())) for i, row in enumerate(rows)]
    back = read("\n".join(lines) + "\n", tmp_path)
    (watched,) = back.demonstrations
    assert watched == ObservedDemonstration.of([(row, 1) for row in rows])
    assert back.foreign


HEAD = "episode,step,state,action\n"
FIRST = "the first line must name the columns episode, step, action, and state or observation"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"{FIRST}; it is empty"),
        ("0,0,2,1\n", f"{FIRST}; episode is missing"),
        ("episode,step,action\n0,0,1\n", f"{FIRST}; both are missing"),
        ("episode;step;state;action\n0;0;2;1\n", "separate the columns by commas"),
        ("episode,step,state,action,observation\n", "state or observation, not both"),
        ("episode,step,state,action,step\n", "the column step once; it stands 2 times"),
        (HEAD + "0,0,2.5,1\n", "is '2.5'; name the column observation if it is what was observed"),
        ("episode,step,action,obs_0,obs_2\n", "must number the columns of the observation from 0"),
        ("episode,step,action,obs_0,obs_1\n0,0,1,2,\n", "line 2, column obs_1 must say what was"),
        (HEAD + "0,0,2\n", "line 2 must have 4 cells, as the first line; it has 3"),
        (HEAD + "0,0,2,1\n0,1,[5,2],1\n", "line 3 must have 4 cells, as the first line; it has 5"),
        (HEAD + "0,0,2,1\n0,1,5,\n", "line 3, column action must be a whole number from 0; it is"),
        (HEAD + "0,0,2,right\n", "line 2, column action must be a whole number from 0; it is 'ri"),
        (HEAD + "0,0,-2,1\n", "line 2, column state must be a whole number from 0; it is '-2'"),
        (HEAD + "0,0.5,2,1\n", "line 2, column step must be a whole number from 0; it is '0.5'"),
        (HEAD + "x,0,2,1\n", "line 2, column episode must be a whole number from 0; it is 'x'"),
        (HEAD + f"0,0,{10**30},1\n", "line 2, column state must be a whole number"),
        (HEAD + "0,0,٣,1\n", "line 2, column state must be a whole number"),
        (HEAD + "0,0,2,1\n0,2,5,2\n", "line 3, column step: the steps of episode 0 must count up"),
        (HEAD + "0,0,2,1\n0,0,5,2\n", "line 3, column step must be another one in each row"),
        (HEAD + '0,0,2,1\n0,"1,5,2\n', "must be cells between commas"),
        (HEAD + '0,0,2,1\n0,"1"x,5,2\n', "line 3 must be cells between commas"),
        (HEAD + f"0,0,2,{'1' * 200_000}\n", "line 2 must be cells between commas"),
    ],
)
def test_damaged_tables_are_refused_in_one_line(text, message, tmp_path):
    with pytest.raises(InvalidFile) as refused:
        read(text, tmp_path)
    told = str(refused.value)
    assert message in told
    assert told.startswith(f"{tmp_path}/log.csv: ")
    assert "\n" not in told
    assert len(told) < 300 + len(str(tmp_path))


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "log.csv").write_bytes(b"episode\xff")
    with pytest.raises(InvalidFile, match="must be a text file in UTF-8"):
        load_recording(tmp_path / "log.csv")


def test_a_table_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("didact.mdp.recordings.recording.MAX_PAIRS", 2)
    assert read(HEAD + "0,0,2,1\n0,1,5,2\n", tmp_path).n_pairs == 2
    with pytest.raises(InvalidFile, match="must hold at most 2 pairs"):
        read(HEAD + "0,0,2,1\n0,1,5,2\n0,2,4,2\n", tmp_path)
