"""What a shell is told when it completes a command; that the options are parsed is in
workflow/test_cli.py.
"""

# ruff: noqa: F811  # an argument has the name of its fixture
import os
import subprocess
import sys

import pytest

from ntpcompanion import options
from tests.toy import toy  # noqa: F401


def test_names_of_notebooks_and_profiles_are_completed(toy):
    assert options.notebook_names("") == ["coin", "words"]
    assert options.notebook_names("co") == ["coin"]
    assert options.notebook_names("x") == []
    assert options.profile_names("b") == ["book"]
    assert options.profile_names("") == ["smoke", "book", "paper"]


def test_an_editors_lock_is_no_notebook(toy):
    (toy.project.notebooks / ".#coin.md").symlink_to("nothing")
    assert options.notebook_names("") == ["coin", "words"]


def test_outside_of_a_project_nothing_is_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert options.notebook_names("") == []


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["execute", "co"], {"coin"}),
        pytest.param(["why", ""], {"coin", "words"}, marks=pytest.mark.slow),
        pytest.param(["build", "--profile", "s"], {"smoke"}, marks=pytest.mark.slow),
        pytest.param(["doct"], {"doctor"}, marks=pytest.mark.slow),
    ],
)
def test_a_shell_is_offered_them(toy, typed, offered):
    environment = {
        **os.environ,
        "_NTPCOMPANION_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(["ntpcompanion", *typed]),
        "COMP_CWORD": str(len(typed)),
    }
    code = "import sys; sys.argv = ['ntpcompanion']; from ntpcompanion.cli import app; "
    done = subprocess.run(
        [sys.executable, "-c", code + "app(prog_name='ntpcompanion')"],
        env=environment,
        cwd=toy.project.root,
        capture_output=True,
        text=True,
    )
    assert set(done.stdout.split()) == offered, done.stderr
