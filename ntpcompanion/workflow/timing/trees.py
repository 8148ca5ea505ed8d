"""The code of another commit, unpacked beside the checkout."""

import contextlib
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.git import git
from ntpcompanion.workflow.base.ownership import search_path
from ntpcompanion.workflow.base.project import Project


def commit_named(project: Project, revision: str) -> str:
    """The full name of the commit that a revision of git stands for. Raises WorkflowError if git is
    missing or does not know it.
    """
    if shutil.which("git") is None:
        raise WorkflowError(
            "`--bench` takes another commit from git, which is missing. Install it."
        )
    asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    ended = git(project.root, *asked)
    if ended.code:
        raise WorkflowError(
            f"`--bench {revision}`: git knows no such commit in {project.root}. Name a branch, a "
            "tag or a commit, as `git log` shows them; a clone that is not whole gets them by "
            "`git fetch --unshallow`."
        )
    return ended.output.strip()


@contextlib.contextmanager
def tree(project: Project, commit: str) -> Iterator[Path]:
    """A folder with the files of a commit, as long as the block runs. Raises WorkflowError if it
    cannot be written.
    """
    with contextlib.ExitStack() as stack:
        try:
            project.build.mkdir(exist_ok=True)
            folder = tempfile.TemporaryDirectory(dir=project.build, prefix="tree-")
            target = Path(stack.enter_context(folder), "tree")
            _unpack(project, commit, target)
        except OSError as error:
            raise WorkflowError(
                f"Could not unpack {commit[:12]} in {project.build}: {error.strerror or error}. "
                "Free some space or fix the permissions."
            ) from error
        yield target


def _unpack(project: Project, commit: str, target: Path) -> None:
    """Write the files of a commit into a folder. Run in a folder of a repository, git packs that
    folder.
    """
    archive = target.with_suffix(".tar")
    command = ["archive", "--format=tar", "-o", str(archive), commit]
    packed = git(project.root, *command, limit=300)
    if packed.code:
        raise WorkflowError(f"git could not unpack {commit}: {packed.errors.strip()}")
    with tarfile.open(archive) as files:
        files.extractall(target, filter="data")
    archive.unlink()


def tree_path(project: Project, root: Path) -> str:
    """The PYTHONPATH that leads to the book's packages in a tree of its files."""
    folders = [package.parent for package in project.packages]
    inside = [folder for folder in folders if folder.is_relative_to(project.root)]
    locations = [root / folder.relative_to(project.root) for folder in inside] or [root]
    return search_path(locations)
