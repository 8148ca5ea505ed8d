"""What the Sphinx extension notes; tests/drills/test_dates.py has real pages."""

from types import SimpleNamespace

from ntpcompanion.workflow.base.files import hash_of
from ntpcompanion.workflow.site import sphinx_extension


def test_the_files_that_pages_take_in_are_noted(tmp_path):
    (tmp_path / "part.txt").write_text("one")
    env = SimpleNamespace(
        srcdir=str(tmp_path / "book"),
        doctreedir=str(tmp_path),
        dependencies={"one": {"../part.txt"}, "two": {"../part.txt", "gone.txt"}},
    )
    assert sphinx_extension.included_files(tmp_path) == {}
    sphinx_extension._note_files(None, env)
    noted = {str(tmp_path / "book" / "gone.txt"): "missing"}
    noted[str(tmp_path / "part.txt")] = hash_of(tmp_path / "part.txt")
    assert sphinx_extension.included_files(tmp_path) == noted
