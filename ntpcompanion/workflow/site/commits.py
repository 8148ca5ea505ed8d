"""Which commit holds the source of a page."""

from pathlib import Path

from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project


def state_of_commits(project: Project) -> list[str]:
    """What `commit_of` follows from, for all notebooks at once: the present commit, and which of
    them differ from it; empty where there is no git.
    """
    names = str(project.notebooks.relative_to(project.root))
    try:
        head = run(["git", "rev-parse", "HEAD"], folder=project.root, limit=20)
        changed = run(["git", "status", "--porcelain", "--", names], folder=project.root, limit=20)
    except OSError:  # no git; a TimeoutError is one
        return []
    return [head.output, changed.output]


def commit_of(project: Project, path: Path) -> str | None:
    """The commit that last changed a file; None where there is no git or no commit of it, or where
    the file has changed since.
    """
    name = str(path.relative_to(project.root))
    try:
        changed = run(["git", "status", "--porcelain", "--", name], folder=project.root, limit=20)
        last = run(["git", "log", "-1", "--format=%H", "--", name], folder=project.root, limit=20)
    except OSError:  # no git; a TimeoutError is one
        return None
    if changed.code or changed.output.strip() or last.code:
        return None
    return last.output.strip() or None
