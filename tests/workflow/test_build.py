"""From stored runs to a site, in the toy project: a few real Jupyter Book builds."""

import shutil

import pytest

from ntpcompanion.workflow import render
from ntpcompanion.workflow.build import build_site, current_results, prepare_pages
from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.render import site_faults
from tests.workflow.conftest import write_claims


@pytest.fixture
def executed(toy):
    assert {o.status for o in toy.execute().values()} == {"done"}
    return toy


def test_the_site_follows_every_change_without_a_kernel(executed, monkeypatch):
    project = executed.project
    html, made = build_site(project, executed.runs(), "book")
    assert made
    assert html == project.root / "_build" / "html"
    page = (html / "chapters" / "coin.html").read_text()
    assert "ours 0.5 · expected = 0.5 ± 0.1" in page
    assert 'class="ntp-badge ntp-supported"' in page
    assert (html / "_static" / "mathjax" / "tex-chtml-full.js").is_file()
    assert not build_site(project, executed.runs(), "book")[1]

    def no_kernel(*_):
        raise AssertionError("a kernel was started")

    monkeypatch.setattr("ntpcompanion.workflow.execute._run_worker", no_kernel)
    executed.edit("notebooks/coin.md", "Prose with", "Rewritten prose with")
    write_claims(project, expect={"book": {"at_least": 0.75}})
    assert {o.status for o in executed.execute().values()} == {"fresh"}
    assert build_site(project, executed.runs(), "book")[1]
    page = (html / "chapters" / "coin.html").read_text()
    assert "Rewritten prose" in page
    assert 'class="ntp-badge ntp-refuted"' in page
    assert "refuted" in (html / "ledger.html").read_text()
    assert {o.status for o in executed.execute().values()} == {"fresh"}

    (html / "ledger.html").unlink()
    assert "ledger.html is missing" in site_faults(project, html, current_results(executed.runs()))
    assert build_site(project, executed.runs(), "book")[1], "a damaged site is rendered again"

    executed.edit("book/intro.md", "{cite:t}`liu2023same`", "{cite:t}`liu2032same`")
    with pytest.raises(WorkflowError, match=r"Jupyter Book stopped with code 1:\n.*liu2032same"):
        build_site(project, executed.runs(), "book")
    assert "Rewritten prose" in (html / "chapters" / "coin.html").read_text(), "the old site stays"


def test_smoke_output_never_reaches_the_book(toy):
    write_claims(toy.project, expect={"smoke": {"equals": 0.5, "within": 0.1}})
    toy.execute("smoke")
    source, _ = prepare_pages(toy.project, toy.runs("smoke"), "smoke")
    assert source == toy.project.build / "stage-smoke" / "book"
    assert "Its numbers are not results" in (source / "chapters" / "coin.ipynb").read_text()
    assert not (toy.project.book / "chapters").exists()
    with pytest.raises(WorkflowError, match=r"coin \(book\): never run"):
        prepare_pages(toy.project, toy.runs("book"), "book")
    chapters = toy.project.book / "chapters"
    chapters.mkdir()
    for path in (toy.project.build / "runs" / "smoke").iterdir():
        shutil.copy(path, chapters)
    with pytest.raises(WorkflowError, match=r"coin \(book\): parameters: n: 10 → 1000"):
        prepare_pages(toy.project, toy.runs("book"), "book")


def test_what_is_measured_and_what_is_claimed_must_agree(executed):
    executed.edit("book/claims.yml", "id: toy.powers", "id: toy.power")
    with pytest.raises(WorkflowError) as caught:
        prepare_pages(executed.project, executed.runs(), "book")
    assert "coin measures 'toy.powers', which is no claim of this notebook. Did you mean 'toy.power'?" in str(caught.value)
    assert "coin does not measure the claim 'toy.power'" in str(caught.value)


def test_the_table_of_contents_and_the_notebooks_must_agree(executed):
    executed.edit("book/_toc.yml", "chapters/words", "chapters/wörter")
    with pytest.raises(WorkflowError) as caught:
        prepare_pages(executed.project, executed.runs(), "book")
    assert "lists chapters/wörter, but there is no notebooks/wörter.md" in str(caught.value)
    assert "notebooks/words.md is not in book/_toc.yml" in str(caught.value)


def test_a_page_without_its_number_is_a_fault(executed, tmp_path):
    results = current_results(executed.runs())
    (tmp_path / "chapters").mkdir()
    for page in ("intro", "index", "ledger", "status", "chapters/coin", "chapters/words"):
        (tmp_path / f"{page}.html").write_text("<p>0.<b>5</b> 1, 2, 4 and nothing else</p>")
    assert site_faults(executed.project, tmp_path, results) == [
        "chapters/words.html does not show toy.words = 3",
        "ledger.html does not show toy.words = 3",
    ]


def test_a_page_that_was_removed_leaves_the_site(tmp_path):
    for name in ("chapters/kept", "chapters/gone"):
        for path in (tmp_path / f"{name}.html", tmp_path / "_sources" / f"{name}.ipynb"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x")
    (tmp_path / "search.html").write_text("x")
    render.drop_removed_pages(tmp_path, ["chapters/kept"])
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["_sources/chapters/kept.ipynb", "chapters/kept.html", "search.html"]


@pytest.mark.parametrize("found", ["2.1.7", "3.0"])
def test_jupyter_book_2_is_refused(toy, monkeypatch, found):
    monkeypatch.setattr(render, "version", lambda _: found)
    with pytest.raises(WorkflowError, match=rf"jupyter-book {found} is installed: version 2 ignores `_config.yml`"):
        render.render(toy.project, toy.project.book, toy.project.html("book"))
