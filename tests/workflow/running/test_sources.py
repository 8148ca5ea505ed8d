from ntpcompanion.workflow.running.freshness import what_changed
from ntpcompanion.workflow.running.sources import source_hashes


def test_imports_are_followed_and_nothing_else(toy):
    files = source_hashes("from toypkg.half import half\nimport numpy", toy.project.package)
    assert set(files) == {"__init__.py", "half.py", "two.py"}


def test_every_form_of_import_counts(toy):
    (toy.project.package / "late.py").write_text(
        "def f():\n    from . import two\n    from .unrelated import X\n    return two.TWO + X\n"
    )
    assert set(source_hashes("import toypkg.late as late", toy.project.package)) == {
        "__init__.py",
        "late.py",
        "two.py",
        "unrelated.py",
    }
    assert set(source_hashes("from toypkg import two", toy.project.package)) == {
        "__init__.py",
        "two.py",
    }
    assert source_hashes("import toypkgs", toy.project.package) == {}


def test_a_cycle_of_imports_ends(toy):
    (toy.project.package / "two.py").write_text("import toypkg.half\nTWO = 2\n")
    assert set(source_hashes("import toypkg.two", toy.project.package)) == {
        "__init__.py",
        "half.py",
        "two.py",
    }


def test_changes_are_named():
    old = {
        "code cells": "a" * 64,
        "parameters": {"n": 1, "k": 2},
        "package source": {"x.py": "a" * 64},
        "python": "3.11",
    }
    new = {
        "code cells": "b" * 64,
        "parameters": {"n": 2, "s": 0},
        "package source": {"x.py": "b" * 64},
        "python": "3.12",
    }
    assert what_changed(old, new) == [
        "code cells: changed",
        "parameters: k is gone",
        "parameters: n: 1 → 2",
        "parameters: s is new",
        "package source: x.py changed",
        "python: 3.11 → 3.12",
    ]
    assert what_changed(new, new) == []


def test_imports_relative_to_a_folder_above_are_followed(toy):
    folder = toy.project.package / "deep" / "deeper"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("from .. import unrelated\n")
    (folder / "__init__.py").write_text("")
    (folder / "late.py").write_text("from ...half import half\n")
    assert set(source_hashes("import toypkg.deep.deeper.late", toy.project.package)) == {
        "__init__.py",
        "deep/__init__.py",
        "deep/deeper/__init__.py",
        "deep/deeper/late.py",
        "half.py",
        "two.py",
        "unrelated.py",
    }
