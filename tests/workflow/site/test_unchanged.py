"""A build that has nothing to do says so from the contents of files: whatever else may have
happened to them, each change is seen.
"""

import json
import os

import pytest

from ntpcompanion.workflow.base.files import read_sealed, write_sealed
from ntpcompanion.workflow.base.tracing import state_of
from ntpcompanion.workflow.running.freshness import key
from ntpcompanion.workflow.site.sphinx_extension import FILE
from ntpcompanion.workflow.site.unchanged import is_unchanged, remember, sources_digest

PAGES = {"index.html": "<p>One half.</p>", "chapters/coin.html": "<p>A coin.</p>"}
NOTE = "_build/html-work/unchanged.json"
SOURCES = [
    "_config.yml",
    "pyproject.toml",
    "book/claims.yml",
    "book/intro.md",
    "book/records/plans.yml",
    "notebooks/coin.md",
    "notebooks/profiles.yml",
    "toypkg/half.py",
]
READ = ["words.txt", "seen.txt"]
MADE = [
    "_build/html/index.html",
    "_build/html/chapters/coin.html",
    "book/chapters/coin.ipynb",
    "book/chapters/coin.json",
]


@pytest.fixture
def built(executed):
    """The toy project as a build has left it: the site by a stand-in for Jupyter Book."""
    project = executed.project
    for name in SOURCES + READ + MADE:
        file = project.root / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
    for name, text in PAGES.items():
        (project.html("book") / name).write_text(text)
    results = project.runs("book") / "words.json"
    data = read_sealed(results)
    data["key_parts"]["files read"]["seen.txt"] = state_of(project.root / "seen.txt")
    data["key"] = key(data["key_parts"])
    write_sealed(results, {key: value for key, value in data.items() if key != "checksum"})
    remember(project, "book", executed.runs(), sources_digest(project))
    return executed


def nothing_to_do(toy, profile="book"):
    return is_unchanged(toy.project, profile, sources_digest(toy.project))


def test_after_a_build_there_is_nothing_to_do(built):
    assert nothing_to_do(built)
    for file in built.project.root.rglob("*"):
        os.utime(file, (1, 1))
    (built.project.package / "__pycache__").mkdir(exist_ok=True)
    (built.project.package / "__pycache__" / "half.pyc").write_bytes(b"compiled")
    assert nothing_to_do(built), "dates and what Python compiles change no page"
    assert not nothing_to_do(built, "smoke"), "another profile was not built"


@pytest.mark.parametrize("names", [SOURCES, READ, MADE], ids=["sources", "read", "made"])
def test_a_file_that_is_changed_or_gone_is_seen_whatever_its_date(built, names):
    for name in names:
        file = built.project.root / name
        content, date = file.read_bytes(), file.stat().st_mtime_ns
        file.unlink()
        assert not nothing_to_do(built), f"{name} is gone"
        file.write_bytes(content + b" ")
        os.utime(file, ns=(date, date))
        assert not nothing_to_do(built), f"{name} is changed"
        file.write_bytes(content)
    assert nothing_to_do(built)


def test_a_new_file_is_seen(built):
    for folder in ("book", "notebooks", "toypkg", "book/chapters", "_build/html"):
        new = built.project.root / folder / "new.py"
        new.write_text("")
        assert not nothing_to_do(built), folder
        new.unlink()
    assert nothing_to_do(built)


def test_what_lies_beside_the_sources_is_not_read_but_data_of_modules(built):
    for name in ("data.bin", "notebooks/.coin.md.swp", "book/.DS_Store"):
        (built.project.root / name).write_bytes(b"a large file of the user's own")
    assert nothing_to_do(built)
    (built.project.package / "table.csv").write_text("1")
    assert not nothing_to_do(built)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sys.version", "3.99"), ("sys.prefix", "/elsewhere"), ("sys.path", ["packages"])],
)
def test_another_python_and_another_package_are_seen(built, tmp_path, monkeypatch, name, value):
    if name == "sys.path":
        (tmp_path / "numpy-9.9.dist-info").mkdir()
        value = [str(tmp_path)]
    monkeypatch.setattr(f"ntpcompanion.workflow.site.unchanged.{name}", value)
    assert not nothing_to_do(built)


def test_a_damaged_or_edited_note_is_none(built):
    note = built.project.root / NOTE
    edited = json.dumps({**json.loads(note.read_text()), "read": {}})
    for content in ("", "{", "[]", '{"sources": "x"}', edited):
        note.write_text(content)
        assert not nothing_to_do(built), content
    note.unlink()
    assert not nothing_to_do(built)


def test_nothing_is_noted_of_a_build_whose_sources_changed_meanwhile(built):
    before = sources_digest(built.project)
    built.edit("notebooks/coin.md", "Prose with", "Other prose with")
    remember(built.project, "book", built.runs(), before)
    assert not (built.project.root / NOTE).exists()
    assert not nothing_to_do(built)


def test_what_a_page_included_counts(built):
    part = built.project.root / "part.txt"
    part.write_text("one")
    doctrees = built.project.root / "_build/html-work/_build/.doctrees"
    doctrees.mkdir(parents=True)
    (doctrees / FILE).write_text(json.dumps({str(part): state_of(part)}))
    remember(built.project, "book", built.runs(), sources_digest(built.project))
    assert nothing_to_do(built)
    part.write_text("two")
    assert not nothing_to_do(built)
