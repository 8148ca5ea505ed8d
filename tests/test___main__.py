# ruff: noqa: F811  # an argument has the name of its fixture
import subprocess
import sys

import pytest

from tests.toy import toy  # noqa: F401

FOR_JUPYTERLAB = """
import atexit, sys
left_out = {"jupyter_server", "isoduration", "arrow"}
atexit.register(lambda: print("jupytext" in sys.modules, *map(sys.modules.get, left_out)))
import ntpcompanion.__main__ as command
command.main()
"""


@pytest.mark.parametrize(
    ("words", "reads_notebooks"), [(["list"], True), (["sweep", "halves", "--help"], False)]
)
def test_a_command_loads_nothing_for_jupyterlab_and_reads_notebooks_if_it_must(
    toy, words, reads_notebooks
):
    command = [sys.executable, "-P", "-c", FOR_JUPYTERLAB, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=toy.project.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == f"{reads_notebooks} None None None"


INTERRUPTED_WHILE_LOADING = """
import sys
class CtrlC:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
import ntpcompanion.__main__ as command
command.main()
"""


def test_interrupted_while_packages_are_loaded_it_says_so():
    command = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "interrupted before anything was begun.\n"


@pytest.mark.parametrize("missing", ["typer", "pydantic", "jupytext"])
def test_without_its_packages_the_command_names_the_extra(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; import ntpcompanion.__main__ as command; "
        "command.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"The command needs the package {missing!r}, which is not installed: "
        "pip install 'ntpcompanion[workflow]'.\n"
    )
