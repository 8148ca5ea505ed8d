from importlib.metadata import PackageNotFoundError

import pytest

from ntpcompanion.workflow import render
from ntpcompanion.workflow.errors import WorkflowError


def test_a_page_that_was_removed_leaves_the_site(tmp_path):
    for name in ("chapters/kept", "chapters/gone"):
        for path in (tmp_path / f"{name}.html", tmp_path / "_sources" / f"{name}.ipynb"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    for name in ("search.html", "an-index-of-old.html", "_static/part.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    render.drop_removed_pages(tmp_path, ["chapters/kept"])
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["_sources/chapters/kept.ipynb", "_static/part.html", "chapters/kept.html", "search.html"]


@pytest.mark.parametrize(
    ("found", "words"), [("2.1.7", "version 2 ignores `_config.yml`"), ("10.0", "builds nothing"), (None, "is not installed")]
)
def test_only_jupyter_book_1_will_do(monkeypatch, found, words):
    def version(_):
        if found is None:
            raise PackageNotFoundError
        return found

    monkeypatch.setattr(render, "version", version)
    with pytest.raises(WorkflowError, match=words):
        render.require_jupyter_book_1()
    monkeypatch.setattr(render, "version", lambda _: "1.0.4.post1")
    render.require_jupyter_book_1()


def test_the_log_is_cut_to_what_warns():
    log = "reading\nintro.md: WARNING: nowhere\n\x1b[31mValueError: x\x1b[0m\ndone\n"
    assert render._warnings(log) == "intro.md: WARNING: nowhere\nValueError: x"
    assert render._warnings("quiet\n" * 1000) == ("quiet\n" * 1000)[-3000:]
    assert len(render._warnings("an error\n" * 100).splitlines()) == 40


def test_a_copy_that_fails_leaves_the_old_site(tmp_path, monkeypatch):
    made, target = tmp_path / "made", tmp_path / "html"
    for folder, text in ((made, "new"), (target, "old")):
        folder.mkdir()
        (folder / "index.html").write_text(text)

    def copytree(source, destination):
        destination.mkdir()
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(render.shutil, "copytree", copytree)
        with pytest.raises(WorkflowError, match=r"Could not copy the site to .*No space left on device.* The old site, if any, is intact"):
            render._replace_folder(made, target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["html", "made"]
    assert (target / "index.html").read_text() == "old"
    render._replace_folder(made, target)
    assert (target / "index.html").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["html", "made"]


def test_mathjax_is_put_once(tmp_path):
    for _ in range(2):
        render._add_mathjax(tmp_path)
        assert (tmp_path / "_static" / "mathjax" / "tex-chtml-full.js").stat().st_size > 10**6
        assert len(list((tmp_path / "_static" / "mathjax").rglob("*.woff"))) > 20
        (tmp_path / "_static" / "mathjax" / "tex-chtml-full.js").unlink()
