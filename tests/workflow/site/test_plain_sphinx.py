"""The way out of Jupyter Book, in the toy project, with the Sphinx of this environment in place of
the newest.
"""

import runpy
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.site import plain_sphinx
from ntpcompanion.workflow.site.plain_sphinx import build_with_sphinx, export_sources

HERE = Path(sys.executable)


def files(folder):
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "_build" not in path.parts
    }


def test_the_configuration_does_without_jupyter_book_and_the_checkout_stays_as_it_was(toy):
    target = toy.project.build / "sphinx" / "source"
    target.mkdir(parents=True)
    (target / "removed.md").write_text("# A page that has left the book")
    before = files(toy.project.root)
    export_sources(toy.project, toy.project.book, target)
    settings = runpy.run_path(str(target / "conf.py"))
    assert {"jupyter_book", "ntpcompanion.workflow.site.sphinx_extension"}.isdisjoint(
        settings["extensions"]
    )
    assert {"myst_nb", "sphinx_external_toc", "sphinx_proof", "sphinx-mathjax-offline"} <= set(
        settings["extensions"]
    )
    assert settings["nb_execution_mode"] == "off"
    assert settings["html_static_path"] == ["assets"]
    assert (target / "assets" / "logo.svg").is_file()
    assert "ntpcompanion.workflow.site.look" in settings["extensions"]
    assert not (target / "removed.md").exists()
    assert files(toy.project.root) == before


def test_a_configuration_that_jupyter_book_refuses_is_shown(toy):
    with (toy.project.root / "_config.yml").open("a") as config:
        config.write("repository: [unfinished\n")
    with pytest.raises(WorkflowError, match=r"(?s)Jupyter Book stopped with code 1:.*unfinished"):
        export_sources(toy.project, toy.project.book, toy.project.build / "source")


@pytest.mark.slow
def test_the_same_pages_show_the_same_numbers(toy, monkeypatch):
    toy.execute()
    html = build_with_sphinx(toy.project, toy.runs(), HERE)
    page = (html / "chapters" / "coin.html").read_text()
    assert 'measured = <strong class="ntp-number">0.5</strong>' in page
    assert (html / "_static" / "mathjax" / "tex-chtml.js").is_file()
    assert "http-equiv" in (html / "index.html").read_text(), "index.html leads to the first page"
    toy.edit("book/intro.md", "{cite:t}`liu2023same`", "{cite:t}`liu2032same`")
    with pytest.raises(WorkflowError, match=r"(?s)Sphinx stopped with code 1:.*liu2032same"):
        build_with_sphinx(toy.project, toy.runs(), HERE)

    (html / "intro.html").write_text("a page of an earlier build")
    # a Sphinx that ends well and has built nothing
    monkeypatch.setattr(plain_sphinx, "_run", lambda *_: "")
    with pytest.raises(
        WorkflowError,
        match=r"(?s)but:\nintro.html is missing.*chapters/coin.html does not show toy.half = 0.5",
    ):
        build_with_sphinx(toy.project, toy.runs(), HERE)


def test_stale_results_are_refused(toy):
    with pytest.raises(
        WorkflowError, match=r"Run `ntpcompanion execute` first.\ncoin \(book\): never run"
    ):
        build_with_sphinx(toy.project, toy.runs(), HERE)


@pytest.mark.usefixtures("toy")
def test_without_its_environment_the_command_says_how_to_make_it():
    with pytest.raises(
        SystemExit, match=r"error: There is no .*_build.sphinx.env.bin.python. Run `make sphinx`"
    ):
        plain_sphinx.main()


@pytest.mark.usefixtures("toy")
def test_run_as_a_module_it_is_the_command():
    with pytest.raises(SystemExit, match=r"error: There is no .*python. Run `make sphinx`"):
        runpy.run_path(plain_sphinx.__file__, run_name="__main__")


@pytest.mark.skipif(sys.platform == "win32", reason="the fake Sphinx is a shell script")
def test_the_command_says_which_sphinx_built_what(toy, monkeypatch, capsys):
    python = toy.project.build / "sphinx" / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho a warning of some import >&2\necho __main__.py 9.0.4\n")
    python.chmod(0o755)
    html = toy.project.build / "sphinx" / "html"
    monkeypatch.setattr(
        plain_sphinx,
        "build_with_sphinx",
        lambda project, runs, found: html if found == python else None,
    )
    plain_sphinx.main()
    assert capsys.readouterr().out == f"Sphinx 9.0.4 built {html / 'index.html'}\n"
