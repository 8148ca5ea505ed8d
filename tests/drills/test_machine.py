"""A machine that is not as the project wants it: Jupyter Book 2, a kernel of another Python, no
ipykernel, no network, odd paths.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest

from ntpcompanion.workflow.base.project import Project
from tests.toy import Toy


def put(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def test_jupyter_book_2_is_refused_before_it_builds_nothing(toy, tmp_path):
    found = "jupyter_book-2.1.7.dist-info/METADATA"
    other = put(
        tmp_path / "site", {found: "Metadata-Version: 2.1\nName: jupyter-book\nVersion: 2.1.7\n"}
    )
    output = toy.run("build", code=1, PYTHONPATH=other)
    assert (
        "error: jupyter-book 2.1.7 is installed: version 2 ignores `_config.yml`, builds nothing "
        "and exits 0. Install `jupyter-book<2`" in output
    )
    assert "executed" not in output, "known before the runs"
    assert not toy.project.html("book").exists()


@pytest.mark.slow
def test_a_kernel_of_another_python_is_not_used(toy, tmp_path):
    stranger = {
        "argv": ["/bin/false", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
    }
    folder = put(tmp_path / "jupyter", {"kernels/python3/kernel.json": json.dumps(stranger)})
    output = toy.run(
        "execute", "coin", JUPYTER_PATH=folder, JUPYTER_DATA_DIR=folder, JUPYTER_PREFER_ENV_PATH="0"
    )
    assert "coin (book): executed" in output


@pytest.mark.slow
def test_what_a_user_runs_at_the_start_of_ipython_is_left_out(toy, tmp_path):
    folder = put(
        tmp_path / "ipython",
        {"profile_default/startup/00.py": "n = 7\nimport builtins\nbuiltins.len = lambda _: 99\n"},
    )
    toy.run("execute", IPYTHONDIR=folder)
    assert '"value": 3.0' in (toy.project.book / "chapters" / "words.json").read_text()


@pytest.mark.parametrize("module", ["ipykernel", pytest.param("papermill", marks=pytest.mark.slow)])
def test_a_missing_package_is_named(toy, module):
    put(
        toy.project.root,
        {
            f"{module}.py": "raise ModuleNotFoundError("
            f"\"No module named '{module}'\", name='{module}')\n"
        },
    )
    output = toy.start("execute", "coin").communicate(timeout=60)[0]
    assert f"error: Notebook 'coin' (book) cannot be run: No module named '{module}'." in output
    assert "Install what is missing: `pip install 'ntpcompanion[workflow]'`" in output


NO_NETWORK = """import socket
connect = socket.socket.connect
def reject(self, address):
    # not this machine itself, which kernels on Windows are reached through
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
        with open({log!r}, "a") as file:
            file.write(repr(address) + "\\n")
        raise OSError(101, "Network is unreachable")
    return connect(self, address)
socket.socket.connect = reject
socket.getaddrinfo = lambda *_, **__: reject(socket.socket(), _)
"""


@pytest.mark.slow
def test_nothing_needs_the_network(toy, tmp_path):
    log = tmp_path / "asked"
    # in the root of the project, where all processes that it starts look; they are not given the
    # user's PYTHONPATH
    blocked = put(toy.project.root, {"sitecustomize.py": NO_NETWORK.format(log=str(log))})
    assert "Built" in toy.run("build", PYTHONPATH=blocked)
    assert "3 measured values agree" in toy.run(
        "check", "--profile", "book", "--update", PYTHONPATH=blocked
    )
    assert not log.exists(), log.read_text()
    code = "import urllib.request; urllib.request.urlopen('http://192.0.2.1/')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": blocked, "no_proxy": "*"},
        capture_output=True,
        text=True,
    )
    assert "Network is unreachable" in done.stderr
    assert "192.0.2.1" in log.read_text(), "the drill does notice"


@pytest.mark.slow
def test_a_folder_and_a_notebook_with_spaces_and_accents(toy, tmp_path):
    moved = shutil.copytree(toy.project.root, tmp_path / "Prêt à lire" / "ein Buch")
    project = Toy(Project(moved, moved / "toypkg"))
    (moved / "notebooks" / "coin.md").rename(moved / "notebooks" / "münze zwei.md")
    project.edit("notebooks/profiles.yml", "coin:", "münze zwei:")
    project.edit("book/_toc.yml", "chapters/coin", "chapters/münze zwei")
    project.edit("book/claims.yml", "notebook: coin", "notebook: münze zwei")
    assert "Built" in project.run("build")
    assert (
        ">0.5</strong>"
        in (project.project.html("book") / "chapters" / "münze zwei.html").read_text()
    )
    assert "münze zwei (book) is up to date" in project.run("why", "münze zwei")


@pytest.mark.parametrize(
    "name", ["../words", "notebooks/coin", "coin.md", "/etc/passwd", "", "coin\n"]
)
def test_a_name_that_is_a_path_is_no_notebook(toy, name):
    before = sorted(path for path in toy.project.root.parent.rglob("*"))
    assert f"No notebook {name!r}." in toy.command("execute", name, code=1)
    assert [
        path
        for path in toy.project.root.parent.rglob("*")
        if path not in before and path.name not in ("_build", ".build.lock")
    ] == []


def test_a_page_outside_of_the_book_is_no_page(toy, no_kernel):
    no_kernel()
    (toy.project.root / "outside.md").write_text("# Outside\n")
    toy.edit("book/_toc.yml", "- file: ledger", "- file: ../outside\n- file: ledger")
    output = toy.command("build", code=1)
    assert "book/_toc.yml lists '../outside', but there is no book/../outside.md" in output
    assert not (toy.project.root / "outside.html").exists()


@pytest.mark.slow
def test_no_optimization_unwritable_home_or_long_temporary_folder_reaches_a_page(toy, tmp_path):
    toy.edit(
        "notebooks/coin.md",
        "import half\n",
        "import half\nimport matplotlib.pyplot\nmistaken = half(n) == n\n",
    )
    toy.edit(
        "notebooks/coin.md",
        'measure("toy.half"',
        'try:\n    assert mistaken\nexcept AssertionError:\n    measure("toy.half"',
    )
    long = tmp_path / ("x" * 120)
    long.mkdir()
    faults = {
        "PYTHONOPTIMIZE": "2",
        "HOME": "/dev/null",
        "TMPDIR": str(long),
        "XDG_CACHE_HOME": "",
        "MPLCONFIGDIR": "",
    }
    toy.run("execute", "coin", **faults)
    page = json.loads((toy.project.book / "chapters" / "coin.ipynb").read_text())
    outputs = [output for cell in page["cells"] for output in cell.get("outputs", [])]
    assert [output["output_type"] for output in outputs] == ["display_data"] * 2, (
        "two measurements, no warning; the assert was checked"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the locale of a POSIX system")
def test_a_terminal_that_knows_only_ascii(toy):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    toy.edit("notebooks/coin.md", "# A coin", "# A coin of ½")
    assert "A coin of \\xbd" in toy.run("list", **ascii_only)
