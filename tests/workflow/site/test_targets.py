"""What `make release` and `make sphinx` make of a built book, without building it once more."""

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ntpcompanion.workflow.base.files import sha256
from tests.toy import ROOT

ENVIRONMENT = Path(sys.executable).parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tar of GNU, and a shell")


def make(folder, target):
    """Run a target in the folder of a project, whose book and environments count as made."""
    options = [f"SPHINX={ENVIRONMENT}", f"BIN={ENVIRONMENT / 'bin'}", "-o", "book"]
    command = ["make", "-f", ROOT / "Makefile", "-o", ENVIRONMENT / "ready", *options, target]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_release_is_site_ledger_and_sums_and_the_same_book_makes_the_same_bytes(tmp_path):
    for name in ("_build/html/index.html", "_build/html/chapters/coin.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    data = tmp_path / "book" / "chapters" / "_data"
    data.mkdir(parents=True)
    for name in ("ledger.json", "ledger.csv"):
        (data / name).write_text(name)
    folder, found = tmp_path / "_build" / "release", []
    for _ in range(2):
        done = make(tmp_path, "release")
        assert done.returncode == 0, done.stderr
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
        (tmp_path / "_build" / "html" / "index.html").touch()
    assert found[0] == found[1]
    sums = dict(
        reversed(line.split("  ")) for line in found[0].pop("SHA256SUMS").decode().split("\n")[:-1]
    )
    assert sums == {name: sha256(content) for name, content in found[0].items()}
    (packed,) = (name for name in found[0] if name.endswith(".tar.gz"))
    with tarfile.open(fileobj=io.BytesIO(found[0][packed])) as site:
        top = packed.removesuffix(".tar.gz")
        files = [entry for entry in site if entry.isfile()]
        assert [entry.name for entry in files] == [f"{top}/chapters/coin.html", f"{top}/index.html"]
        assert {entry.mtime for entry in site} == {0}


@pytest.mark.slow
def test_plain_sphinx_shows_the_same_numbers_and_warns_of_the_same_faults(executed):
    executed.command("build")
    done = make(executed.project.root, "sphinx")
    assert done.returncode == 0, done.stderr
    html = executed.project.build / "sphinx" / "html"
    page = (html / "chapters" / "coin.html").read_text()
    assert 'measured = <strong class="ntp-number">0.5</strong>' in page
    assert (html / "_static" / "mathjax" / "tex-chtml.js").is_file()
    assert "http-equiv" in (html / "index.html").read_text(), "index.html leads to the first page"
    executed.edit("book/intro.md", "{cite:t}`liu2023same`", "{cite:t}`liu2032same`")
    done = make(executed.project.root, "sphinx")
    assert done.returncode != 0
    assert "liu2032same" in done.stderr
