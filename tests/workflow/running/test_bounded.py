"""What is kept of the outputs of a cell."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from ntpcompanion.workflow.running import bounded


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(text, **data):
    return new_output("display_data", {"text/plain": text, **data})


ERROR = new_output("error", ename="E", evalue="", traceback=[])


@pytest.mark.parametrize(
    ("outputs", "kept"),
    [
        (
            [*map(printed, ("1\n2\n", "3\n4\n", "5\n")), printed("to stderr\n", "stderr")],
            ["1\n2\n", "3\n", "to stderr\n", "\n… and 4 characters more, which are not kept.\n"],
        ),
        ([printed("x" * 20)], ["x" * 20]),
        (
            [printed("x" * 100), printed("y")],
            ["x" * 20, "\n… and 81 characters more, which are not kept.\n"],
        ),
        (
            [*map(shown, "012"), shown("3", **{MEASUREMENT_MIME: {}}), ERROR],
            ["0", "1", "3", "E", "\n… and 1 outputs more, which are not kept.\n"],
        ),
    ],
    ids=["lines", "few", "no end of a line", "outputs"],
)
def test_the_first_are_kept_and_what_was_left_out_is_said(monkeypatch, outputs, kept):
    for name, limit in {"LINES": 3, "CHARACTERS": 20, "OUTPUTS": 2}.items():
        monkeypatch.setattr(bounded, name, limit)
    node = new_notebook(cells=[new_code_cell("1"), new_code_cell("2", outputs=outputs)])
    notes = bounded.bound(node)
    assert [
        out.get("text") or out.get("ename") or out["data"]["text/plain"]
        for out in node.cells[1].outputs
    ] == kept
    assert len(notes) == ("not kept" in kept[-1])
    assert all(note.startswith("code cell 2 showed more than 3 lines or 2") for note in notes)
