"""The half-space picture: what it shows for one, two and more features."""

from didact import equivalence_class, from_gymnasium, make, teach
from didact.report.page.halfspaces import PlanePicture, SlicePicture, half_space_picture


def test_one_feature_has_no_picture():
    task = make("random-grid", size=2, n_features=1)
    assert half_space_picture(equivalence_class(task), []) is None


def test_two_features_show_the_whole_truth():
    task = make("six-cell")
    shown = half_space_picture(equivalence_class(task), teach(task).demonstrations)
    assert isinstance(shown, PlanePicture)
    assert shown.frame.title == "Rewards that fit: white against grey"
    assert len(shown.goal) == 1
    assert [ray.star is not None for ray in shown.rays] == [True]


def test_a_narrow_class_is_stretched_and_says_so():
    task = from_gymnasium("FrozenLake-v1")
    shown = half_space_picture(equivalence_class(task), [])
    assert shown.names[0] == "reward 0 × 100"
    assert "reward 0 × 100" in shown.frame.description


def test_a_slice_lies_around_the_true_weights():
    """The star is in the middle, the numbers at the sides are the reach away from it."""
    task = make("chain")
    known, lesson = equivalence_class(task), teach(task)
    shown = half_space_picture(known, lesson.demonstrations, pair=(0, 1))
    assert isinstance(shown, SlicePicture)
    assert [sum(part) / 10 for part in zip(*shown.star, strict=True)] == [160, 160]
    assert len(shown.regions) == len(lesson.demonstrations) + 1
    for corners in (*shown.regions, shown.goal):
        assert all(46 <= x <= 274 and 46 <= y <= 274 for x, y in corners)
