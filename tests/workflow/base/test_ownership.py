import os
import shutil
import sys

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.ownership import (
    MARK,
    mark_own,
    require_own,
    require_utf8,
    search_path,
)

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links, and colons in names")


def test_a_path_that_python_would_split_is_named():
    assert search_path(["/a", "/b", "/a"]) == f"/a{os.pathsep}/b"
    with pytest.raises(WorkflowError, match=r"/b.c has '.' in its name, by which Python separates"):
        search_path(["/a", f"/b{os.pathsep}c"])


@POSIX
def test_a_name_that_is_not_utf8_is_a_sentence(tmp_path):
    require_utf8(tmp_path / "é")
    with pytest.raises(WorkflowError, match=r"The name of '/x\\udcff' is not UTF-8"):
        require_utf8(tmp_path.__class__(os.fsdecode(b"/x\xff")))


@pytest.fixture
def checkouts(tmp_path):
    """Two checkouts; the first has generated something."""
    one, other = tmp_path / "one", tmp_path / "other"
    (one / "_build").mkdir(parents=True)
    other.mkdir()
    mark_own(one, one / "_build")
    return one, other


@POSIX
def test_a_folder_that_another_checkout_generates_in_is_rejected(checkouts):
    one, other = checkouts
    require_own(one, one / "_build")
    (other / "_build").symlink_to(one / "_build")
    words = rf"other/_build belongs to the checkout {one.resolve()}: each would publish"
    with pytest.raises(WorkflowError, match=words):
        require_own(other, other / "_build")


def test_a_checkout_that_was_moved_or_copied_keeps_what_it_has_generated(checkouts):
    one, other = checkouts
    shutil.copytree(one / "_build", other / "_build")
    require_own(other, other / "_build")
    mark_own(other, other / "_build")
    assert (other / "_build" / MARK).read_text() == f"{other.resolve()}\n"
    moved = one.rename(one.with_name("moved"))
    require_own(moved, moved / "_build")


def test_what_nobody_has_generated_is_not_replaced(tmp_path):
    build = tmp_path / "_build"
    mark_own(tmp_path, build)
    assert not build.exists()
    (build / "html").mkdir(parents=True)
    require_own(tmp_path, build)
    with pytest.raises(WorkflowError, match=r"_build holds what ntpcompanion has not made: html"):
        mark_own(tmp_path, build)
    (build / "runs").mkdir()  # made before there were marks
    mark_own(tmp_path, build)
    assert (build / MARK).is_file()
