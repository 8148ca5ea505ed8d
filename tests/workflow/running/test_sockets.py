import os
import sys
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running import sockets
from ntpcompanion.workflow.running.sockets import socket_folder

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no sockets there")


def test_a_folder_is_short_private_and_removed_after_use():
    with socket_folder() as folder:
        assert len(folder) < 103 - len("/kernel-1")
        assert sys.platform == "win32" or Path(folder).stat().st_mode & 0o077 == 0
    assert not Path(folder).exists()


@POSIX
def test_a_long_temporary_folder_is_not_used(tmp_path, monkeypatch):
    long = str(tmp_path / ("long" * 20))
    monkeypatch.setattr(sockets.tempfile, "gettempdir", lambda: long)
    with socket_folder() as folder:
        assert Path(folder).parent == Path("/tmp")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(
        WorkflowError,
        match=(
            r"TMPDIR is '.*/long.*': sockets need a folder of at most \d+ bytes that can be written"
        ),
    ):
        socket_folder().__enter__()
