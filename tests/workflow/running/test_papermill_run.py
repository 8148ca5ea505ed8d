"""A notebook in a kernel of its own, and what is kept of it. How cells fail the drills show."""

import ast
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.running import papermill_run
from ntpcompanion.workflow.running.papermill_run import Cells, run_notebook, socket_folder
from ntpcompanion.workflow.running.start import Start, Surroundings
from tests.refusing import refused

KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
ASKED = """import json, os, sys
_ = open("text.txt").read()
from ipykernel.connect import get_connection_info
folders = [os.getcwd(), os.environ["JUPYTER_RUNTIME_DIR"], get_ipython().ipython_dir]
slow = [name for name in ("debugpy", "jedi") if sys.modules.get(name)]
transport = json.loads(get_connection_info())["transport"]
print([n, sys.executable, *folders, transport, slow, os.read(0, 1).decode()])"""
CELLS = [
    new_markdown_cell("# Title"),
    new_code_cell(
        "n = 1  # t = η² k at which it ends  [0.5, 10]", metadata={"tags": ["parameters"]}
    ),
    new_code_cell(ASKED),
]


def test_in_a_kernel(tmp_path, monkeypatch, capfd, caplog):
    installed = tmp_path / "share" / "kernels" / "python3"
    installed.mkdir(parents=True)
    spec = {"argv": ["no-such-python"], "display_name": "Python 3", "language": "python"}
    (installed / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "share"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "of the user")
    (tmp_path / "text.txt").write_text("read by a cell")
    (tmp_path / "fonts").mkdir()
    start = Start((), (), str(tmp_path))
    around, begun = Surroundings({**os.environ}, (), (), tmp_path / "fonts"), []
    source = new_notebook(cells=CELLS, metadata=KERNEL)
    with Lifeline() as lifeline:
        ballast = b"x" * 2**29  # must not count for the kernel that this process starts
        place = {"limit": 60.0, "lifeline": lifeline, "began": begun.append}
        ran = run_notebook(source, {"n": 3}, start, around, **place)
    assert ran.failure is None
    n, interpreter, folder, sockets, ipython, transport, slow, read = ast.literal_eval(
        ran.node.cells[-1].outputs[0].text
    )
    assert (n, interpreter, folder) == (3, sys.executable, str(tmp_path)), (
        "a kernel of that name that a user has installed is not used"
    )
    assert transport == ("tcp" if sys.platform == "win32" else "ipc")
    assert slow == [], "what serves people who type or debug is not imported"
    assert Path(ipython).is_relative_to(sockets), "nothing of the user's is run at its start"
    assert read == "", "nothing waits for an input that never comes"
    assert not Path(sockets).exists()
    assert (begun, capfd.readouterr()) == ([1, 2], ("", "")), "no progress bar"
    assert caplog.messages == [], "papermill does not say what it makes of comments"
    assert ran.log.read == {}, "what lies in its folder was laid out for it"
    assert "ipykernel" in ran.log.modules
    assert len(ran.cells.seconds) == 2
    assert all(0 <= each < 30 for each in ran.cells.seconds)
    assert 2**24 < ran.peak_memory < len(ballast)


@pytest.mark.skipif(sys.platform == "win32", reason="no sockets there")
def test_the_folder_of_sockets_is_short_private_and_removed_after_use(tmp_path, monkeypatch):
    monkeypatch.setattr(papermill_run.tempfile, "gettempdir", lambda: str(tmp_path / ("long" * 20)))
    with socket_folder() as folder:
        assert Path(folder).parent == Path("/tmp")
        assert Path(folder).stat().st_mode & 0o077 == 0
    assert not Path(folder).exists()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with refused(r"TMPDIR is '.*/long.*': sockets need a folder of at"):
        socket_folder()


@pytest.fixture
def client(monkeypatch):
    """A client whose bounds are small, and the outputs of its cell."""
    monkeypatch.setattr(papermill_run, "LINES", 3)
    monkeypatch.setattr(papermill_run, "CHARACTERS", 20)
    monkeypatch.setattr(papermill_run, "OUTPUTS", 2)
    node = new_notebook(cells=[new_code_cell("")])
    client = papermill_run.BoundedClient(
        SimpleNamespace(nb=node, autosave_cell=lambda: None), Cells()
    )
    client.reset_execution_trackers()
    client.clear_before_next_output = False
    return client


def sent(client, kind, **content):
    message = {"msg_type": kind, "header": {"msg_type": kind}, "parent_header": {}}
    message["content"] = content
    client.process_message(message, client.nb.cells[0], 0)


def printed(client, text, name="stdout"):
    sent(client, "stream", name=name, text=text)


def texts(client):
    return [out.get("text") for out in client.nb.cells[0].outputs]


def test_the_first_lines_of_each_stream_and_of_a_line_the_first_letters_are_kept(client):
    for text in ("1\n2\n", "3\n4\n", "5\n"):
        printed(client, text)
    for text in ("x" * 100, "y"):
        printed(client, text, "stderr")
    assert texts(client) == ["1\n2\n", "3\n", "x" * 20]


def test_the_first_outputs_are_kept_and_all_measurements_and_errors(client):
    for number in range(4):
        sent(client, "display_data", data={"text/plain": str(number)}, metadata={})
    sent(client, "display_data", data={MEASUREMENT_MIME: {}, "text/plain": "5"}, metadata={})
    sent(client, "error", ename="E", evalue="", traceback=[])
    kept = [out.get("data", {}).get("text/plain") for out in client.nb.cells[0].outputs]
    assert kept == ["0", "1", "5", None]


def test_what_is_cleared_makes_space_for_what_comes_next(client):
    printed(client, "1\n2\n3\n4\n")
    sent(client, "clear_output", wait=True)
    assert (texts(client), client._is_cut) == (["1\n2\n3\n"], True), "until something is shown"
    printed(client, "5\n")
    assert (texts(client), client._is_cut) == (["5\n"], False)
    sent(client, "clear_output", wait=False)
    assert texts(client) == []


def test_a_line_ends_at_its_line_feed_and_nowhere_else(client):
    printed(client, "1%\r2%\r3%\r4%\rdone\n")
    assert texts(client) == ["1%\r2%\r3%\r4%\rdone\n"]


def test_measurements_take_no_share(client):
    for _ in range(3):
        sent(client, "display_data", data={MEASUREMENT_MIME: {}}, metadata={})
    sent(client, "display_data", data={"text/plain": "shown"}, metadata={})
    assert client.nb.cells[0].outputs[-1].data == {"text/plain": "shown"}


@pytest.mark.parametrize(("text", "number"), [("1\n2\n3\n4\n", 1), ("1\n", 0)])
def test_that_something_was_left_out_is_said(client, monkeypatch, text, number):
    monkeypatch.setattr(
        papermill_run.PapermillNotebookClient,
        "execute_cell",
        lambda *_, **__: printed(client, text),
    )
    client.execute_cell(client.nb.cells[0], 0)
    assert len(client.cells.notes) == number
    assert (texts(client)[-1] == "\n… and more, which are not kept.\n") == bool(number)
