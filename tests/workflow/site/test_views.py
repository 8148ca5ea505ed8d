"""A run as a page of its own: nothing is executed, and Jupyter Book only puts texts together."""

import json

import pytest
import yaml

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.chapters import outside_links
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.site import build_site as build
from ntpcompanion.workflow.site import views
from ntpcompanion.workflow.site.render import doctrees
from ntpcompanion.workflow.site.views import make_view, view_folder

LINKS = (
    '<a class="x" href="../status.html#top">a</a> <a href="../gone.html">b</a> <a href="#c">c</a>'
)


@pytest.fixture
def viewed(instant, monkeypatch):
    """A function: the view of the coin with some parameters; `rendered` are the texts of pages."""
    instant.rendered = []

    def render(project, source, html):
        page = next((source / "chapters").glob("*.ipynb"))
        made = html.with_name("made")
        (made / "chapters").mkdir(parents=True, exist_ok=True)
        cells = json.loads(page.read_text())["cells"]
        instant.rendered.append("\n".join("".join(cell["source"]) for cell in cells))
        html.with_name("html-work").mkdir(exist_ok=True)
        (made / "chapters" / f"{page.stem}.html").write_text(instant.html)
        return made

    instant.html = f"{LINKS}</html>"
    monkeypatch.setattr(build, "render", render)

    def view(overrides=None, profile="book"):
        (run,) = instant.runs(profile, ["coin"], overrides)
        runner.execute([run])
        return make_view(run, instant.runs("book", ["coin"])[0])

    instant.view = view
    return instant


def test_a_view_lies_apart_and_is_made_once(viewed):
    viewed.execute()
    book = viewed.project.book / "chapters"
    before = {path: path.read_bytes() for path in book.rglob("*") if path.is_file()}
    page, made = viewed.view({"n": 10})
    assert made
    assert page.is_relative_to(viewed.project.build / "views")
    assert viewed.view({"n": 10}) == (page, False)
    other, made = viewed.view({"n": 20})
    assert (other != page, made) == (True, True)
    assert {path: path.read_bytes() for path in book.rglob("*") if path.is_file()} == before
    page.unlink()
    assert viewed.view({"n": 10}) == (page, True), "a damaged view is made again"
    assert len(viewed.rendered) == 3


def test_a_view_says_below_its_title_what_it_is(viewed):
    viewed.view({"n": 10})
    assert (
        "There is no run of the book to compare with; `ntpcompanion execute coin` makes it."
        in (viewed.rendered[-1])
    )
    viewed.execute()
    viewed.view({"n": 10})
    text = viewed.rendered[-1]
    assert text.index("# A coin") < text.index("not the book's run") < text.index("Prose with")
    assert text.count('<th scope="row"><a href="#claim-toy') == 2, "a row for each claim"
    assert "ntpcompanion view coin -p n=10" in text, "the command that repeats it"
    viewed.edit("toypkg/half.py", "n / TWO", "n / TWO + 0")
    viewed.view({"n": 10})
    assert "The book's run is older than the present sources" in viewed.rendered[-1]
    viewed.execute()
    viewed.view()
    assert "This is the run that the book shows" in viewed.rendered[-1]


def test_links_to_other_pages_lead_to_the_book_or_are_text(viewed):
    site = viewed.project.html("book")
    site.mkdir(parents=True)
    (site / "status.html").touch()
    page, _ = viewed.view({"n": 10})
    assert page.read_text() == (
        '<a class="x" href="../../../../html/status.html#top">a</a> <a >b</a> '
        '<a href="#c">c</a></html>'
    )
    target = (page.parent / "../../../../html/status.html").resolve()
    assert target == (site / "status.html").resolve()


def test_a_view_is_rendered_with_the_books_settings_and_its_labels(viewed):
    labels = doctrees(viewed.project.html("book")) / outside_links.LABELS
    labels.parent.mkdir(parents=True)
    labels.write_text('{"ref adam": ["chapters/adam", "adam", "Adam"]}')
    viewed.view({"n": 10})
    folder = view_folder(viewed.runs("book", ["coin"], {"n": 10})[0])
    entries = yaml.safe_load((folder / "_config.yml").read_text())
    own = yaml.safe_load((viewed.project.root / "_config.yml").read_text())
    assert entries["sphinx"]["config"]["extensions"][-1] == outside_links.__name__
    assert entries["title"] == own["title"]
    assert yaml.safe_load((folder / "book" / "_toc.yml").read_text())["root"] == "chapters/coin"
    assert (folder / "book" / outside_links.LABELS).read_text() == labels.read_text()


def test_a_page_that_was_cut_short_is_no_view(viewed):
    viewed.html = "<p>"
    with pytest.raises(WorkflowError, match=r"coin\.html is missing or cut short"):
        viewed.view({"n": 10})
    viewed.html = "</html>"
    assert viewed.view({"n": 10})[1], "and is made again"


@pytest.mark.slow
def test_views_of_two_profiles_do_not_meet(viewed):
    assert viewed.view({"n": 10}, "smoke")[0] != viewed.view({"n": 10}, "book")[0]
    assert "one with the profile smoke" in viewed.rendered[0]
    assert views.SHARED[0] == "assets"
