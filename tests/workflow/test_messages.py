import io
import sys

from ntpcompanion.workflow.messages import heard, say


def test_a_message_leaves_at_once_and_is_told_from_other_lines(monkeypatch):
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    say({"cell": 1, "of": 2})
    lines = pipe.getvalue().decode().split("\n")
    assert [heard(line) for line in [*lines, '{"cell": 1}', "ntp {}"]] == [{"cell": 1, "of": 2}, None, None, None]
