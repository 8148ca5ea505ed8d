"""The sentences on what a run did not have."""

import pytest

from ntpcompanion.workflow.running.layout import HOW
from ntpcompanion.workflow.running.undeclared import Undeclared, named_in, texts_of
from tests.refusing import refused


@pytest.fixture
def run(toy, tmp_path, monkeypatch):
    """What a run of the toy project may read, and the run."""
    monkeypatch.delenv("CI", raising=False)
    (toy.project.root / "extra.txt").touch()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "words.txt").touch()
    return Undeclared(
        project=toy.project,
        name="Notebook 'words'",
        code="a cell",
        folder=tmp_path / "run",
        allowed=(str(tmp_path / "given"),),
        texts=texts_of("x = 'half'", {"text": "words.txt", "seed": 0}),
        how=HOW,
        records=(),
    )


def test_names_are_taken_from_messages():
    error = "FileNotFoundError: [Errno 2] No such file or directory: 'data/d.txt'"
    assert named_in(error)[0] == "data/d.txt"
    assert set(named_in("No module named 'a.b'")) == {"a.b", "a/b.py", "notebooks/a/b.py"}


@pytest.mark.parametrize("name", ["", "x" * 400, "a\nb", "\0", "none.txt", "..", ".", "words", "/"])
def test_a_text_that_means_no_file_is_left_alone(run, name):
    assert run.after_failure("", [name]) == []


def test_a_file_that_was_opened_and_lies_in_the_project_is_named(run, toy):
    assert run.after_success([], []) == []
    (run.folder / "words.txt").unlink()
    (sentence,) = run.after_success([], [])
    assert sentence.startswith("a cell names words.txt"), "its parameter does"
    (run.folder / "words.txt").touch()
    (sentence,) = run.after_failure("E: it failed", [f"{run.folder}/extra.txt"])
    assert "ntp: {files: [extra.txt]}" in sentence


def test_what_was_read_elsewhere_is_a_note_and_under_ci_an_error(run, tmp_path, monkeypatch):
    far, given = str(tmp_path / "far.txt"), str(tmp_path / "given" / "a.txt")
    assert run.after_success([], [given]) == []
    (note,) = run.after_success([], [far])
    assert note.startswith(f"it read {far}, which it does not declare. Let a parameter name it")
    monkeypatch.setenv("CI", "true")
    with refused(r"Notebook 'words' read .*far.txt, which it does not"):
        run.after_success([], [far])
    assert run.after_success([], [given]) == []
