import io
import sys

import pytest

from ntpcompanion.workflow.base.messages import MARK, Cell, Done, Failed, parse, send


def test_a_message_leaves_at_once_and_is_told_from_other_lines(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    send(Cell(1, 2))
    lines = pipe.getvalue().decode().split("\n")
    assert [parse(line) for line in [*lines, '{"cell": 1}', "ntp {}"]] == [
        Cell(1, 2),
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    "message",
    [
        Cell(1, 2),
        Done([0.1, 2], 1, {"a": ["b"]}, ["c"], ["d"], ["e"], ["f"]),
        Failed(1, "f()", "E: x\n", "\u2028\x1e", ["g"]),
    ],
)
def test_what_a_kernel_printed_before_a_message_is_left_out(capsys, message):
    send(message)
    assert parse("half a line" + capsys.readouterr().out) == message


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
        '{"cell": 1, "of": 2.5}',
        '{"cell_seconds": 1, "peak_memory": 1, "read": {}}',
        '{"cell_seconds": [1], "peak_memory": 1, "read": {"a": "b"}}',
        '{"cell": 1, "source": "", "error": ""}',
        '{"cell": 1, "of": 2, "read": {}}',
    ],
    ids=lambda text: text[:30],
)
def test_what_is_no_message_is_left_out(text):
    assert parse(MARK + text) is None
