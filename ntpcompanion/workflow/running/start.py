"""How a process of a run begins: with an environment of its own, a log of what it reads elsewhere,
and rules that close all other places. What all runs of a command have in common.
"""

import contextlib
import json
import os
import shutil
import sys
import sysconfig
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import ntpcompanion
from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.environment import (
    clean_environment,
    fixed_environment,
    homes,
    running,
)
from ntpcompanion.workflow.base.files import user_path
from ntpcompanion.workflow.base.processes import run
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import editable_folders, library_versions
from ntpcompanion.workflow.running import confine
from ntpcompanion.workflow.running.layout import Layout

# where programs, libraries, devices and the settings of a machine lie
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/proc", "/sys",
    "/dev", "/run", "/nix", "/gnu", "/snap", "/var/lib", "/var/cache/fontconfig", "/System",
    "/Library",
)  # fmt: skip
RUNNING = Path(ntpcompanion.__file__).resolve().parent
_ONE_MAKES_FONTS = threading.Lock()
# not imported: it would load the kernel here
KERNEL = Path(__file__).with_name("kernel.py")
# what every interpreter runs at its start, with the modules `tracing` and `kernel` beside it
AT_START = """import sys
import ntp_tracing
folder, sources, read, log = {arguments!r}
ntp_tracing.import_from_sources(sources)
ntp_tracing.record_reads(ntp_tracing.outside(read), log)
sys.path[:] = [place for place in sys.path if place != folder]
"""


@dataclass(frozen=True)
class Start:
    """What a run may use: the folders from which it imports, its own before others; further places
    that it may read; and the folder in which it lives.
    """

    import_path: tuple[str, ...]
    readable: tuple[str, ...]
    folder: str

    @classmethod
    def of(cls, layout: Layout, around: "Surroundings", readable: Iterable[str]) -> "Start":
        """What a run may use that has a folder of its own, and these places besides."""
        code = (*map(str, layout.import_path), *around.code)
        return cls(code, (*around.readable, *readable), str(layout.folder))

    def command(self, scratch: Path, *program: str) -> list[str]:
        """The command that starts a Python program of the run, closed to what is not named."""
        paths = [*SYSTEM, *interpreter(), *self.import_path, *self.readable]
        rules = json.dumps([*paths, self.folder, str(scratch)])
        return [sys.executable, "-I", "-S", confine.__file__, rules, sys.executable, "-P", *program]

    def environment(self, scratch: Path, log: Path) -> dict[str, str]:
        """Write the start folder below `scratch`, a new private folder; the variables with which
        the run begins.
        """
        folder = scratch / "start"
        folder.mkdir()
        shutil.copyfile(tracing.__file__, folder / "ntp_tracing.py")
        shutil.copyfile(KERNEL, kernel_file(scratch))
        known = [place for place in SYSTEM if place != "/dev"] + ["/dev/null", *interpreter()]
        arguments = (str(folder), [self.folder], [*known, self.folder, str(scratch)], str(log))
        (folder / "sitecustomize.py").write_text(AT_START.format(arguments=arguments))
        temporary, home = scratch / "tmp", scratch / "home"
        temporary.mkdir()
        home.mkdir()
        variables = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))
        path = [str(folder), *self.import_path]
        return {**fixed_environment(path), **homes(home), **variables}


def kernel_file(scratch: Path) -> Path:
    """The program that is the kernel, in the start folder of a run."""
    return scratch / "start" / "ntp_kernel.py"


def interpreter() -> list[str]:
    """The folders of this interpreter and of its installed packages."""
    paths = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.executable, *filter(None, paths)]
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return list(
        dict.fromkeys([*folders, os.path.realpath(sys.executable), *filter(None, libraries)])
    )


def others(import_path: Iterable[str], root: Path) -> list[str]:
    """The folders of an import path in which code outside of the project lies: what was installed
    to be edited.
    """
    below = os.path.join(os.path.realpath(root), "")
    installed = tracing.outside(interpreter())
    folders = [os.path.realpath(place) for place in import_path if place]
    return [
        place
        for place in dict.fromkeys(folders)
        if installed(place)
        and not below.startswith(os.path.join(place, ""))
        and not os.path.join(place, "").startswith(below)
    ]


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
    environment = clean_environment(project)
    # not what the user's PYTHONPATH adds, which a run does not have
    ours = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [place for place in sys.path if place not in ours]
    edited = others([*installed, *editable_folders()], project.root)
    # where this package is imported from, unless it is the project's own, which is laid out
    tool = [] if RUNNING in project.packages else running()
    code = [*tool, *(place for place in edited if place not in running())]
    models = [environment[name] for name in ("HF_HOME",) if name in environment]
    for folder in models:
        # the first model that a run converts is read from there: a place can be named to the
        # system only if it exists
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)
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
            program = "import matplotlib.font_manager"
            run([sys.executable, "-P", "-c", program], environment=environment)
    return folder
