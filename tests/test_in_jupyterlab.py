"""A chapter in JupyterLab: opened, changed, run and saved by the requests that a browser sends."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

import jupytext
import pytest
from jupyter_client.blocking import BlockingKernelClient

from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME
from tests.copies import copy_checkout

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a server is ended by a signal"),
]
if not os.environ.get("CI"):
    pytest.importorskip("jupyterlab", reason="no JupyterLab here; `make test` installs it")

CHAPTER = "notebooks/uniform_convergence.md"  # short
PATIENCE = 120  # seconds until the server answers, or a cell has run


@dataclass
class Lab:
    """The address of a server, its token, and the folder in which it keeps what runs."""

    url: str
    token: str
    runtime: Path

    def ask(self, path: str, method: str = "GET", data: object = None) -> Any:
        """What the server answers to a request of its API."""
        body = None if data is None else json.dumps(data).encode()
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        address = f"{self.url}api/{quote(path, safe='/?=')}"
        request = Request(address, body, headers, method=method)
        with urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read() or "null")

    def open(self, path: str) -> Any:
        """A notebook, as a double click opens it."""
        return self.ask(f"contents/{path}?type=notebook")["content"]

    def save(self, path: str, content: Any) -> None:
        """Save a notebook."""
        self.ask(
            f"contents/{path}", "PUT", {"type": "notebook", "format": "json", "content": content}
        )

    def run(self, path: str, content: Any) -> list[dict[str, Any]]:
        """Run all cells of a notebook in a kernel of the server; what they showed."""
        asked = {"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}}
        session = self.ask("sessions", "POST", asked)
        file = self.runtime / f"kernel-{session['kernel']['id']}.json"
        client = BlockingKernelClient(connection_file=str(file))
        client.load_connection_file()
        client.start_channels(hb=False)  # on a busy machine a heart beats late
        shown: list[dict[str, Any]] = []
        try:
            client.wait_for_ready(PATIENCE)
            for cell in content["cells"]:
                if cell["cell_type"] == "code":
                    client.execute_interactive(
                        cell["source"], timeout=PATIENCE, output_hook=shown.append
                    )
        finally:
            client.stop_channels()
            self.ask(f"sessions/{session['id']}", "DELETE")
        return shown


@contextlib.contextmanager
def started(command: list[str], cwd: Path, env: dict[str, str], runtime: Path) -> Iterator[Lab]:
    """The server that a command starts, until the end of the block."""
    with (cwd / "lab.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=cwd, env=env, stdout=log, stderr=log)
    try:
        yield _answering(process, runtime, cwd / "lab.log")
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _answering(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> Lab:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(OSError, ValueError):
                about = json.loads(file.read_text())
                lab = Lab(about["url"], about["token"], runtime)
                lab.ask("status")
                return lab
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    return copy_checkout(tmp_path_factory.mktemp("lab") / "a checkout")


@pytest.fixture
def environment(checkout):
    kept = {name: text for name, text in os.environ.items() if "JUPYTER" not in name}
    return kept | {"PYTHONPATH": str(checkout)}


def cells(text):
    """Kind, source and metadata of each cell of a text notebook."""
    node = jupytext.reads(text, fmt="md:myst")
    return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in node.cells]


def test_a_student_changes_a_chapter_and_runs_it(checkout, environment):
    command = [sys.executable, "-m", "ntpcompanion", "lab", "--no-browser", "--port", "0"]
    runtime = checkout / "_build" / "lab" / "runtime"
    before = (checkout / CHAPTER).read_text(encoding="utf-8")
    with started(command, checkout, environment, runtime) as lab:
        content = lab.open(CHAPTER)
        parameters = next(cell for cell in content["cells"] if cell["cell_type"] == "code")
        assert "sphere_dim = " in parameters["source"]
        parameters["source"] += "\nsphere_dim = 60"
        content["cells"].append(
            {"cell_type": "code", "source": "import os; print(os.getcwd())", "metadata": {}}
            | {"outputs": [], "execution_count": None}
        )
        shown = lab.run(CHAPTER, content)
        lab.save(CHAPTER, content)
    errors = [message["content"] for message in shown if message["msg_type"] == "error"]
    assert errors == []
    cards = [m for m in shown if MEASUREMENT_MIME in m["content"].get("data", {})]
    assert cards
    assert all("text/html" in card["content"]["data"] for card in cards)
    assert shown[-2]["content"]["text"].strip() == str(checkout / "notebooks")
    after = (checkout / CHAPTER).read_text(encoding="utf-8")
    assert [cell for cell in cells(after) if cell not in cells(before)] == [
        ("code", parameters["source"], {"tags": ["parameters"]}),
        ("code", "import os; print(os.getcwd())", {}),
    ]
    assert "records: [" in after, "what the notebook declares stays in its front matter"
