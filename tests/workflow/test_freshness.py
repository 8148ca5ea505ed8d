import pytest

from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.freshness import _input_path, what_changed
from ntpcompanion.workflow.notebooks import find_notebooks


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("a" * 20, "b" * 20, f"part: {'a' * 20} → {'b' * 20}"),
        ("a" * 21, "b" * 21, "part: changed"),
        ({"n": "a" * 40}, {"n": "b" * 40}, f"part: n: {'a' * 40!r} → {'b' * 40!r}"),
        ({"n": "a" * 41}, {"n": "b"}, "part: n changed"),
        ({"n": "a"}, {"n": "b" * 41}, "part: n changed"),
        ({}, {"n": 1}, "part: n is new"),
        ({"n": 1}, {}, "part: n is gone"),
        (None, {"n": 1}, "part: None → {'n': 1}"),
    ],
)
def test_a_change_is_shown_if_it_is_short(old, new, line):
    assert what_changed({"part": old}, {"part": new}) == [line]


def test_an_input_is_a_file_or_a_module(toy, monkeypatch):
    words = find_notebooks(toy.project)["words"]
    assert _input_path(toy.project, "text", "words.txt", words) == toy.project.root / "words.txt"
    assert _input_path(toy.project, "text", "json.decoder", words).name == "decoder.py"
    for value in ("no.such.module", "sys", "no such file.txt", ".."):
        with pytest.raises(WorkflowError, match=r"parameter `text` = '.*' is neither a file nor a Python module"):
            _input_path(toy.project, "text", value, words)
