"""What book/reproduce.md says of other tools that run a notebook, typed."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
NOTEBOOK = ROOT / "notebooks" / "uniform_convergence.md"  # short, and shows a record
pytestmark = pytest.mark.slow


def typed(*command, folder=ROOT):
    words = [str(BIN / command[0]), *map(str, command[1:])]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=900)


def outputs(path):
    """What the cells of an executed notebook show; none of it is an error."""
    cells = nbformat.read(path, as_version=4).cells
    shown = [output for cell in cells for output in cell.get("outputs", [])]
    assert not any(output.output_type == "error" for output in shown)
    return shown


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """The notebook as .ipynb in a folder outside of the checkout."""
    target = tmp_path_factory.mktemp("not the checkout") / "converted.ipynb"
    done = typed("jupytext", "--to", "ipynb", "-o", target, NOTEBOOK)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize(
    "command",
    [
        ["papermill", "converted.ipynb", "out.ipynb"],
        ["jupyter", "nbconvert", "--execute", "--to=notebook", "--output=out", "converted.ipynb"],
    ],
    ids=["papermill", "nbconvert"],
)
def test_what_was_converted_runs_with_its_record_and_its_cards(converted, command):
    done = typed(*command, folder=converted.parent)
    assert done.returncode == 0, done.stderr[-2000:]
    shown = outputs(converted.with_name("out.ipynb"))
    assert any(MEASUREMENT_MIME in output.get("data", {}) for output in shown)
    assert "Recorded run " in str(shown)
