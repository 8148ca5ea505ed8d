"""The environment in which numbers and pages are made: equal for all users of a machine."""

import os
from pathlib import Path

import ntpcompanion
from ntpcompanion.workflow.project import ONE_THREAD, Project

INLINE = "module://matplotlib_inline.backend_inline"  # with another backend the figures of a notebook vanish without a word


def clean_environment(project: Project) -> dict[str, str]:
    """The user's environment without his settings of Python, in which the package of the project comes first.

    PYTHONPATH, PYTHONSTARTUP and the user's own site-packages can replace any function; PYTHONOPTIMIZE drops assertions.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # the package whose sources decide freshness, not another installed copy; then the one that runs this
    own = dict.fromkeys([str(project.package.parent), str(Path(ntpcompanion.__file__).resolve().parents[1])])
    # figures carry no date and sets no random order, so that equal runs give equal bytes
    fixed = {"PYTHONPATH": os.pathsep.join(own), "PYTHONNOUSERSITE": "1", "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "0"}
    return {**kept, **ONE_THREAD, **fixed, "MPLBACKEND": INLINE}


def folders(project: Project) -> list[str]:
    """Where the files of a project lie: what is read below them can change a number."""
    return list(dict.fromkeys([str(project.root), str(project.package)]))
