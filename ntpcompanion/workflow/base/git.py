"""Git on the folder of a project: the repository that holds it, whatever the environment names."""

import os
from pathlib import Path

from ntpcompanion.workflow.base.processes import Ended, run

# where the user's own settings lie, and how far up git looks for a repository
SETTINGS = {
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
}  # fmt: skip
MARKER = "_config.yml"  # every project has one


def git(folder: Path, *arguments: str, limit: float = 60) -> Ended:
    """Run git in a folder.

    GIT_DIR, GIT_WORK_TREE, GIT_INDEX_FILE and their like, which a hook or a shell may have set for
    another repository, do not reach it. Raises OSError without git, and TimeoutError after `limit`
    seconds.
    """
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in SETTINGS
    }
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C"}
    return run(["git", *arguments], environment=environment, folder=folder, limit=limit)


def holds_project(folder: Path) -> bool:
    """Whether the present commit has the project in a folder: another repository may lie above it,
    which knows nothing of it. Raises OSError without git.
    """
    return git(folder, "cat-file", "-e", f"HEAD:./{MARKER}").code == 0
