import math
import os
import stat
import sys

import pytest

from ntpcompanion.workflow.base.files import (
    as_json,
    canonical_json,
    digest_of,
    files_below,
    read_input,
    read_json,
    read_sealed,
    require_utf8,
    search_path,
    user_path,
    write_atomically,
    write_sealed,
)
from tests.refusing import refused


def test_an_unchanged_file_keeps_its_date(tmp_path):
    path = tmp_path / "deep" / "a.txt"
    assert write_atomically(path, "x")
    os.utime(path, (1, 1))
    assert write_atomically(path, "x") is False
    assert path.stat().st_mtime == 1
    assert write_atomically(path, "y")


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with refused(r"Could not write .*a\.txt: No space left on device"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


SEALED = """{
 "text": "ü",
 "values": [
  0.5,
  1e-12
 ],
 "checksum": "17a7771bc7e1b5a94a1b23ce2d139ebacdccfd8d049fb416ff7baaec289560fd"
}
"""


def test_what_was_sealed_once_is_whole_for_ever_and_written_the_same(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(SEALED, encoding="utf-8")
    data = read_sealed(path)
    path.unlink()
    write_sealed(path, {"text": data["text"], "values": data["values"]})
    assert path.read_text(encoding="utf-8") == SEALED


def test_what_is_no_number_is_not_stored(tmp_path):
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="not JSON compliant"):
            canonical_json([value])
        with pytest.raises(ValueError, match="not JSON compliant"):
            write_sealed(tmp_path / "a.json", {"value": value})
    assert list(tmp_path.iterdir()) == []


def test_the_whole_file_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    sizes = []
    monkeypatch.setattr(
        os,
        "fsync",
        lambda file: sizes.append((os.fstat(file).st_size, (tmp_path / "a.txt").exists())),
    )
    write_atomically(tmp_path / "a.txt", "ü" * 100)
    assert sizes == [(200, False)]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX systems")
def test_what_is_written_can_be_read_by_all(tmp_path):
    write_atomically(tmp_path / "a.txt", "x")
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"[" * 100_000, r"cannot be read as JSON \(maximum recursion depth"),
        (b'{"a": NaN}', r"cannot be read as JSON \(NaN is not a number of JSON\)"),
        (b'{"a": "\xff"}', r"cannot be read as JSON \('utf-8' codec"),
        (b'{"a": 1e999, "checksum": ""}', r"does not match its own checksum"),
        (b'{"a": "\\ud800", "checksum": ""}', r"does not match its own checksum"),
        (None, r"cannot be read: Is a directory. Fix its permissions, or what stands in its place"),
    ],
    ids=["deep", "NaN", "latin-1", "inf", "no text", "folder"],
)
def test_what_is_no_sealed_file_is_named(tmp_path, content, words):
    path = tmp_path / "a.json"
    path.mkdir() if content is None else path.write_bytes(content)
    with refused(words):
        read_sealed(path)


def test_what_json_can_hold_is_given_back_and_the_rest_is_refused(tmp_path):
    assert as_json({1: (2, 2.0), 3: None}) == {"1": [2, 2.0], "3": None}
    deep = []
    for _ in range(10_000):
        deep = [deep]
    for value in (math.nan, {1, 2}, {(1, 2): 3}, "\ud800", {1: 1, "a": 2}, deep):
        with pytest.raises(ValueError, match=r"^JSON cannot hold it: "):
            as_json(value)
    (tmp_path / "a.json").write_text("[1, 2]")
    assert read_json(tmp_path / "a.json") == [1, 2]


def test_an_input_that_may_not_be_read_is_named(tmp_path):
    (tmp_path / "text").write_bytes(b"words")
    assert read_input(tmp_path / "text") == b"words"
    with refused(r"cannot be read: Is a directory. Fix its permissions, or name another file"):
        read_input(tmp_path)  # of a file that may not be read, root would read all


def test_a_home_that_does_not_exist_is_left_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(user_path("~/a")) == f"{tmp_path}/a"
    assert str(user_path("~nosuchuser/a")) == "~nosuchuser/a"


def test_a_digest_sees_names_and_contents_of_files_and_folders(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    seen = {digest_of([tmp_path])}
    (tmp_path / "deep" / "a").write_text("3")
    seen.add(digest_of([tmp_path]))
    (tmp_path / "deep" / "a").rename(tmp_path / "deep" / "c")
    seen.add(digest_of([tmp_path]))
    (tmp_path / "b").unlink()
    seen.add(digest_of([tmp_path]))
    assert len(seen) == 4
    assert digest_of([tmp_path / "deep", tmp_path / "missing"]) == digest_of(
        [tmp_path / "deep" / "c"]
    )


def test_a_path_that_python_would_split_is_named():
    assert search_path(["/a", "/b", "/a"]) == f"/a{os.pathsep}/b"
    with refused(r"/b.c has '.' in its name, by which Python separates"):
        search_path(["/a", f"/b{os.pathsep}c"])


@pytest.mark.skipif(sys.platform == "win32", reason="names there are Unicode")
def test_a_name_that_is_not_utf8_is_a_sentence(tmp_path):
    require_utf8(tmp_path / "é")
    with refused(r"The name of '/x\\udcff' is not UTF-8"):
        require_utf8(tmp_path.__class__(os.fsdecode(b"/x\xff")))


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a.json", "1")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_folders_that_link_to_each_other_are_walked_once(tmp_path):
    for folder, other in (("a", "b"), ("b", "a")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "link").symlink_to(tmp_path / other)
        (tmp_path / folder / "file").touch()
    found = sorted(path.relative_to(tmp_path).as_posix() for path in files_below(tmp_path / "a"))
    assert found == ["a/file", "a/link/file"]


@pytest.mark.skipif(os.name != "posix" or os.getuid() == 0, reason="root may list everything")
def test_a_folder_that_cannot_be_listed_is_named(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    with refused("closed cannot be listed: Permission denied"):
        list(files_below(tmp_path))
