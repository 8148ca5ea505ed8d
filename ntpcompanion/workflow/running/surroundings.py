"""What the processes of all runs of a command have in common: their environment, the code that lies
outside of the project, places that they may read, and the list of typefaces.
"""

import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import ntpcompanion
from ntpcompanion.workflow.base.environment import clean_environment, running
from ntpcompanion.workflow.base.files import user_path
from ntpcompanion.workflow.base.installed import editable_folders
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_versions
from ntpcompanion.workflow.running.start import others

RUNNING = Path(ntpcompanion.__file__).resolve().parent
MAKE_FONTS = "import matplotlib.font_manager"
_ONE_MAKES_FONTS = threading.Lock()


@dataclass(frozen=True)
class Surroundings:
    """What is the same for all runs of a command: the environment of workers, the folders of code
    that lies outside of the project, places that may be read, and the list of typefaces.
    """

    environment: dict[str, str]
    code: tuple[str, ...]
    readable: tuple[str, ...]
    fonts: Path


def surroundings_of(project: Project) -> Surroundings:
    """What is the same for all runs of a project."""
    environment = clean_environment(project)
    # not what the user's PYTHONPATH adds, which a run does not have
    ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [place for place in sys.path if place not in ours]
    edited = others([*installed, *editable_folders()], project.root)
    # where this package is imported from, unless it is the project's own, which is laid out
    tool = [] if RUNNING in project.packages else running()
    code = [*tool, *(place for place in edited if place not in running())]
    models = [environment[name] for name in ("HF_HOME",) if name in environment]
    named = [str(project.root / user_path(place)) for place in project.settings.readable]
    return Surroundings(environment, tuple(code), (*named, *models), _fonts(project))


def _fonts(project: Project) -> Path:
    """A folder with the list of typefaces that Matplotlib makes of a machine, in seconds; each run
    gets a copy. It stays empty without Matplotlib.
    """
    version = library_versions(("matplotlib",)).get("matplotlib", "none")
    folder = project.build / "cache" / "fonts" / version
    with _ONE_MAKES_FONTS:
        if not list(folder.glob("fontlist*.json")):
            folder.mkdir(parents=True, exist_ok=True)
            environment = {**clean_environment(project), "MPLCONFIGDIR": str(folder)}
            run([sys.executable, "-P", "-c", MAKE_FONTS], environment=environment)
    return folder
