"""What is kept of the outputs of a cell."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.running import bounded


@pytest.fixture
def kept(monkeypatch):
    """A function: the texts and data that small bounds leave of some outputs, and the notes."""
    for name, bound in {"LINES": 3, "CHARACTERS": 20, "OUTPUTS": 2}.items():
        monkeypatch.setattr(bounded, name, bound)

    def cut(*outputs):
        cell = new_code_cell("", outputs=[*outputs])
        injected = new_code_cell("", metadata={"tags": ["injected-parameters"]})
        notes = bounded.bound_outputs(new_notebook(cells=[injected, cell]))
        return [
            out.get("text") or out.get("data", {}).get("text/plain") for out in cell.outputs
        ], notes

    return cut


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(text, mime="text/plain"):
    return new_output("display_data", {mime: {}, "text/plain": text})


def test_the_first_lines_of_each_stream_are_kept_and_what_is_left_out_is_said(kept):
    lines = [printed(text) for text in ("1\n2\n", "3\n4\n", "5\n")]
    texts, (note,) = kept(*lines, shown("a"), printed("to stderr\n", "stderr"))
    said = "\n… and 4 characters more, which are not kept.\n"
    assert texts == ["1\n2\n", "3\n", "a", "to stderr\n", said]
    assert note.startswith("code cell 1 showed more than 3 lines or 2 outputs: 4 characters are")
    assert kept(printed("1\n")) == (["1\n"], [])


def test_a_line_without_end_is_cut(kept):
    assert kept(printed("x" * 100), printed("y"))[0][:-1] == ["x" * 20]


def test_the_first_outputs_are_kept_and_all_measurements(kept):
    outputs = [*map(shown, "0123"), shown("5", MEASUREMENT_MIME)]
    texts, _ = kept(*outputs)
    assert texts == ["0", "1", "5", "\n… and 2 outputs more, which are not kept.\n"]
