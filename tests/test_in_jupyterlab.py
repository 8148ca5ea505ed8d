"""A chapter in JupyterLab: opened, changed, run and saved by the requests that a browser sends."""

import os
import sys

import jupytext
import pytest

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
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


def cells(text):
    """Kind, source and metadata of each cell of a text notebook."""
    node = jupytext.reads(text, fmt="md:myst")
    return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in node.cells]


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
    assert [cell for cell in cells(after) if cell not in cells(before)] == [
        ("code", parameters["source"], {"tags": ["parameters"]}),
        ("code", "import os; print(os.getcwd())", {}),
    ]
    assert "records: [" in after, "what the notebook declares stays in its front matter"


def bare(root, *options):
    """The command of a JupyterLab that was not started by us."""
    usual = [f"--ServerApp.root_dir={root}", "--no-browser", "--allow-root", "--port=0"]
    return [sys.executable, "-m", "jupyterlab", *usual, *options]


@pytest.fixture
def elsewhere(environment, tmp_path):
    """The environment in which it keeps its own in a folder that is not the checkout."""
    folders = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "RUNTIME")}
    return environment | folders


def test_a_jupyterlab_from_another_folder_saves_and_runs_as_well(checkout, elsewhere, tmp_path):
    before = (ROOT / CHAPTER).read_text(encoding="utf-8")
    (checkout / CHAPTER).write_text(before, encoding="utf-8")
    path = f"{checkout.name}/{CHAPTER}"
    command = bare(checkout.parent)
    settings = {"OMP_NUM_THREADS": "1"}
    with started(command, tmp_path, elsewhere | settings, tmp_path / "RUNTIME") as lab:
        content = lab.open(path)
        lab.save(path, content)
        assert cells((checkout / CHAPTER).read_text(encoding="utf-8")) == cells(before)
        shown = lab.run(path, content)
    assert not [message["content"] for message in shown if message["msg_type"] == "error"]
    assert any(MEASUREMENT_MIME in m["content"].get("data", {}) for m in shown)
    assert "Recorded run " in str(shown)
