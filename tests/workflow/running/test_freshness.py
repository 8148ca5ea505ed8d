import pytest

from ntpcompanion.workflow.base.files import sha256, write_sealed
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.running.freshness import (
    _input_path,
    input_hashes,
    key_parts,
    other_files,
    what_changed,
)
from tests.refusing import refused


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
        with refused(r"parameter `text` = '.*' is neither a file nor a Python module"):
            _input_path(toy.project, "text", value, words)
    (toy.project.root / "caf\u00e9.txt").touch()
    with refused(r"'café.txt' looks the same, but its accented letters"):
        _input_path(toy.project, "text", "cafe\u0301.txt", words)


def test_inputs_and_records_are_known_by_their_content(toy):
    words = find_notebooks(toy.project)["words"]
    content = sha256((toy.project.root / "words.txt").read_bytes())
    assert input_hashes(toy.project, words, {"text": "words.txt"}) == {"text": content}
    assert input_hashes(toy.project, words, {"text": None}) == {}, "it may be left out"
    toy.edit("notebooks/words.md", "inputs: [text]", "inputs: [text], records: [halves]")
    record = toy.project.records / "halves.json"
    write_sealed(record, {"results": [1], "verified": []})
    shown = find_notebooks(toy.project)["words"]
    assert input_hashes(toy.project, shown, {"text": "words.txt"}) == {
        "text": content,
        "record halves": sha256("[1]"),
    }
    write_sealed(record, {"results": [1], "verified": ["later"]})
    assert input_hashes(toy.project, shown, {"text": "words.txt"})["record halves"] == sha256("[1]")
    record.unlink()
    with refused(r"'words' shows the record 'halves', but .*halves.json is missing"):
        input_hashes(toy.project, shown, {"text": "words.txt"})


def test_what_a_run_read_besides_is_named_and_must_not_have_changed(toy):
    root, words = toy.project.root, find_notebooks(toy.project)["words"]
    parameters, digest = {"text": "words.txt"}, sha256((root / "words.txt").read_bytes())
    (root / "extra.txt").write_text("x")
    parts = key_parts(toy.project, words, parameters)
    assert parts["files read"] == {}
    read = {str(root / "words.txt"): [digest], str(root / "extra.txt"): [sha256("x")]}
    assert other_files(toy.project, words, parameters, parts, read) == {"extra.txt": sha256("x")}
    assert key_parts(toy.project, words, parameters, ["extra.txt", "gone"])["files read"] == {
        "extra.txt": sha256("x"),
        "gone": "missing",
    }
    changed = {
        "words.txt": [sha256("x")],
        "extra.txt": [sha256("y")],
        "gone.txt": [digest],
        "toypkg/two.py": ["x", "y"],
    }
    for name, digests in changed.items():
        with refused(
            f"Notebook 'words': {name} changed while it ran. Nothing was stored; run it again"
        ):
            other_files(toy.project, words, parameters, parts, {str(root / name): digests})


@pytest.mark.parametrize(("old", "new"), [({}, {"n": None}), ({"n": 1}, {"n": True})])
def test_what_json_tells_apart_is_a_change(old, new):
    (line,) = what_changed({"parameters": old}, {"parameters": new})
    assert line.startswith("parameters: n")
