"""What the drills reach only by building whole books."""

from ntpcompanion.workflow.build import _digest, _staged_copy


def test_a_staged_copy_follows_the_book_without_its_chapters(toy):
    book = toy.project.book
    (book / "chapters").mkdir()
    (book / "chapters" / "coin.ipynb").write_text("of the book")
    copy = _staged_copy(toy.project, "smoke")
    assert copy == toy.project.build / "stage-smoke" / "book"
    assert (copy / "intro.md").read_text() == (book / "intro.md").read_text()
    assert not (copy / "chapters").exists()
    (copy / "chapters").mkdir()
    (copy / "chapters" / "coin.ipynb").write_text("of smoke")
    (book / "intro.md").write_text("changed")
    (book / "ledger.md").unlink()
    _staged_copy(toy.project, "smoke")
    assert (copy / "intro.md").read_text() == "changed"
    assert not (copy / "ledger.md").exists()
    assert (copy / "chapters" / "coin.ipynb").read_text() == "of smoke"


def test_a_digest_sees_names_and_contents_of_files_and_folders(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    seen = {_digest([tmp_path])}
    (tmp_path / "deep" / "a").write_text("3")
    seen.add(_digest([tmp_path]))
    (tmp_path / "deep" / "a").rename(tmp_path / "deep" / "c")
    seen.add(_digest([tmp_path]))
    (tmp_path / "b").unlink()
    seen.add(_digest([tmp_path]))
    assert len(seen) == 4
    assert _digest([tmp_path / "deep", tmp_path / "missing"]) == _digest([tmp_path / "deep" / "c"])
