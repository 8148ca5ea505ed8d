"""The processes that execute notebooks: each started anew, so that nothing that one run does to its
interpreter is met by the next.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import ntpcompanion
from ntpcompanion.workflow.base.environment import clean_environment, running
from ntpcompanion.workflow.base.files import user_path
from ntpcompanion.workflow.base.installed import editable_folders
from ntpcompanion.workflow.base.processes import Ended, Lifeline, run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.running.start import others

RUNNING = Path(ntpcompanion.__file__).resolve().parent
MAKE_FONTS = "import matplotlib.font_manager"


@dataclass(frozen=True)
class Surroundings:
    """What is the same for all runs of a command: the environment of workers, the folders of code
    that lies outside of the project, places that may be read, and the list of typefaces.
    """

    environment: dict[str, str]
    code: tuple[str, ...]
    readable: tuple[str, ...]
    fonts: Path


class Workers:
    """Starts workers for the notebooks of a project; none of them outlives the `lifeline`, which
    may be cut from any thread.
    """

    def __init__(self, project: Project, lifeline: Lifeline) -> None:
        self._project, self._lifeline = project, lifeline
        self._lock = threading.Lock()

    def run(self, command: list[str], each_line: Callable[[str], None]) -> Ended:
        """Execute a job and wait for the end of its worker; `each_line` is given each line that it
        writes to its standard output.
        """
        environment = self.surroundings.environment
        return run(command, environment=environment, lifeline=self._lifeline, each_line=each_line)

    @property
    def surroundings(self) -> Surroundings:
        """What all runs have in common; it is looked up when the first of them begins."""
        with self._lock:
            return self._surroundings

    @cached_property
    def _surroundings(self) -> Surroundings:
        return surroundings_of(self._project)


def surroundings_of(project: Project) -> Surroundings:
    """What is the same for all runs of a project."""
    environment = clean_environment(project)
    # not what the user's PYTHONPATH adds, which a run does not have
    ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [place for place in sys.path if place not in ours]
    edited = others([*installed, *editable_folders()], project.root)
    models = [environment[name] for name in ("HF_HOME",) if name in environment]
    code = [place for place in edited if place not in running()]
    tool, where = _tool(project)
    settings_readable = [
        str(project.root / user_path(place)) for place in project.settings.readable
    ]
    readable = (*settings_readable, *models, *where)
    return Surroundings(environment, (*tool, *code), readable, _fonts(project))


def _tool(project: Project) -> tuple[list[str], list[str]]:
    """Where a run imports this package from, and what it reads for that: nothing if the package is
    the project's own, which is laid out, or installed.
    """
    if not running() or RUNNING in project.packages:
        return [], []
    # a folder with nothing else in it: beside the package lies a checkout
    folder = project.build / "cache" / "tool"
    link = folder / RUNNING.name
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink() or link.resolve() != RUNNING:
            link.unlink(missing_ok=True)
            link.symlink_to(RUNNING, target_is_directory=True)
        return [str(folder)], [str(RUNNING)]
    return running(), running()  # a system without links


def _fonts(project: Project) -> Path:
    """A folder with the list of typefaces that Matplotlib makes of a machine, in seconds; each run
    gets a copy.
    """
    try:
        folder = project.build / "cache" / "fonts" / version("matplotlib")
    except PackageNotFoundError:
        folder = project.build / "cache" / "fonts" / "none"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if not list(folder.glob("fontlist*.json")):
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**clean_environment(project), "MPLCONFIGDIR": str(folder)}
        run([sys.executable, "-P", "-c", MAKE_FONTS], environment=environment)
    return folder
