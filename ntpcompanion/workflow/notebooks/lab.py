"""JupyterLab on the notebooks of a project: how it is started, and what is its own.

`python -m ntpcompanion.workflow.notebooks.lab` sets up the environment of a host that starts
JupyterLab itself, such as Binder.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ntpcompanion.workflow.base.environment import fixed_environment, package_parents, running
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.project import Project

NEEDED = ("jupyterlab", "jupyterlab-myst")
# a double click on a text notebook opens a notebook
OVERRIDES: dict[str, dict[str, object]] = {
    "@jupyterlab/docmanager-extension:plugin": {
        "defaultViewers": {"markdown": "Jupytext Notebook", "myst": "Jupytext Notebook"}
    },
    # no window asks for news, and nothing is asked of the network
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}
# below the folder of an environment: what any JupyterLab there reads
VIEWERS = Path("share", "jupyter", "lab", "settings", "overrides.json")


def set_up(prefix: Path) -> None:
    """Let every JupyterLab of the environment at `prefix` open text notebooks by a click; jupytext,
    which is installed beside it, saves them. Other settings there are kept.
    """
    path = prefix / VIEWERS
    present = json.loads(path.read_text()) if path.is_file() else {}
    for name, values in OVERRIDES.items():
        present[name] = {**present.get(name, {}), **values}
    write_atomically(path, json.dumps(present, indent=1) + "\n")


def start_lab(project: Project, arguments: Sequence[str] = ()) -> int:
    """Run JupyterLab on a project, at its notebooks, until it is ended; its exit code.

    Settings, history and what else it keeps lie in `_build/lab`, nothing in the user's home.
    """
    if missing := [name for name in NEEDED if find_spec(name.replace("-", "_")) is None]:
        raise WorkflowError(
            f"Not installed: {', '.join(missing)}. Run `make lab`, which installs what is "
            f"missing, or `{sys.executable} -m pip install 'ntpcompanion[lab]'`."
        )
    environment = lab_environment(project)
    overrides = Path(environment["JUPYTER_CONFIG_DIR"], "labconfig/default_setting_overrides.json")
    write_atomically(overrides, json.dumps(OVERRIDES, indent=1) + "\n")
    folders = [f"--ServerApp.root_dir={project.root}"]
    folders.append(f"--ContentsManager.preferred_dir={project.notebooks}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container; else it would not start
        folders.append("--allow-root")
    command = [sys.executable, "-m", "jupyterlab", *folders, *arguments]
    if sys.platform == "win32":
        return subprocess.call(command, env=environment)
    # in the place of this process: Ctrl-C and the end of a terminal reach it as they should
    os.execve(command[0], command, environment)


def lab_environment(project: Project) -> dict[str, str]:
    """The environment of JupyterLab and of the kernels that it starts: that of its user, who has a
    screen and a home, with what is fixed for all runs, and folders of its own for what it keeps.
    """
    folder = project.build / "lab"
    kinds = ("config", "data", "runtime")
    folders = {f"JUPYTER_{name.upper()}_DIR": str(folder / name) for name in kinds}
    # each of these would lead JupyterLab, or a kernel, back to settings of the user
    foreign = {
        "JUPYTER_CONFIG_PATH", "JUPYTER_PATH", "JUPYTERLAB_DIR",
        "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR",
    }  # fmt: skip
    of_user = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    fixed = fixed_environment([*map(str, package_parents(project)), *running()])
    usual = {k: v for k, v in (of_user | fixed).items() if k not in foreign}
    caches = {"MPLCONFIGDIR": str(folder / "matplotlib"), "IPYTHONDIR": str(folder / "ipython")}
    return usual | folders | caches


if __name__ == "__main__":
    set_up(Path(sys.prefix))
