"""What the Sphinx extension decides, on environments that are no more than what it asks;
tests/drills/test_dates.py has real ones.
"""

import json
from types import SimpleNamespace

import pytest

from ntpcompanion.workflow.site import sphinx_extension


class Title(str):
    """A title node, as text."""

    def astext(self):
        return str(self)


@pytest.fixture
def env(tmp_path):
    """An environment of two pages, the first of which includes a part."""
    source, glue = tmp_path / "book", tmp_path / "glue"
    for folder in (source, glue, tmp_path / "doctrees"):
        folder.mkdir()
    for name in ("one.md", "two.md", "part.txt"):
        (source / name).write_text(name)
    domains = {
        "std": {kind: {} for kind in ("labels", "anonlabels", "objects", "terms")},
        "math": {"objects": {}},
        "py": {"objects": {}},
    }
    return SimpleNamespace(
        srcdir=str(source),
        doctreedir=str(tmp_path / "doctrees"),
        found_docs={"one", "two"},
        dependencies={"one": {"part.txt"}},
        titles={"one": Title("One"), "two": Title("Two")},
        toc_secnumbers={},
        toc_fignumbers={},
        domaindata=domains,
        doc2path=lambda page: str(source / f"{page}.md"),
        mystnb_config=SimpleNamespace(output_folder=str(glue)),
    )


def test_nothing_is_known_before_the_first_rendering(env, tmp_path):
    assert sphinx_extension.outdated_pages(tmp_path / "doctrees") is None
    assert sphinx_extension._read_again(None, env, set(), set(), set()) == {"one", "two"}
    assert set(sphinx_extension._write_again(None, env)) == {"one", "two"}
    assert sphinx_extension.outdated_pages(tmp_path / "doctrees") == set()


@pytest.mark.parametrize(
    ("name", "page"), [("one.md", "one"), ("two.md", "two"), ("part.txt", "one")]
)
def test_a_page_is_read_again_when_a_file_of_it_has_another_content(env, tmp_path, name, page):
    sphinx_extension._write_again(None, env)
    file = tmp_path / "book" / name
    text = file.read_text()
    file.touch()
    assert sphinx_extension._read_again(None, env, set(), set(), set()) == set()
    for change in (lambda: file.write_text("other"), file.unlink):
        change()
        assert sphinx_extension._read_again(None, env, set(), set(), set()) == {page}
    file.write_text(text)
    assert sphinx_extension._read_again(None, env, set(), set(), set()) == set()
    (tmp_path / "doctrees" / sphinx_extension.FILE).write_text("{")
    assert sphinx_extension.outdated_pages(tmp_path / "doctrees") is None


def test_all_pages_are_written_when_what_they_share_changed(env, tmp_path):
    sphinx_extension._write_again(None, env)
    assert list(sphinx_extension._write_again(None, env)) == []
    shared = {
        "title": lambda: env.titles.update(one=Title("Other")),
        "figure": lambda: env.toc_fignumbers.update(one={"figure": {"id1": (2,)}}),
        "label": lambda: env.domaindata["std"].update(labels={"label": ("one", "id", "Title")}),
        "equation": lambda: env.domaindata["math"]["objects"].update(eq=("one", 1)),
        "glue": lambda: (tmp_path / "glue" / "two.glue.json").write_text(json.dumps({"key": 1})),
    }
    for name, change in shared.items():
        change()
        assert list(sphinx_extension._write_again(None, env)) == ["one", "two"], name
        assert list(sphinx_extension._write_again(None, env)) == [], name


def test_glued_values_of_a_page_that_is_read_again_are_forgotten(env, tmp_path):
    glue = {page: tmp_path / "glue" / f"{page}.glue.json" for page in ("one", "two", "gone")}
    sphinx_extension._write_again(None, env)
    for path in glue.values():
        path.write_text("{}")
    (tmp_path / "book" / "one.md").write_text("changed")
    sphinx_extension._read_again(None, env, set(), set(), {"gone"})
    assert [page for page, path in glue.items() if path.exists()] == ["two"]
