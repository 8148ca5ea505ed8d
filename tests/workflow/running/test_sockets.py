import os
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.running import sockets
from ntpcompanion.workflow.running.sockets import MARK, socket_folder

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="no sockets there")


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The temporary folder, short enough whatever that of the tests is."""
    monkeypatch.setattr(sockets.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(sockets, "LONGEST", len(os.fsencode(tmp_path)))
    return tmp_path


def left_behind(folder, names=None):
    """A folder as a killed worker leaves it; its mark may name another one."""
    folder.mkdir(mode=0o700)
    for name in ("lock", "kernel-1"):
        (folder / name).touch()
    (folder / MARK).write_bytes(os.fsencode(names or folder))
    os.utime(folder, (0, 0))


def test_a_folder_is_removed_after_use_and_one_that_nobody_uses_any_more(temporary):
    for name in ("ntp-killed", "ntp-in-use", "ntp-young", "others"):
        left_behind(temporary / name)
    os.utime(temporary / "ntp-young")
    with FileLock(temporary / "ntp-in-use" / "lock"), socket_folder() as folder:
        os.utime(temporary / "ntp-in-use", (0, 0))
        assert Path(folder).parent == temporary
        left = {path.name for path in temporary.iterdir()}
        assert left == {"ntp-in-use", "ntp-young", "others", Path(folder).name}
    assert not Path(folder).exists()


def test_a_folder_that_the_user_made_stays(temporary):
    """It holds a file `lock`, or is a copy of one of ours, or leads elsewhere, or is open to
    others.
    """
    (temporary / "ntp-precious").mkdir(mode=0o700)
    (temporary / "ntp-precious" / "lock").touch()
    os.utime(temporary / "ntp-precious", (0, 0))
    left_behind(temporary / "ntp-copied", names=temporary / "ntp-12345678")
    if sys.platform != "win32":
        left_behind(temporary / "ntp-open")
        (temporary / "ntp-open").chmod(0o755)
        left_behind(temporary / "elsewhere", names=temporary / "ntp-link")
        (temporary / "ntp-link").symlink_to(temporary / "elsewhere")
        os.utime(temporary / "elsewhere", (0, 0))
    before = sorted(temporary.rglob("*"))
    with socket_folder():
        pass
    assert sorted(temporary.rglob("*")) == before


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
