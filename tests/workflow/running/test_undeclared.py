"""The sentences on what a run did not have."""

import pytest

from ntpcompanion.workflow.running.layout import HOW
from ntpcompanion.workflow.running.undeclared import Undeclared, texts_of
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


@pytest.mark.parametrize("name", ["", "x" * 400, "a\nb", "\0", "none.txt", "..", ".", "words", "/"])
def test_a_text_that_means_no_file_is_left_alone(run, name):
    assert run.after_failure("", [name]) == []


def test_what_was_read_elsewhere_is_a_note_and_under_ci_an_error(run, tmp_path, monkeypatch):
    far, given = str(tmp_path / "far.txt"), str(tmp_path / "given" / "a.txt")
    assert run.after_success([], [given]) == []
    (note,) = run.after_success([], [far])
    assert note.startswith(f"it read {far}, which it does not declare. Let a parameter name it")
    monkeypatch.setenv("CI", "true")
    with refused(r"Notebook 'words' read .*far.txt, which it does not"):
        run.after_success([], [far])
    assert run.after_success([], [given]) == []
