"""What a worker does with its notebook. How cells fail is shown by the drills."""

import ast
import json
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ntpcompanion.workflow.running import worker
from ntpcompanion.workflow.running.job import Cell, Job, parse

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
CELLS = [
    new_markdown_cell("# Title"),
    new_code_cell("n = 1", metadata={"tags": ["parameters"]}),
    new_markdown_cell("Prose."),
    new_code_cell("n"),
]
NOTEBOOK = nbformat.writes(new_notebook(cells=CELLS, metadata=KERNEL))
ASKED = """import json, os, sys
_ = open("text.txt").read()
from ipykernel.connect import get_connection_info
folders = [os.getcwd(), os.environ["JUPYTER_RUNTIME_DIR"], get_ipython().ipython_dir]
slow = [name for name in ("debugpy", "jedi") if sys.modules.get(name)]
print([n, sys.executable, *folders, json.loads(get_connection_info())["transport"], slow])"""
BEGUN = [Cell(1, 2), Cell(2, 2)]


def job_of(folder, /, **changes):
    """The notebook above as a job in a folder."""
    facts = {"notebook": NOTEBOOK, "parameters": {"n": 3}, "folder": str(folder)}
    facts |= {"import_path": [], "readable": []}
    fonts, output = folder / "fonts", str(folder / "executed.ipynb")
    fonts.mkdir(exist_ok=True)
    facts |= {"fonts": str(fonts), "cell_timeout": 9.0, "output": output}
    facts["sockets"] = tempfile.mkdtemp(prefix="ntp-")  # short, and removed by the worker
    return Job(**{**facts, **changes})


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    # a worker sets them for itself
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_PATH", "IPYTHONDIR"):
        monkeypatch.setenv(name, "of the user")


@pytest.fixture
def said(capfd):
    """A function: the messages to the runner so far."""
    return lambda: [
        message for line in capfd.readouterr().out.split("\n") if (message := parse(line))
    ]


def test_in_a_kernel(tmp_path, monkeypatch, capfd):
    installed = tmp_path / "share" / "kernels" / "python3"
    installed.mkdir(parents=True)
    spec = {"argv": ["no-such-python"], "display_name": "Python 3", "language": "python"}
    (installed / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "share"))
    source = nbformat.writes(
        new_notebook(cells=[*CELLS[:3], new_code_cell(ASKED)], metadata=KERNEL)
    )
    (tmp_path / "text.txt").write_text("read by a cell")
    node, done = worker.execute(job_of(tmp_path, notebook=source, cell_timeout=60.0))
    n, interpreter, folder, sockets, ipython, transport, slow = ast.literal_eval(
        node.cells[-1].outputs[0].text
    )
    assert (n, interpreter, folder) == (3, sys.executable, str(tmp_path)), (
        "a kernel of that name that a user has installed is not used"
    )
    assert transport == ("tcp" if sys.platform == "win32" else "ipc")
    assert slow == [], "what serves people who type or debug is not imported"
    assert Path(ipython).is_relative_to(sockets), "nothing of the user's is run at its start"
    assert not Path(sockets).exists()
    written = capfd.readouterr()
    assert [message for line in written.out.split("\n") if (message := parse(line))] == BEGUN
    assert "Executing" not in written.err, "no progress bar: the runner tells of cells"
    assert done.read == {}, "what lies in its folder was laid out for it"
    assert "ipykernel" in done.modules
    assert len(done.cell_seconds) == 2
    assert all(0 <= each < 30 for each in done.cell_seconds)
