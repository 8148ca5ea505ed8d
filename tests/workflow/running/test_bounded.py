"""What is kept of the outputs of a cell, without a kernel."""

from types import SimpleNamespace

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.running import worker


@pytest.fixture
def client(monkeypatch):
    """A client whose bounds are small, and the outputs of its cell."""
    monkeypatch.setattr(bounded, "LINES", 3)
    monkeypatch.setattr(bounded, "CHARACTERS", 20)
    monkeypatch.setattr(bounded, "OUTPUTS", 2)
    node = new_notebook(cells=[new_code_cell("")])
    client = worker.BoundedClient(SimpleNamespace(nb=node, autosave_cell=lambda: None))
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


@pytest.mark.parametrize(("text", "number"), [("1\n2\n3\n4\n", 1), ("1\n", 0)])
def test_that_something_was_left_out_is_said(client, monkeypatch, text, number):
    monkeypatch.setattr(
        worker.PapermillNotebookClient, "execute_cell", lambda *_, **__: printed(client, text)
    )
    client.execute_cell(client.nb.cells[0], 0)
    assert len(client.nb.metadata.get(worker.NOTES, [])) == number
    assert (texts(client)[-1] == "\n… and more, which are not kept.\n") == bool(number)
