import sys
from pathlib import Path

import psutil
import pytest

from ntpcompanion.workflow.base.processes import Ended
from ntpcompanion.workflow.site import render
from tests.refusing import refused
from tests.toy import ROOT


def test_only_jupyter_book_1_will_do(monkeypatch):
    for found, words in (("2.1.7", "version 2 ignores `_config.yml`"), ("10.0", "builds nothing")):
        monkeypatch.setattr(render, "version", lambda _, found=found: found)
        with refused(words):
            render.require_jupyter_book_1()
    monkeypatch.setattr(render, "version", lambda _: "1.0.4.post1")
    render.require_jupyter_book_1()
    monkeypatch.setattr(render, "find_spec", lambda name: None)
    with refused(r"jupyter_book, pybtex, .* is not installed"):
        render.require_jupyter_book_1()


def test_a_site_takes_the_place_of_the_old_one(tmp_path):
    made, target = tmp_path / "made", tmp_path / "html"
    (tmp_path / ".html-old" / "chapters").mkdir(parents=True)  # of a build that was killed
    for folder, text in ((target, "old"), (made, "new")):
        folder.mkdir()
        (folder / "index.html").write_text(text)
    render.publish(made, target)
    assert (target / "index.html").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["html"]


def jupyter_book_that(monkeypatch, code, **pages):
    """Instead of Jupyter Book: write these pages, and end with that code."""

    def run(arguments, _):
        folder = Path(arguments[arguments.index("--path-output") + 1], "_build", "html")
        for name, text in pages.items():
            (folder / f"{name}.html").parent.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.html").write_text(text)
        return Ended(code, "intro.md: WARNING: nowhere\n", "")

    monkeypatch.setattr(render, "_run_jupyter_book", run)


def test_what_is_published_is_what_the_table_of_contents_lists_with_its_mathjax(toy, monkeypatch):
    html = toy.project.html("book")
    statement = '<section class="remark-content" id="proof-content">'
    jupyter_book_that(monkeypatch, 0, intro=statement, index="new")
    old = render.doctrees(html).with_name("html") / "removed.html"
    old.parent.mkdir(parents=True)
    old.write_text("of an earlier rendering")
    render.publish(render.render(toy.project, toy.project.book, html), html)
    assert sorted(path.name for path in html.glob("*.html")) == ["index.html", "intro.html"]
    assert (html / "_static" / "mathjax" / "tex-chtml-full.js").is_file()
    jupyter_book_that(monkeypatch, 1, intro="with a warning")
    with refused(r"Jupyter Book stopped with code 1:\nintro.md: WARNING: nowhere"):
        render.render(toy.project, toy.project.book, html)
    assert 'class="remark-content">' in (html / "intro.html").read_text(), "every page is mended"


@pytest.mark.skipif(sys.platform == "win32", reason="the fake Jupyter Book is a shell script")
def test_nothing_of_a_rendering_stays_open(toy, tmp_path, monkeypatch):
    (tmp_path / "python").write_text('#!/bin/sh\necho "$PYTHONPATH"; echo "$3" >&2; exit 3\n')
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    open_before = psutil.Process().num_fds()
    done = render._run_jupyter_book(["build"], toy.project)
    assert (done.code, done.output, done.errors) == (3, f"{toy.project.root}:{ROOT}\n", "build\n")
    assert psutil.Process().num_fds() == open_before
