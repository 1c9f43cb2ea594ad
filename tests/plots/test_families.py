"""A family's lesson is drawn member by member, only those that are shown."""

import pytest

import didact
from didact import make
from didact.errors import InvalidInput


def test_each_member_that_is_shown_has_axes_of_its_own(tmp_path):
    import matplotlib.pyplot as plt

    family = make("random-grid", size=3, n_features=3, members=6)
    lesson = didact.teach(family, teacher="exact", horizon=1)
    used = sorted({d.member for d in lesson.demonstrations})
    ax = lesson.plot()
    assert [inset.get_title() for inset in ax.child_axes] == [family.names[m] for m in used]
    assert f"{len(used)} of 6 worlds shown" in ax.get_title()
    lesson.save(tmp_path / "lesson.json")
    again = didact.load_lesson(tmp_path / "lesson.json")
    with pytest.raises(InvalidInput, match="does not hold its family"):
        again.plot()
    assert len(again.plot(task=family).child_axes) == len(used)
    boxes = didact.teach(make("garnet", n_states=5, members=3), horizon=1)
    assert boxes.plot().child_axes
    plt.close("all")
