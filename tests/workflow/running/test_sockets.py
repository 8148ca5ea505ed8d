import os
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running import sockets
from ntpcompanion.workflow.running.sockets import socket_folder

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no sockets there")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder, short enough whatever that of the tests is."""
    monkeypatch.setattr(sockets.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(sockets, "LONGEST", len(os.fsencode(tmp_path)))
    return tmp_path


def test_a_folder_is_removed_after_use_and_one_that_nobody_uses_any_more(temporary):
    for name in ("ntp-killed", "ntp-in-use", "ntp-young", "others"):
        (temporary / name).mkdir()
        (temporary / name / "lock").touch()
        if name != "ntp-young":
            os.utime(temporary / name, (0, 0))
    with FileLock(temporary / "ntp-in-use" / "lock"), socket_folder() as folder:
        os.utime(temporary / "ntp-in-use", (0, 0))
        assert Path(folder).parent == temporary
        left = {path.name for path in temporary.iterdir()}
        assert left == {"ntp-in-use", "ntp-young", "others", Path(folder).name}
    assert not Path(folder).exists()


@POSIX
def test_a_long_temporary_folder_is_not_used(temporary, monkeypatch):
    monkeypatch.setattr(sockets.tempfile, "gettempdir", lambda: str(temporary / "long"))
    with socket_folder() as folder:
        assert Path(folder).parent == Path("/tmp")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(
        WorkflowError,
        match=(
            r"TMPDIR is '.*/long': sockets need a folder of at most \d+ bytes that can be written"
        ),
    ):
        socket_folder().__enter__()
