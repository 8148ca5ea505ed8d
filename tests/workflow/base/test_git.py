"""Pages and histories name a commit of the repository that holds the project, and of no other."""

from ntpcompanion.workflow.running import history


def test_the_commit_of_another_repository_is_never_named(toy, repository, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "_config.yml").touch()
    other = repository(tmp_path / "other", ".")
    for name, value in {
        "GIT_DIR": ".git",
        "GIT_WORK_TREE": ".",
        "GIT_INDEX_FILE": ".git/index",
        "GIT_OBJECT_DIRECTORY": ".git/objects",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / "other" / value))
    assert history.present_commit(toy.project) == ""
    own = repository(toy.project.root, "notebooks", "_config.yml")
    commit = own("rev-parse", "HEAD")
    assert commit != other("rev-parse", "HEAD")
    assert history.present_commit(toy.project) == commit[:12]


def test_a_repository_above_that_does_not_hold_the_project_is_not_named(toy, repository):
    repository(toy.project.root.parent)
    assert history.present_commit(toy.project) == ""
