"""The toy project, for the tests of this folder, and ways to run its notebooks without a kernel."""

import copy
import os
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from ntpcompanion.workflow.base.tracing import read_events
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.claims.measurement import Measurement
from ntpcompanion.workflow.running import execute as runner
from ntpcompanion.workflow.running.papermill_run import Cells, Ran
from tests.toy import executed, executed_once, importable, no_kernel, toy  # noqa: F401
from tests.workflow.halves import PLAN, STUDY

MEASURED = {"coin": {"toy.half": 0.5, "toy.powers": [1.0, 2.0, 4.0]}, "words": {"toy.words": 3.0}}
INJECTED = {
    "coin": "# Parameters\nn = 1000\nseed = 0\n",
    "words": '# Parameters\ntext = "words.txt"\nseed = 0\n',
}


def executed_by_hand(name, source):
    """The notebook of the toy project as a run leaves it, with the numbers of `MEASURED`."""
    node = copy.deepcopy(source)
    node.metadata["language_info"] = {"name": "python"}
    place = 1 + next(i for i, cell in enumerate(node.cells) if cell.cell_type == "code")
    node.cells.insert(
        place, nbformat.v4.new_code_cell(INJECTED[name], metadata={"tags": ["injected-parameters"]})
    )
    for claim, value in MEASURED[name].items():
        data = {
            MEASUREMENT_MIME: Measurement.of(claim, value).to_json(),
            "text/html": claim,
            "text/plain": claim,
        }
        node.cells[-1].outputs.append(nbformat.v4.new_output("display_data", data))
    return node


@pytest.fixture
def instant(toy, monkeypatch):  # noqa: F811
    """The toy project, whose notebooks are executed by hand, at once."""

    def in_kernel(run, start, around, progress, lifeline):
        for cell in (1, 2):
            progress(cell)
        ran = executed_by_hand(run.notebook.name, run.notebook.node)
        return Ran(ran, Cells(number=2, seconds=[0.1, 0.2]), 2**25, read_events(Path("none")))

    monkeypatch.setattr(runner, "_in_kernel", in_kernel)
    return toy


@pytest.fixture
def displayed(monkeypatch, tmp_path):
    """IPython in this process, and a function: the data of what was displayed in it so far."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    with capture_output() as captured:
        yield lambda: [output.data for output in captured.outputs]
    InteractiveShell.clear_instance()


@pytest.fixture
def repository():
    """A function: make a folder a repository of git whose one commit has the named paths; git in
    it.
    """
    if shutil.which("git") is None:
        pytest.skip("no git on this machine")

    def make(folder, *paths):
        environment = {key: text for key, text in os.environ.items() if key[:4] != "GIT_"}
        names = ["-c", "user.name=A", "-c", "user.email=a@example.org"]

        def call(*arguments):
            done = subprocess.run(
                ["git", *names, *arguments],
                cwd=folder,
                env=environment,
                check=True,
                capture_output=True,
                text=True,
            )
            return done.stdout.strip()

        call("init", "--quiet")
        if paths:
            call("add", *paths)
        call("commit", "--quiet", "--allow-empty", "-m", "First")
        return call

    return make


@pytest.fixture
def study(importable):  # noqa: F811 (the fixture above)
    """A toy project whose one plan, `halves`, runs the experiment `study` at three points."""
    importable.write_experiment("study", STUDY)
    importable.plan_records(halves=PLAN)
    return importable
