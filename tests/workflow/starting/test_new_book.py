"""A book of one's own: made whole or not at all, and red where it should be."""

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from ntpcompanion.settings import Settings, read_settings
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.checking.value_comparison import read_baseline
from ntpcompanion.workflow.claims.claims import load_claims
from ntpcompanion.workflow.notebooks.contents import page_faults
from ntpcompanion.workflow.notebooks.notebook import find_notebooks
from ntpcompanion.workflow.notebooks.profiles import read_profiles
from ntpcompanion.workflow.running.freshness import key_parts
from ntpcompanion.workflow.running.runs import plan
from ntpcompanion.workflow.starting import new_book as module
from ntpcompanion.workflow.starting.new_book import new_book, origin
from tests.copies import copy_checkout
from tests.refusing import refused
from tests.toy import ROOT

PLACE = Path("a place", "Größe & Zahl")


@pytest.fixture
def made(tmp_path):
    return new_book(tmp_path / PLACE, "grosse_zahl")


def texts(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_book_holds_what_the_template_holds_under_its_own_names(made):
    files = texts(made)
    assert {".gitignore", "grosse_zahl/mean.py"} <= set(files)
    assert not [name for name, text in files.items() if module.PACKAGE in name + text]
    assert [path.name for path in made.parent.iterdir()] == [made.name], "nothing is left beside it"


def test_its_settings_claims_and_pages_are_whole(made):
    project = Project.read(made)
    assert project.packages == (made / "grosse_zahl",)
    assert read_settings(made).libraries[:3] == ("ntpcompanion", "numpy", "pandas")
    known = find_notebooks(project)
    assert page_faults(project, known) == []
    profiles = read_profiles(project, known)
    measured = {claim for claim in load_claims(project)}
    for profile in ("smoke", "book"):
        assert set(read_baseline(project.baseline(profile))["-"]) == measured
        parts = key_parts(
            project, known["mean"], plan(project, known["mean"], profile, profiles).parameters
        )
        assert list(parts["package source"]) == ["__init__.py", "mean.py"]


def test_a_folder_that_holds_something_is_refused_and_stays(tmp_path):
    held = tmp_path / "held"
    held.mkdir()
    assert new_book(held) == held, "an empty one will do"
    before = texts(held)
    with refused(r"held is not empty: it holds \.gitignore\."):
        new_book(held)
    (tmp_path / "file").touch()
    with refused(r"file is not a folder"):
        new_book(tmp_path / "file")
    assert texts(held) == before


def test_its_makefile_knows_what_its_readme_tells(made):
    readme, makefile = ((made / n).read_text(encoding="utf-8") for n in ("README.md", "Makefile"))
    targets = re.findall(r"^    make (\w+)", readme, re.M)
    assert targets == ["book", "test"]
    assert set(targets) <= set(re.findall(r"^(\w+):", makefile, re.M))


@pytest.mark.parametrize("failing", ["write_text", "rename"])
def test_what_fails_leaves_nothing(tmp_path, monkeypatch, failing):
    method = getattr(Path, failing)

    def full(path, *arguments, **options):
        if path.name in ("README.md", "book"):
            raise OSError(28, "No space left on device")
        return method(path, *arguments, **options)

    monkeypatch.setattr(Path, failing, full)
    with refused(r"Could not make .*coins: No space left on device\."):
        new_book(tmp_path / "coins")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my-coins", "a name of Python.*Give another name"),
        ("class", "a name of Python"),
        ("", "a name of Python"),
        ("tests", "it would hide a package or folder"),
        ("json", "it would hide"),
        ("numpy", r"numpy.__init__\.py has that name already"),
    ],
)
def test_a_package_that_could_not_be_imported_is_refused(tmp_path, name, reason):
    with refused(rf"`--package {name}`: .*{reason}"):
        new_book(tmp_path / "coins", name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("direct", "requirement"),
    [
        (None, r"ntpcompanion==3\.1"),
        ('{"url": "file:///a%20b", "dir_info": {}}', r"ntpcompanion @ file:///a%20b"),
        (
            '{"url": "https://x.org/y", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}',
            r"ntpcompanion @ git\+https://x\.org/y@12ab",
        ),
    ],
)
def test_a_book_names_the_copy_that_made_it(monkeypatch, direct, requirement):
    class Installed:
        version = "3.1"

        def read_text(self, name):
            return direct

    monkeypatch.setattr(module, "distribution", lambda name: Installed())
    assert re.fullmatch(requirement, origin())


def test_the_tests_of_the_template_pass(made):
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:jaxtyping", "-c", "pyproject.toml"]
    said = run(sys.executable, "-m", "pytest", *options, cwd=made, path=[made, ROOT])
    assert "2 passed" in said


def run(*words, cwd, code=0, path=()):
    """What a program says in a folder, with these places before those of packages."""
    variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    if path:
        variables["PYTHONPATH"] = os.pathsep.join(map(str, path))
    done = subprocess.run(words, cwd=cwd, env=variables, capture_output=True, text=True)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == code, said
    assert "Traceback" not in said
    return said


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize("name", ["a:b", os.fsdecode(b"\xff")])
def test_no_book_is_made_where_it_could_not_be_built(tmp_path, name):
    with refused(r"Rename it"):
        new_book(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# the page that walks through a book of one's own: its commands are typed as they stand
PAGE = (ROOT / "book" / "own_companion.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.S) for line in block.splitlines()
]


def test_it_documents_every_setting():
    table = PAGE.partition("## Settings")[2]
    named = set(re.findall(r"`(\w+)`(?=[^|]*\| )", "\n".join(re.findall(r"^\| `.*", table, re.M))))
    assert named >= set(vars(Settings()))


@pytest.mark.slow
def test_its_commands_do_what_it_says(tmp_path):
    script = "\n".join(
        ["set -eu", f'ntpcompanion() {{ "{sys.executable}" -m ntpcompanion "$@"; }}', *COMMANDS]
    )
    said = run("sh", "-c", script, cwd=tmp_path, path=[ROOT])
    made = tmp_path / "my companion"
    for path in (
        "_build/html/index.html",
        "_build/html/chapters/mean.html",
        "book/records/spread.json",
        "mycoins/mean.py",
    ):
        assert (made / path).is_file(), path
    assert "1 measured value agrees with book.json" in said
    assert "mean (book) is up to date" in said
    assert Path(re.search(r"mean: (\S.*?\.ipynb)", said)[1]).is_relative_to(
        made / "_build" / "runs"
    )


# in an environment of its own, a wheel has no more than these extras bring
FOREIGN = ("torch", "cvxpy", "transformers", "datasets")
EXTRAS = "book,plots,workflow"


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_small_book_builds_with_its_extras_alone(tmp_path):
    checkout = copy_checkout(tmp_path / "checkout")
    build = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    run(sys.executable, *build, "--wheel-dir", tmp_path, checkout, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    bin = tmp_path / "env" / ("Scripts" if sys.platform == "win32" else "bin")
    pins = ["-c", checkout / "constraints.txt"]
    run(bin / "python", "-m", "pip", "install", "-q", *pins, f"{wheel}[{EXTRAS}]", cwd=tmp_path)
    installed = run(bin / "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path).lower()
    assert not [name for name in FOREIGN if f" {name}==" in f" {installed}"]
    run(bin / "ntpcompanion", "init", "a book", cwd=tmp_path)
    made = tmp_path / "a book"
    assert "Built" in run(bin / "ntpcompanion", "build", cwd=made)
    assert "agree" in run(bin / "ntpcompanion", "check", "--profile", "book", cwd=made)
    run(bin / "ntpcompanion", "doctor", cwd=made)
