"""The folder of a run: what lies there, and what does not."""

import pytest

from ntpcompanion.workflow.base.files import sha256
from ntpcompanion.workflow.running.layout import (
    DATE,
    EMPTY,
    contents,
    elsewhere,
    file_digests,
    laid_out_files,
    lay_out,
    listed_files,
    package_data,
)
from tests.refusing import refused

MODULES = ["__init__.py", "half.py", "two.py", "__init__.pyi: half"]


@pytest.fixture
def laid(toy):
    """A function: lay out some declared files of the toy project; all files by relative name."""

    (toy.project.package / "__init__.pyi").touch()

    def lay(**declared):
        root = toy.project.root
        places = {name.replace("__", "/"): root / path for name, path in declared.items()}
        layout = lay_out(toy.project, toy.project.build / "run", MODULES, places)
        return layout, {
            path.relative_to(layout.folder).as_posix(): path
            for path in layout.folder.rglob("*")
            if path.is_file()
        }

    return lay


def test_modules_and_declared_files_lie_there_and_nothing_else(laid):
    layout, files = laid(words="words.txt")
    packages = {f"toypkg/{name}" for name in ("__init__.py", "half.py", "two.py", "__init__.pyi")}
    assert set(files) == packages | {"words"} == set(layout.files)
    assert files["words"].read_text() == "one two three\n"
    assert {path.stat().st_mtime for path in files.values()} == {DATE}
    assert layout.import_path == (layout.folder,)
    assert layout.files["words"] == sha256("one two three\n")


def test_data_beside_a_module_belongs_to_it(toy, laid):
    package = toy.project.package
    for folder in ("fonts", "codes", "fonts/.hidden", "fonts/__pycache__"):
        (package / folder).mkdir()
    for name in ("a.json", "fonts/a.ttf", "fonts/__init__.py", "fonts/.hidden/x", "codes/b.json"):
        (package / name).write_text(name)
    (package / "codes" / "module.py").touch()
    data = {"a.json", "fonts/a.ttf", "fonts/__init__.py"}
    assert package_data(toy.project, MODULES).keys() == data
    assert {f"toypkg/{name}" for name in data} <= laid()[1].keys()
    assert "toypkg/codes/b.json" not in laid()[1]


def test_links_are_followed_and_empty_folders_count(toy, laid, tmp_path):
    data = toy.project.root / "data"
    (data / "empty").mkdir(parents=True)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "a.txt").write_text("far")
    (data / "link").symlink_to(tmp_path / "far")
    (data / "circle").symlink_to(data)
    (data / "file.txt").symlink_to(tmp_path / "far" / "a.txt")
    assert dict(contents(data)) == {"file.txt": "", "link/a.txt": "", "empty": EMPTY}
    layout, files = laid(data="data")
    assert files["data/link/a.txt"].read_text() == "far"
    assert not files["data/file.txt"].is_symlink()
    assert (layout.folder / "data" / "empty").is_dir()
    digests = file_digests({"data": data})
    assert digests == {
        "data/file.txt": sha256("far"),
        "data/link/a.txt": sha256("far"),
        "data/empty": EMPTY,
    }


def test_what_a_run_has_written_is_told_from_what_it_was_given(laid):
    layout, files = laid(words="words.txt", more__words="words.txt")
    assert layout.written() == []
    files["words"].write_text("others")
    (layout.folder / "new").mkdir()
    (layout.folder / "new" / "out.txt").touch()
    (layout.folder / "nothing").mkdir()
    assert layout.written() == ["words", "new/out.txt"]


def test_a_folder_left_by_a_killed_run_is_emptied(laid):
    layout, _ = laid(words="words.txt")
    (layout.folder / "left").touch()
    assert "left" not in laid()[1]


def test_a_file_that_cannot_be_read_is_named(toy, laid):
    with refused(r"gone.txt cannot be copied for the run: No such file"):
        laid(words="gone.txt")


def test_what_lies_in_the_project_is_laid_out_and_the_rest_is_read_where_it_is(toy, tmp_path):
    toy.edit("notebooks/words.md", "inputs: [text]", "inputs: [text], files: [book/intro.md]")
    (words,) = [run.notebook for run in toy.runs(names=["words"])]
    root, far = toy.project.root, tmp_path / "far.txt"
    inputs = {"text": root / "words.txt", "more": far, "record halves": root / "book" / "x.json"}
    assert laid_out_files(toy.project, words, inputs) == {
        "notebooks/words.md": words.path,
        "book/intro.md": root / "book" / "intro.md",
        "words.txt": root / "words.txt",
        "book/x.json": root / "book" / "x.json",
    }
    assert elsewhere(toy.project, inputs) == [str(far)]
    assert listed_files(toy.project, words) == {"book/intro.md": root / "book" / "intro.md"}
