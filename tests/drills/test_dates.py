"""Dates that mislead, links, and files that pages take in: a page always shows the present
content.
"""

import os
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.pages import generated
from ntpcompanion.workflow.site import build_site as build
from tests.drills.machine import POSIX
from tests.toy import copied, write_claims

GLUED = 'from myst_nb import glue\nglue("halved", half(n), display=False)\nmeasure("toy.half"'
INTRO = (
    "# Intro\n\nFirst words.\n\n{glue:text}`chapters/coin.ipynb::halved:.1f`\n\n```{include} "
    "../part.txt\n```"
)


@pytest.fixture(scope="module")
def built(executed_once, tmp_path_factory):
    """A toy project with a site, whose first page includes a file from outside of the book and a
    value glued in a chapter.

    The tests share it: each makes edits of its own, and finds a site that answers for the sources.
    """
    toy = copied(executed_once, tmp_path_factory.mktemp("dates") / "toy")
    (toy.project.root / "part.txt").write_text("Included: one.\n")
    toy.edit("notebooks/coin.md", 'measure("toy.half"', GLUED)
    toy.edit("book/intro.md", "# Intro", INTRO)
    assert "Built" in toy.command("build")
    return toy


def replace_with_an_old_file(path, old, new):
    """What `cp -p`, `rsync` and `unzip` do: another content of the same size, and an older date."""
    text = path.read_text()
    assert old in text
    assert len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, (10**9, 10**9))


@pytest.mark.slow
def test_pages_show_the_present_content_whatever_the_dates_say(built, no_kernel, monkeypatch):
    no_kernel()
    html = built.project.html("book")

    def write_before_the_clock_was_ahead(path, text):
        changed = write_atomically(path, text)
        os.utime(path, (10**9, 10**9))
        return changed

    for module in (build, generated):
        monkeypatch.setattr(module, "write_atomically", write_before_the_clock_was_ahead)
    replace_with_an_old_file(built.project.book / "intro.md", "First words", "Other words")
    replace_with_an_old_file(built.project.root / "part.txt", "one", "two")
    write_claims(built.project, expect={"book": {"at_least": 0.75}})
    assert "Built" in built.command("build")
    assert "Other words" in (html / "intro.html").read_text()
    assert "Included: two" in (html / "intro.html").read_text()
    assert 'class="ntp-badge ntp-refuted"' in (html / "chapters" / "coin.html").read_text()
    assert 'class="ntp-badge ntp-refuted"' in (html / "ledger.html").read_text()
    assert "Unchanged" in built.command("build")


@pytest.mark.slow
def test_references_and_styles_with_an_old_date_are_taken(built, no_kernel):
    no_kernel()
    html = built.project.html("book")
    replace_with_an_old_file(built.project.book / "references.bib", "title={Same}", "title={Gone}")
    replace_with_an_old_file(built.project.book / "assets" / "logo.svg", "#808080", "#909090")
    assert "Built" in built.command("build")
    assert "Gone" in (html / "intro.html").read_text()
    assert "#909090" in (html / "_static" / "logo.svg").read_text()


@pytest.mark.slow
def test_a_source_that_changes_during_the_rendering_is_red(built, no_kernel, monkeypatch):
    no_kernel()
    built.edit("book/intro.md", "# Intro", "# Begin")
    render = build.render

    def render_then_edit(*arguments):
        made = render(*arguments)
        built.edit("book/intro.md", "# Begin", "# Title")
        return made

    with monkeypatch.context() as patch:
        patch.setattr(build, "render", render_then_edit)
        output = built.command("build", code=1)
    assert "intro.md was written while the book was built Build it again" in output
    assert "Built" in built.command("build")
    assert "Title" in (built.project.html("book") / "intro.html").read_text()


@pytest.mark.slow
@POSIX
def test_chapters_behind_a_link_are_seen_to_change(toy, tmp_path):
    (tmp_path / "disk").mkdir()
    Path(toy.project.book / "chapters").symlink_to(tmp_path / "disk")
    toy.command("build")
    toy.edit("words.txt", "one two", "zero one two")
    assert "Built" in toy.command("build")
    assert ">4</strong>" in (toy.project.html("book") / "chapters" / "words.html").read_text()


@pytest.mark.slow
def test_a_renamed_chapter_leaves_no_value_behind(built):
    assert "500.0" in (built.project.html("book") / "intro.html").read_text()
    (built.project.notebooks / "coin.md").rename(built.project.notebooks / "penny.md")
    for path in ("notebooks/profiles.yml", "book/claims.yml", "book/_toc.yml"):
        built.edit(path, "coin", "penny")
    assert "halved" in built.command("build", code=1)
