"""Archives of arrays: whatever order their bytes have, they are read as this machine's."""

import numpy as np
import pytest

from didact.files.archives import Archive, write_archive

NUMBERS = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("order", "<>")
def test_bytes_in_any_order_are_read_as_the_same_numbers(order, tmp_path):
    path = tmp_path / "a.npz"
    write_archive({"format": "x/1"}, {"a": NUMBERS.astype(f"{order}f8")}, path)
    with open(path, "rb") as file, Archive(file, "x/1", {"a": "f"}, "save") as archive:
        assert archive.header() == {"format": "x/1"}
        found = archive.arrays()["a"]
    assert found.dtype.isnative
    assert found.tobytes() == NUMBERS.tobytes()
