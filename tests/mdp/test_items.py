"""Items of feedback: what they hold, read back, and are refused for."""

import pytest

import didact
from didact.errors import InvalidModel
from didact.mdp.items import Comparison, Preference, RankedTrajectories, Stop, as_items, read_item

WAY, OTHER = [(2, 1), (5, 2), (4, 2), (3, 0)], [(2, 2), (1, 2)]
ITEMS = [
    Comparison(2, 1, 2),
    Preference(WAY, OTHER),
    Preference(WAY, OTHER, correction=True),
    RankedTrajectories([WAY, OTHER]),
    Stop(WAY, 2, off_is_worth_nothing=True),
]


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.document()["kind"])
def test_an_item_reads_back(item):
    assert read_item(item.document()) == item
    assert as_items([item.document(), item, WAY], didact.make("six-cell"))[:2] == (item, item)
    assert hash(item) == hash(read_item(item.document()))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"kind": "comparison", "state": 2, "better": 1}, "look at 'other'"),
        ({"kind": "comparison", "state": 2, "better": 1, "other": 1}, "must be of two actions"),
        ({"kind": "comparison", "state": 0, "better": 1, "other": 2}, "is terminal"),
        ({"kind": "comparison", "state": 9, "better": 1, "other": 2}, "state must be"),
        ({"kind": "comparison", "state": 2, "better": 1, "other": 7}, "other must be"),
        ({"kind": "likes"}, "kind must be one of"),
        ({"kind": ["comparison"]}, "kind must be one of"),
        ({"kind": "wrong", "state": 2, "action": 1}, "says nothing alone"),
        ({"kind": "ranking", "ways": [WAY]}, "at least two"),
        ({"kind": "ranking", "ways": 3}, "must be a list"),
        ({"kind": "stop", "way": WAY, "after": 4, "off_is_worth_nothing": True}, "after must be"),
        ({"kind": "stop", "way": WAY, "after": 0, "off_is_worth_nothing": False}, "worth 0"),
        (Preference(WAY, [(5, 2)]), "begin in the same state"),
        (Preference(WAY, [(2, 2)]), "the first surely ends in a terminal state and the second"),
        (Preference([(2, 1), (5, 2)], OTHER), "must both have ended, or neither; the second"),
        (Preference([(2, 2)], [(2, 1), (5, 2)]), "same length; they have 1 and 2 steps"),
        (Preference(WAY, [(2, 2), (5, 2)]), "cannot follow"),
    ],
)
def test_what_is_no_item_of_the_task_is_refused(item, message):
    with pytest.raises(InvalidModel, match=message):
        as_items([item], didact.make("six-cell"))
