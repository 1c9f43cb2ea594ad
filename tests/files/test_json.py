"""JSON is read strictly: what no file can hold, or what means two things, is refused."""

import json

import pytest

from didact.errors import InvalidFile
from didact.files.json import read_json


@pytest.mark.parametrize("text", ['"\\ud800"', '{"a": ["\\uDC00x"]}', '{"\\ud83d": 1}'])
def test_half_of_a_sign_is_refused(tmp_path, text):
    path = tmp_path / "half.json"
    path.write_text(text)
    with pytest.raises(InvalidFile, match=r"half\.json: texts must hold whole signs"):
        read_json(path)


@pytest.mark.parametrize("sign", ["\U0001f600", "\\u0041", "\ud7ff", "ä"])
def test_whole_signs_are_read_however_they_are_written(tmp_path, sign):
    path = tmp_path / "whole.json"
    path.write_text(json.dumps({sign: [sign]}))
    assert read_json(path) == {sign: [sign]}
