import os
import subprocess

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.timing.trees import commit_named, tree, tree_path


def git(folder, *arguments):
    identity = {
        f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | identity, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def versioned(tmp_path):
    """A project with a package, one commit and a change since."""
    package = tmp_path / "src" / "planted"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("STEPS = 1\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "one")
    (package / "__init__.py").write_text("STEPS = 2\n")
    return Project(tmp_path, package)


def test_a_tree_holds_the_files_of_the_commit_and_goes_again(versioned):
    commit = commit_named(versioned, "HEAD")
    assert commit == git(versioned.root, "rev-parse", "HEAD")
    with tree(versioned, commit) as folder:
        assert (folder / "src" / "planted" / "__init__.py").read_text() == "STEPS = 1\n"
        assert tree_path(versioned, folder) == str(folder / "src")
    assert not folder.exists()
    assert list(versioned.build.iterdir()) == []


@pytest.mark.parametrize("revision", ["no-such-branch", "--help", "", "HEAD:src"])
def test_what_is_no_commit_is_named(versioned, revision):
    with pytest.raises(WorkflowError, match="git knows no such commit"):
        commit_named(versioned, revision)


def test_without_git_the_error_says_so(versioned, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WorkflowError, match="git, which is missing"):
        commit_named(versioned, "HEAD")


def test_a_folder_that_cannot_be_written_is_named(versioned):
    versioned.build.write_text("a file")
    with (
        pytest.raises(WorkflowError, match="Could not unpack"),
        tree(versioned, commit_named(versioned, "HEAD")),
    ):
        pass
