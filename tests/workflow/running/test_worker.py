"""What a worker does with its notebook: once in a kernel, else with papermill in the hands of the
test.
"""

import ast
import json
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from papermill.exceptions import PapermillExecutionError

from ntpcompanion.workflow.running import worker
from ntpcompanion.workflow.running.job import Cell, Done, Failed, Job, parse

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
CELLS = [
    new_markdown_cell("# Title"),
    new_code_cell("n = 1", metadata={"tags": ["parameters"]}),
    new_markdown_cell("Prose."),
    new_code_cell("n"),
]
NOTEBOOK = nbformat.writes(new_notebook(cells=CELLS, metadata=KERNEL))
INJECTED = new_code_cell("n = 3", metadata={"tags": ["injected-parameters"]})
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


@pytest.fixture
def papermill_that(monkeypatch):
    """A function: papermill starts and ends the cells in order, the injected one among them, and
    this is what the last one does.
    """

    def install(last):
        def execute_notebook(node, output, parameters, on_cell_start, on_cell_executed, **_):
            node.cells.insert(2, INJECTED)
            for index, cell in enumerate(node.cells):
                on_cell_start(cell=cell, cell_index=index)
                if cell is node.cells[-1]:
                    last(cell)
                if cell.cell_type == "code":
                    on_cell_executed(cell=cell, cell_index=index, execute_reply={})
            return node

        monkeypatch.setattr(worker.papermill, "execute_notebook", execute_notebook)

    return install


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
    done = worker.execute(job_of(tmp_path, notebook=source, cell_timeout=60.0))
    n, interpreter, folder, sockets, ipython, transport, slow = ast.literal_eval(
        done.node.cells[-1].outputs[0].text
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
    assert done.log.read == {}, "what lies in its folder was laid out for it"
    assert {"ipykernel", "numpy"} <= done.log.modules | {"numpy"}
    assert len(done.cell_seconds) == 2
    assert all(0 <= each < 30 for each in done.cell_seconds)


def test_the_memory_is_unknown_on_windows(monkeypatch):
    monkeypatch.setattr(worker, "resource", None)
    assert worker._peak_memory() == 0


def raising(error):
    """What a cell does that ends papermill with this error."""

    def last(cell):
        raise error

    return last


def leaving(cell):
    """What a cell does that calls `sys.exit()`."""
    cell.outputs = [new_output("error", ename="SystemExit", evalue="")]


@pytest.mark.parametrize(
    ("last", "error", "traceback"),
    [
        (
            raising(PapermillExecutionError(4, 2, "n", "ValueError", "no", ["in f", "in g"])),
            "ValueError: no",
            "in f\nin g",
        ),
        (raising(CellTimeoutError("", 9.0, "n")), "the cell ran longer than its limit of 9 s", ""),
        (raising(DeadKernelError("died")), "the kernel died; the machine may be out of memory", ""),
        (leaving, "SystemExit: the cell ended the notebook early", ""),
    ],
    ids=["raises", "hangs", "dies", "leaves"],
)
def test_how_a_cell_failed_is_told(papermill_that, said, tmp_path, last, error, traceback):
    papermill_that(last)
    with pytest.raises(worker.CellFailed) as caught:
        worker.execute(job_of(tmp_path))
    assert caught.value.failed == Failed(2, "n", error, traceback)
    assert said() == BEGUN


@pytest.fixture
def job(tmp_path, monkeypatch):
    """The job of a worker in this process, where nobody waits for the end of the runner."""
    monkeypatch.setattr(worker, "end_with_parent", lambda grace: None)
    job_of(tmp_path).write(tmp_path / "job.json")
    return tmp_path / "job.json"


def test_what_the_runner_hears_in_the_end(job, papermill_that, said):
    papermill_that(lambda cell: None)
    assert worker.main(str(job)) == 0
    assert [type(message) for message in said()] == [Cell, Cell, Done]
    assert nbformat.read(job.with_name("executed.ipynb"), as_version=4).cells[2].source == "n = 3"
    job.with_name("executed.ipynb").unlink()
    job_of(job.parent).write(job)
    papermill_that(raising(DeadKernelError("died")))
    assert worker.main(str(job)) == 1
    failed = Failed(2, "n", "the kernel died; the machine may be out of memory", "")
    assert said() == [*BEGUN, failed]
    assert not job.with_name("executed.ipynb").exists()


def test_a_notebook_that_cannot_be_written_ends_the_worker_with_a_sentence(
    job, papermill_that, said
):
    papermill_that(lambda cell: None)
    job.with_name("executed.ipynb").mkdir()
    with pytest.raises(SystemExit, match=r"Could not write .*executed.ipynb"):
        worker.main(str(job))
    assert said() == BEGUN
