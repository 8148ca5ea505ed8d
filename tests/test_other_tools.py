"""What book/reproduce.md says of other tools: each row of its table, typed."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
NOTEBOOK = ROOT / "notebooks" / "uniform_convergence.md"  # short, and without records
pytestmark = pytest.mark.slow


def typed(*command, folder=ROOT):
    words = [str(BIN / command[0]), *map(str, command[1:])]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=900)


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    """The notebook as .ipynb in a folder of the checkout, from which kernels find it."""
    target = tmp_path_factory.mktemp("converted") / "converted.ipynb"
    done = typed("jupytext", "--to", "ipynb", "-o", target, NOTEBOOK)
    assert done.returncode == 0, done.stderr
    return target


def test_papermill_refuses_a_text_notebook():
    done = typed("papermill", NOTEBOOK, "-")
    assert done.returncode != 0


def test_jupytext_converts_code_and_parameters(converted):
    made = nbformat.read(converted, as_version=4)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert "parameters" in code[0].metadata.tags
    assert len(code) == NOTEBOOK.read_text(encoding="utf-8").count("```{code-cell}")


def test_papermill_runs_what_was_converted(converted, tmp_path):
    done = typed("papermill", "--cwd", ROOT, converted, tmp_path / "run.ipynb")
    assert done.returncode == 0, done.stderr[-2000:]
    made = nbformat.read(tmp_path / "run.ipynb", as_version=4)
    shown = [data for cell in made.cells for data in cell.get("outputs", [])]
    assert shown
    assert not any(output.output_type == "error" for output in shown)


def test_jupyter_book_alone_stops(tmp_path):
    done = typed("jupyter-book", "build", ".", "--path-output", tmp_path)
    assert done.returncode != 0
    assert "jupyter-book toc from-project" in done.stdout + done.stderr  # no contents here
