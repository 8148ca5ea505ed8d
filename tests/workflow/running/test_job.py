"""A job as the worker reads it, where its sockets lie, and what it says."""

import os
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running import job
from ntpcompanion.workflow.running.job import (
    MARK,
    Cell,
    Done,
    Failed,
    line_of,
    parse,
    socket_folder,
)

SAID = (
    Cell(1, 2),
    Done([0.1, 2], 1, {"a": ["b"]}, ["c"], ["d"], ["e"], ["f"]),
    Failed(1, "f()", "E: x\n", "\u2028\x1e", ["g"]),
)


@pytest.mark.parametrize("message", SAID)
def test_a_message_is_read_behind_what_a_kernel_printed_before(message):
    assert parse("half a line" + line_of(message) + "\n") == message


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "3", '["Cell", {}]', '["Other", {}]'])
def test_what_is_no_message_is_left_out(text):
    assert parse(MARK + text) is None
    assert parse(line_of(SAID[0]).removeprefix(MARK)) is None


@pytest.mark.skipif(sys.platform == "win32", reason="no sockets there")
def test_the_folder_of_sockets_is_short_private_and_removed_after_use(tmp_path, monkeypatch):
    monkeypatch.setattr(job.tempfile, "gettempdir", lambda: str(tmp_path / ("long" * 20)))
    with socket_folder() as folder:
        assert Path(folder).parent == Path("/tmp")
        assert Path(folder).stat().st_mode & 0o077 == 0
    assert not Path(folder).exists()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WorkflowError, match=r"TMPDIR is '.*/long.*': sockets need a folder of at"):
        socket_folder()
