"""What is installed, known by content: distributions of a folder made for the test."""

import base64
import hashlib
import os
import sys

import pytest

from ntpcompanion.workflow.base import provenance

CACHED = ("_state", "owners")


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of installed packages with one distribution `lib`, whose module is `libmodule`."""
    folder = tmp_path / "site-packages"
    info = folder / "lib-1.0.dist-info"
    info.mkdir(parents=True)
    files = {"libmodule.py": b"X = 1\n", "lib-1.0.dist-info/METADATA": b"Name: lib\nVersion: 1.0\n"}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    lines = [record_line(name, data) for name, data in files.items()]
    (info / "RECORD").write_text("".join(lines) + "../../bin/lib,,\nlib-1.0.dist-info/RECORD,,\n")
    monkeypatch.setattr(sys, "path", [str(folder)])
    for name in CACHED:
        getattr(provenance, name).cache_clear()
    yield folder
    for name in CACHED:
        getattr(provenance, name).cache_clear()


def state(name="lib"):
    provenance._state.cache_clear()
    return provenance.library_states([name, "not-there"])


def later(path, data):
    """Edit a file, an hour after it was installed."""
    before = path.stat().st_mtime
    path.write_bytes(data)
    os.utime(path, (before + 3600, before + 3600))


def test_an_edit_in_place_is_another_state_and_a_touched_file_is_not(site):
    first = state()
    assert list(first) == ["lib"]
    later(site / "libmodule.py", b"X = 1\n")
    assert state() == first
    later(site / "libmodule.py", b"X = 2\n")
    edited = state()
    assert edited != first
    (site / "libmodule.py").write_bytes(b"X = 1 + 2\n")  # another size at the same date
    assert len({*first.values(), *edited.values(), *state().values()}) == 3
    (site / "libmodule.py").unlink()
    assert state() != first


def test_another_build_of_a_version_is_another_state(site):
    first = state()
    (site / "libmodule.py").write_bytes(b"X = 3\n")
    record = site / "lib-1.0.dist-info" / "RECORD"
    record.write_text(record_line("libmodule.py", b"X = 3\n"))
    assert state() != first
    record.write_text(record.read_text() + "../../bin/other,sha256=x,1\n__pycache__/a.pyc,,\n")
    assert state() != first, "scripts and compiled copies do not count"
    # a distribution that no wheel installed has no such list
    record.unlink()
    assert list(state()) == ["lib"]


def test_modules_lead_to_distributions(site):
    assert provenance.distributions_of(["libmodule", "os", "nothing"]) == {"lib"}


def test_folders_of_packages_that_were_installed_to_be_edited(site):
    note = site / "lib-1.0.dist-info" / "direct_url.json"
    note.write_text('{"url": "file:///home/me/my%20lib", "dir_info": {"editable": true}}')
    assert provenance.editable_folders() == ["/home/me/my lib"]
    note.write_text('{"url": "file:///home/me/lib", "dir_info": {}}')
    assert provenance.editable_folders() == []
