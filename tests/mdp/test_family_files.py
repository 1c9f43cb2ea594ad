"""Family files: exact both ways, members inline or beside the file, refused in one line."""

import json

import pytest

import didact
from didact.errors import InvalidFile
from didact.mdp.family_files import family_document, family_from_document
from didact.mdp.files import task_document


def grid(seed, weights=("1/3", "-0.1")):
    world = didact.make("random-grid", size=2, n_features=2, seed=seed)
    return didact.Task(world.mdp, list(weights), name=world.name, layout=world.layout)


def family():
    return didact.Family(
        [grid(seed) for seed in range(3)],
        names=["a", "b", "c"],
        name="three",
    )


def written(path, document):
    path.write_text(json.dumps(document))
    return path


def refusal(path, document):
    with pytest.raises(InvalidFile) as caught:
        didact.load_family(written(path, document))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


def test_a_file_reads_back_exactly(tmp_path):
    given = family()
    didact.save_family(given, tmp_path / "family.json")
    again = didact.load_family(tmp_path / "family.json")
    assert family_document(again) == family_document(given)
    assert again.names == ("a", "b", "c")
    assert [task_document(task) for task in again] == [task_document(task) for task in given]
    text = (tmp_path / "family.json").read_text()
    assert text.count("1/3") == 1, "the weights stand once"


def test_members_may_be_files_beside_it(tmp_path):
    given, document = family(), family_document(family())
    (tmp_path / "maps").mkdir()
    didact.save_task(given[1], tmp_path / "maps" / "b.json")
    document["members"][1] = "maps/b.json"
    again = didact.load_family(written(tmp_path / "family.json", document))
    assert family_document(again) == family_document(given)


def test_defaults(tmp_path):
    document = family_document(family())
    del document["names"], document["name"]
    again = family_from_document(document)
    assert again.name == "family"
    assert again.names == tuple(task.name for task in family())


def test_what_is_wrong_is_told_with_its_place(tmp_path):
    path, right = tmp_path / "family.json", family_document(family())
    assert "format 'didact.family/1'" in refusal(path, {**right, "format": "didact.task/1"})
    assert "format 'didact.family/1'" in refusal(path, [])
    assert "members is missing" in refusal(path, {"format": "didact.family/1", "weights": []})
    assert "'more' is not part of" in refusal(path, {**right, "more": 1})
    assert "members must be a list" in refusal(path, {**right, "members": {}})
    assert "at least one member" in refusal(path, {**right, "members": []})
    assert "names must have one for each" in refusal(path, {**right, "names": ["a"]})
    assert "weights" in refusal(path, {**right, "weights": [1, 2, 3]})
    first, *others = right["members"]
    changed = {**right, "members": [*others, {**first, "discount": 1}]}
    assert "members[2]: " in refusal(path, changed)
    changed = {**right, "members": [{**first, "weights": [1, 1]}, *others]}
    assert "members[0]: weights stands once in a family" in refusal(path, changed)
    assert "members[1]: a member must be" in refusal(path, {**right, "members": [first, 3]})
    message = refusal(path, {**right, "members": [first, str(tmp_path / "b.json")]})
    assert "members[1]: a path must be relative" in message
    message = refusal(path, {**right, "members": [first, "none.json"]})
    assert "members[1]: " in message
    assert "cannot be read" in message


@pytest.mark.parametrize("at", [0, 1])
def test_a_file_of_other_weights_is_no_member(tmp_path, at):
    document = family_document(family())
    didact.save_task(grid(0, ["1/3", "-0.2"]), tmp_path / "other.json")
    document["members"][at] = "other.json"
    assert "exactly the" in refusal(tmp_path / "family.json", document)


def test_a_family_of_files_alone_has_their_weights(tmp_path):
    document = family_document(family())
    didact.save_task(family()[0], tmp_path / "a.json")
    document |= {"members": ["a.json"], "names": ["a"]}
    assert len(didact.load_family(written(tmp_path / "family.json", document))) == 1
    assert "exactly the weights" in refusal(
        tmp_path / "family.json", {**document, "weights": ["1/3", 0.1]}
    )
