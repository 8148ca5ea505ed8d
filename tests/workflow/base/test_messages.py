import io
import json
import sys

import pytest

from ntpcompanion.workflow.base.messages import MARK, heard, say


def test_a_message_leaves_at_once_and_is_told_from_other_lines(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    say({"cell": 1, "of": 2})
    lines = pipe.getvalue().decode().split("\n")
    assert [heard(line) for line in [*lines, '{"cell": 1}', "ntp {}"]] == [
        {"cell": 1, "of": 2},
        None,
        None,
        None,
    ]


DONE = {"done": {"cell_seconds": [0.1], "peak_memory": 1, "read": {}}}


def test_what_a_kernel_printed_before_a_message_is_left_out():
    assert heard("half a line" + MARK + json.dumps(DONE)) == DONE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        "3",
        "[1]",
        "{}",
        '{"cell": 1}',
        '{"cell": "1", "of": 2}',
        '{"done": 3}',
        '{"done": {}}',
        '{"failed": {"cell": 1}}',
        '{"done": {"cell_seconds": 1, "peak_memory": 1, "read": {}}}',
        '{"cell": 1, "of": 2, "done": {}}',
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_message_is_left_out(text):
    assert heard(MARK + text) is None
