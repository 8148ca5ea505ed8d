"""A chapter in JupyterLab: opened, changed, run and saved by the requests that a browser sends."""

import os
import sys
from difflib import unified_diff

import pytest

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.notebooks.lab import SERVER, set_up
from ntpcompanion.workflow.notebooks.saving import cells
from tests.copies import copy_checkout
from tests.lab_server import started
from tests.toy import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a server is ended by a signal"),
]
if not os.environ.get("CI"):
    pytest.importorskip("jupyterlab", reason="no JupyterLab here; `make test` installs it")

CHAPTER = "notebooks/uniform_convergence.md"  # short


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("lab") / "a checkout")


@pytest.fixture
def environment(checkout):
    kept = {name: text for name, text in os.environ.items() if "JUPYTER" not in name}
    return kept | {"PYTHONPATH": str(checkout)}


def changed(before, after):
    lines = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


def test_a_student_changes_a_chapter_and_runs_it(checkout, environment):
    command = [sys.executable, "-m", "ntpcompanion", "lab", "--no-browser", "--port", "0"]
    runtime = checkout / "_build" / "lab" / "runtime"
    before = (checkout / CHAPTER).read_text(encoding="utf-8")
    with started(command, checkout, environment, runtime) as lab:
        content = lab.open(CHAPTER)
        parameters = next(cell for cell in content["cells"] if cell["cell_type"] == "code")
        assert "sphere_dim = " in parameters["source"]
        parameters["source"] += "\nsphere_dim = 60"
        content["cells"].append(
            {"cell_type": "code", "source": "import os; print(os.getcwd())", "metadata": {}}
            | {"outputs": [], "execution_count": None}
        )
        shown = lab.run(CHAPTER, content)
        lab.save(CHAPTER, content)
    errors = [message["content"] for message in shown if message["msg_type"] == "error"]
    assert errors == []
    cards = [m for m in shown if MEASUREMENT_MIME in m["content"].get("data", {})]
    assert cards
    assert all("text/html" in card["content"]["data"] for card in cards)
    assert shown[-2]["content"]["text"].strip() == str(checkout / "notebooks")
    after = (checkout / CHAPTER).read_text(encoding="utf-8")
    assert [line for line in changed(before, after) if line[1:].strip("`")] == [
        "+sphere_dim = 60", "+```{code-cell} ipython3", "+import os; print(os.getcwd())",
    ]  # fmt: skip


def bare(root, *options):
    """The command of a JupyterLab that was not started by us."""
    usual = [f"--ServerApp.root_dir={root}", "--no-browser", "--allow-root", "--port=0"]
    return [sys.executable, "-m", "jupyterlab", *usual, *options]


@pytest.fixture
def elsewhere(environment, tmp_path):
    """The environment in which it keeps its own in a folder that is not the checkout."""
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "RUNTIME")}
    return environment | folders


def test_after_make_lab_a_jupyterlab_from_another_folder_saves_and_runs_as_well(
    checkout, elsewhere, tmp_path
):
    before = (ROOT / CHAPTER).read_bytes()
    (checkout / CHAPTER).write_bytes(before)
    set_up(tmp_path)  # which `make lab` does to .venv
    settings = {"JUPYTER_CONFIG_PATH": str((tmp_path / SERVER).parent), "OMP_NUM_THREADS": "1"}
    path = f"{checkout.name}/{CHAPTER}"
    command = bare(checkout.parent)
    with started(command, tmp_path, elsewhere | settings, tmp_path / "RUNTIME") as lab:
        content = lab.open(path)
        lab.save(path, content)
        assert (checkout / CHAPTER).read_bytes() == before
        shown = lab.run(path, content)
    assert not [message["content"] for message in shown if message["msg_type"] == "error"]
    assert any(MEASUREMENT_MIME in m["content"].get("data", {}) for m in shown)
    assert "Recorded run " in str(shown)


def test_a_jupyterlab_of_another_environment_lays_out_anew_and_loses_nothing(
    checkout, elsewhere, tmp_path
):
    before = (ROOT / CHAPTER).read_text(encoding="utf-8")
    (checkout / CHAPTER).write_text(before, encoding="utf-8")
    # also where `make lab` has set up this one
    jupytext = "--ServerApp.contents_manager_class=jupytext.TextFileContentsManager"
    command = bare(checkout, jupytext)
    with started(command, tmp_path, elsewhere, tmp_path / "RUNTIME") as lab:
        lab.save(CHAPTER, lab.open(CHAPTER))
    after = (checkout / CHAPTER).read_text(encoding="utf-8")
    assert after != before, "the page says that it is laid out anew"
    assert cells(after) == cells(before)
