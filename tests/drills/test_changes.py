"""What changes a number runs again, and only that; what does not, starts no kernel; `why` names the
file.
"""

import subprocess

import pytest

from ntpcompanion.workflow.base.provenance import library_versions, python_minor
from tests.drills.machine import POSIX
from tests.toy import ROOT, write_claims

NOTEBOOK, PROFILES = "notebooks/coin.md", "notebooks/profiles.yml"
DECIDE = [
    ("toypkg/two.py", "TWO = 2", "TWO = 2.0", "coin", "package source: two.py changed"),
    ("words.txt", "one", "zero one", "words", "inputs: text changed"),
]
ALSO_DECIDE = [
    (NOTEBOOK, "half(8)", "half(16)", "coin", "code cells: changed"),
    (NOTEBOOK, "n = 1000", "n = 2000", "coin", "parameters: n: 1000 → 2000"),
    (PROFILES, "{smoke: {n: 10}}", "{book: {n: 10}}", "coin", "parameters: n: 1000 → 10"),
]


@pytest.mark.parametrize(
    ("path", "old", "new", "name", "reason"),
    [*DECIDE, *(pytest.param(*case, marks=pytest.mark.slow) for case in ALSO_DECIDE)],
)
def test_what_decides_a_number_runs_again_and_only_that(executed, path, old, new, name, reason):
    other = {"coin": "words", "words": "coin"}[name]
    assert f"{name} (book) is up to date" in executed.command("why", name)
    executed.edit(path, old, new)
    assert executed.command("why", name) == f"{name} (book): {reason}"
    assert f"{name} (book): {reason}" in executed.command("check", "--profile", "book", code=1), (
        "a check never uses what is stale"
    )
    output = executed.command("execute")
    assert f"{name} (book): executed" in output
    assert f"{other} (book): up to date" in output


def test_libraries_and_python_make_everything_stale(executed, monkeypatch):
    monkeypatch.setattr(
        "ntpcompanion.workflow.running.freshness.library_versions",
        lambda names: {**library_versions(names), "numpy": "9.9"},
    )
    monkeypatch.setattr("ntpcompanion.workflow.running.freshness.python_minor", lambda: "3.99")
    for name in ("coin", "words"):
        reasons = executed.command("why", name)
        assert f"libraries: numpy: {library_versions(('numpy',))['numpy']!r} → '9.9'" in reasons
        assert f"python: {python_minor()} → 3.99" in reasons


@POSIX
@pytest.mark.parametrize("file", ["constraints.txt", "pyproject.toml"])
def test_changed_constraints_install_first(file):
    if not (ROOT / ".venv" / "ready").is_file():
        pytest.skip("the environment was not made by make")
    plan = subprocess.run(
        ["make", "--dry-run", f"--what-if={file}", "book"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "-m pip install" in plan
    assert plan.index("-m pip install") < plan.index("ntpcompanion build")


def test_prose_comments_and_strangers_start_no_kernel(executed, no_kernel):
    no_kernel()
    executed.edit("notebooks/coin.md", "Prose with", "Other prose with")
    executed.edit("notebooks/coin.md", "# throws", "# number of throws")
    (executed.project.package / "unrelated.py").write_text("X = 2\n")
    output = executed.command("execute")
    # in the order in which they end
    for name in ("coin", "words"):
        assert output.count(f"{name} (book): up to date") == 1


def test_of_the_face_that_a_notebook_imports_from_only_the_used_names_count(toy, no_kernel):
    room = toy.project.package / "room"
    room.mkdir()
    (room / "__init__.py").write_text(
        "import lazy_loader\n\n"
        "__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)\n"
    )
    (room / "halves.py").write_text("def half(n):\n    return n / 2\n")
    (room / "thirds.py").write_text("def third(n):\n    return n / 3\n")
    face = room / "__init__.pyi"
    face.write_text("from .halves import half as half\n")
    toy.edit("notebooks/coin.md", "from toypkg.half import half", "from toypkg.room import half")
    assert "coin (book): executed" in toy.command("execute", "coin")
    face.write_text(face.read_text() + "from .thirds import third as third\n")
    assert "coin (book) is up to date" in toy.command("why", "coin")
    (room / "halves.py").write_text("def half(n):\n    return n / 2.0\n")
    no_kernel()
    assert toy.command("why", "coin") == "coin (book): package source: room/halves.py changed"


@pytest.mark.slow
def test_prose_and_expectations_change_the_page_without_a_kernel(executed, no_kernel):
    assert "Built" in executed.command("build")
    page, ledger = (
        executed.project.html("book") / name for name in ("chapters/coin.html", "ledger.html")
    )
    assert 'class="ntp-badge ntp-supported"' in page.read_text()
    assert "Unchanged" in executed.command("build")
    no_kernel()
    executed.edit("notebooks/coin.md", "Prose with", "Rewritten prose with")
    write_claims(executed.project, expect={"book": {"at_least": 0.75}})
    assert "Built" in executed.command("build")
    assert "Rewritten prose" in page.read_text()
    assert 'class="ntp-badge ntp-refuted"' in page.read_text()
    assert 'class="ntp-badge ntp-refuted"' in ledger.read_text()
    assert "toy.half: verdict refuted, expected supported (ours 0.5)" in executed.command(
        "check", "--profile", "book", code=1
    )
