"""The environment in which numbers and pages are made: equal for all users of a machine."""

import contextlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

import ntpcompanion
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import ONE_THREAD, Project

# with another backend the figures of a notebook vanish without a word
INLINE = "module://matplotlib_inline.backend_inline"


def clean_environment(project: Project) -> dict[str, str]:
    """The user's environment without his settings of Python, in which the package of the project
    comes first.

    PYTHONPATH, PYTHONSTARTUP and the user's own site-packages can replace any function;
    PYTHONOPTIMIZE drops assertions.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # the package whose sources decide freshness, not another installed copy; then the one that runs
    # this
    own = dict.fromkeys([*map(str, package_parents(project)), *_running()])
    # figures carry no date and sets no random order, so that equal runs give equal bytes
    fixed = {
        "PYTHONPATH": os.pathsep.join(own),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "SOURCE_DATE_EPOCH": "0",
    }
    return {**kept, **ONE_THREAD, **_caches(project), **fixed, "MPLBACKEND": INLINE}


def _caches(project: Project) -> dict[str, str]:
    """Caches below `_build`: of a home that cannot be written Matplotlib and fontconfig complain,
    and that would stand on a page.
    """
    folder = project.build / "cache"
    theirs = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    # where models that are already there are found
    models = os.environ.get("HF_HOME") or str(theirs / "huggingface")
    return {
        "MPLCONFIGDIR": str(folder / "matplotlib"),
        "XDG_CACHE_HOME": str(folder),
        "HF_HOME": models,
    }


def folders(project: Project) -> list[str]:
    """Where the files of a project lie: what is read below them can change a number."""
    return list(dict.fromkeys([str(project.root), *map(str, project.packages)]))


def package_parents(project: Project) -> list[Path]:
    """The folders from which the packages of a project are imported."""
    return list(dict.fromkeys(folder.parent for folder in project.packages))


def make_importable(project: Project) -> None:
    """From now on this process can import the packages of a project: their experiments are read
    here before they are run elsewhere.
    """
    for folder in reversed(package_parents(project)):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))


def _running() -> list[str]:
    """Where the package that runs this is imported from; nothing if every interpreter of this
    environment finds it there: installed packages must not come before the standard library.
    """
    folder = str(Path(ntpcompanion.__file__).resolve().parents[1])
    return (
        [] if folder in {sysconfig.get_path(name) for name in ("purelib", "platlib")} else [folder]
    )


def python_path(project: Project) -> list[str]:
    """`sys.path` of an interpreter in the clean environment of a project. Raises WorkflowError if
    it does not start.
    """
    command = [sys.executable, "-P", "-c", "import json, sys; print(json.dumps(sys.path))"]
    ended = run(command, environment=clean_environment(project))
    if ended.code:
        raise WorkflowError(f"{sys.executable} does not start:\n{ended.errors[-2000:]}")
    path: list[str] = json.loads(ended.output)
    return path


@contextlib.contextmanager
def started_in(environment: Mapping[str, str]) -> Iterator[None]:
    """Processes that `multiprocessing` starts here have this environment; it knows no other way to
    give them one.
    """
    before = dict(os.environ)
    try:
        _replace_environment(environment)
        yield
    finally:
        _replace_environment(before)


def _replace_environment(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
