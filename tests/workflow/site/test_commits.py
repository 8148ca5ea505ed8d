import pytest

from ntpcompanion.workflow.site import unchanged
from ntpcompanion.workflow.site.unchanged import commit_of


@pytest.fixture
def git(toy, repository):
    """Git in the toy project, which is a repository of its own with one commit."""
    return repository(toy.project.root, "notebooks")


def test_the_commit_is_that_of_the_last_change(toy, git):
    path = toy.project.notebooks / "coin.md"
    first = git("rev-parse", "HEAD")
    assert commit_of(toy.project, path) == first
    git("commit", "--quiet", "--allow-empty", "-m", "Nothing")
    assert commit_of(toy.project, path) == first
    toy.edit("notebooks/coin.md", "Prose", "More prose")
    assert commit_of(toy.project, path) is None
    git("commit", "--quiet", "-a", "-m", "More")
    assert commit_of(toy.project, path) == git("rev-parse", "HEAD") != first


def test_what_git_does_not_keep_has_none(toy, git):
    (toy.project.notebooks / "new.md").write_text("# New\n")
    assert commit_of(toy.project, toy.project.notebooks / "new.md") is None


def test_without_git_there_is_none(toy, monkeypatch):
    path = toy.project.notebooks / "coin.md"
    assert commit_of(toy.project, path) is None, "no repository"

    def missing(*_, **__):
        raise FileNotFoundError("git")

    monkeypatch.setattr(unchanged, "git", missing)
    assert commit_of(toy.project, path) is None
