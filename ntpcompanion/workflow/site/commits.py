"""Which commit holds the source of a page."""

from pathlib import Path

from ntpcompanion.workflow.base.git import git
from ntpcompanion.workflow.base.project import Project


def state_of_commits(project: Project) -> list[str]:
    """What `commit_of` follows from, for all notebooks at once: the present commit, and which of
    them differ from it; empty where there is no git.
    """
    names = str(project.notebooks.relative_to(project.root))
    try:
        head = git(project.root, "rev-parse", "HEAD", limit=20)
        changed = git(project.root, "status", "--porcelain", "--", names, limit=20)
    except OSError:  # no git; a TimeoutError is one
        return []
    return [head.output, changed.output]


def commit_of(project: Project, path: Path) -> str | None:
    """The commit that last changed a file; None where there is no git or no commit of it, or where
    the file differs from it.
    """
    name = path.relative_to(project.root).as_posix()
    try:
        # by content: `git status` can be made to overlook a file
        stored = git(project.root, "rev-parse", "--verify", "--quiet", f"HEAD:./{name}", limit=20)
        present = git(project.root, "hash-object", "--", name, limit=20)
        last = git(project.root, "log", "-1", "--format=%H", "--", name, limit=20)
    except OSError:  # no git; a TimeoutError is one
        return None
    if stored.code or stored.output != present.output or last.code:
        return None
    return last.output.strip() or None
