import json
import os

import pytest

from ntpcompanion.workflow.errors import WorkflowError
from ntpcompanion.workflow.files import read_sealed, write_atomically, write_sealed


def test_an_unchanged_file_keeps_its_date(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    assert write_atomically(path, "x")
    os.utime(path, (1, 1))
    assert not write_atomically(path, "x")
    assert path.stat().st_mtime == 1
    assert write_atomically(path, "y")


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkflowError, match=r"Could not write .*a\.txt: No space left on device"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    "damage", [lambda t: t[: len(t) // 2], lambda t: t.replace("0.5", "0.6"), lambda t: "[1]", lambda t: t.replace("checksum", "x")]
)
def test_damage_is_detected(tmp_path, damage):
    path = tmp_path / "a.json"
    write_sealed(path, {"value": 0.5, "text": "ü"})
    assert read_sealed(path)["value"] == 0.5
    path.write_text(damage(path.read_text()))
    with pytest.raises(WorkflowError, match=r"cannot be read as JSON|does not match its own checksum"):
        read_sealed(path)


def test_layout_of_the_file_is_free(tmp_path):
    path = tmp_path / "a.json"
    write_sealed(path, {"b": [1, 2], "a": {"c": None}})
    path.write_text(json.dumps(json.loads(path.read_text()), indent=8, sort_keys=True))
    assert read_sealed(path)["b"] == [1, 2]
