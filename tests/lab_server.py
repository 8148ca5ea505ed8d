"""A JupyterLab that runs, and what a browser would ask of it."""

import contextlib
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import Request, urlopen

from jupyter_client.blocking import BlockingKernelClient

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
            f"contents/{path}",
            "PUT",
            {"type": "notebook", "format": "json", "content": content},
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
