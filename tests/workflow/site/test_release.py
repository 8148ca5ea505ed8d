"""A release of a small book, read by other programs."""

import hashlib
import io
import json
import tarfile

import pytest

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.site.release import SUMS, make_release


@pytest.fixture
def project(tmp_path):
    project = Project(tmp_path)
    html, data = project.html("book"), project.book / "chapters" / "_data"
    for path, text in {
        html / "index.html": "refers",
        html / "chapters" / "coin.html": "<p>coin</p>",
        data / "ledger.json": json.dumps({"claims": []}),
        data / "ledger.csv": "id\na.one\n",
        data / "ledger.schema.json": "{}",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


def test_the_sums_are_those_of_the_files_and_the_same_book_makes_the_same_bytes(project):
    made = make_release(project, project.build / "release")
    lines = (project.build / "release" / SUMS).read_text().splitlines()
    sums = dict(reversed(line.split("  ")) for line in lines)
    assert set(sums) == {path.name for path in made} - {SUMS}
    for path in made[:-1]:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sums[path.name]
    again = make_release(project, project.build / "again")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in made]


def test_the_archive_holds_the_site_in_one_folder(project):
    make_release(project, project.build / "release")
    (packed,) = (project.build / "release").glob("*.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as site:
        top = packed.name.removesuffix(".tar.gz")
        assert site.getnames() == [f"{top}/chapters/coin.html", f"{top}/index.html"]
        assert site.extractfile(f"{top}/chapters/coin.html").read() == b"<p>coin</p>"
        assert {entry.mtime for entry in site} == {0}


def test_without_a_book_nothing_is_made(project):
    (project.html("book") / "index.html").unlink()
    with pytest.raises(WorkflowError, match=r"There is no book in .* Run `make book` first"):
        make_release(project, project.build / "release")
    assert not (project.build / "release").exists()
