"""One notebook executed with papermill, in a kernel of its own, which is started anew for each.

Import this module where a notebook is run: papermill takes half a second.
"""

import contextlib
import functools
import importlib
import logging
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat

# papermill would import pyarrow for a file system of clusters: a quarter of its time
if "pyarrow" not in sys.modules:
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        importlib.import_module("papermill")
    finally:
        del sys.modules["pyarrow"]
import papermill
from ipykernel.kernelspec import write_kernel_spec
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from jupyter_core.utils import ensure_event_loop
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.processes import Lifeline
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.running.start import Start, Surroundings, kernel_file

ENGINE = "ntpcompanion"
# of twenty thousand printed lines no reader looks at more than a few, and to store and check them
# takes a minute
LINES, CHARACTERS, OUTPUTS = 1000, 200_000, 200  # of a stream of a cell; of a cell
ALWAYS = {MEASUREMENT_MIME, RECORD_MIME}
# bytes of the folder above: macOS and Linux allow 103 for a socket, and /ntp-12345678/kernel-1
# comes on top
LONGEST = 80


@dataclass
class Cells:
    """The code cells of a run so far: the number and the source of the last one that began, of
    which `began` is told, the seconds of each, and notes for the user.
    """

    began: Callable[[int], None] = lambda _: None
    number: int = 0
    source: str = ""
    seconds: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ran:
    """What a run has left: the executed notebook; its cells; the peak memory of the kernel in
    bytes, 0 if unknown; what its processes wrote down; where a cell did not end well, the error and
    its traceback, and the notebook as it came.
    """

    node: nbformat.NotebookNode
    cells: Cells
    peak_memory: int
    log: tracing.Log
    failure: tuple[str, str] | None = None


def run_notebook(
    node: nbformat.NotebookNode,
    parameters: Mapping[str, object],
    start: Start,
    around: Surroundings,
    *,
    limit: float | None,
    lifeline: Lifeline,
    began: Callable[[int], None] = lambda _: None,
    patience: int = 60,
) -> Ran:
    """Execute a notebook in a kernel that ends with the `lifeline`, and must answer in `patience`
    seconds. A cell may take `limit` seconds (None: as long as it needs), and `began` is given the
    number of each code cell.
    """
    cells, peak = Cells(began), 0
    with socket_folder() as folder, tempfile.TemporaryFile("w+", errors="replace") as printed:
        scratch, log = Path(folder), Path(folder, "log")
        manager, environment = _own_kernel(scratch, start, around, log)
        settings = {"km": manager, "timeout": limit, "startup_timeout": patience}
        launch = {"env": environment, "stdin": lifeline.stdin, "stdout": printed, "stderr": printed}
        launch |= {"cwd": start.folder, "cleanup_kc": True}
        try:
            make_client = functools.partial(BoundedClient, cells=cells, **settings)
            node, failure = _executed(node, parameters, make_client, launch, limit)
        except RuntimeError as error:  # of nbclient, before the first cell: a kernel may say why
            printed.seek(0)
            shown = printed.read()[-2000:]
            fault = (
                f"papermill failed ({type(error).__name__})"
                if cells.number
                else "no kernel has answered"
            )
            raise WorkflowError(f"{fault}: {error}\n{shown}") from error
        finally:
            ensure_event_loop().close()  # of this thread, which nbclient has made
        with contextlib.suppress(OSError, ValueError):  # of a kernel that was killed
            peak = int((scratch / "peak").read_text())
        return Ran(node, cells, peak, tracing.read_events(log), failure)


def _executed(
    node: nbformat.NotebookNode,
    parameters: Mapping[str, object],
    make_client: Callable[[Any], Any],
    launch: dict[str, Any],
    limit: float | None,
) -> tuple[nbformat.NotebookNode, tuple[str, str] | None]:
    """The executed notebook, and an error with its traceback if a cell raised, ran out of time, or
    took its kernel down.
    """
    named = {"kernel_name": "python3", "engine_name": ENGINE, "progress_bar": False}
    engine = {"make_client": make_client, "launch": launch}
    try:
        executed = papermill.execute_notebook(node, None, dict(parameters), **named, **engine)
    except PapermillExecutionError as error:
        return node, (f"{error.ename}: {error.evalue}", "\n".join(error.traceback))
    except CellTimeoutError:
        return node, (f"the cell ran longer than its limit of {limit:g} s", "")
    except DeadKernelError:
        return node, ("the kernel died; the machine may be out of memory", "")
    node = nbformat.reads(nbformat.writes(executed), as_version=4)  # as it will be read
    outputs = [output for cell in code_cells(node) for output in cell.outputs]
    if left := [output for output in outputs if output.output_type == "error"]:
        # papermill takes `sys.exit()` for an early end that went well; the cells below were not run
        return node, (f"{left[0].ename}: the cell ended the notebook early", "")
    return node, None


def _own_kernel(
    scratch: Path, start: Start, around: Surroundings, log: Path
) -> tuple[AsyncKernelManager, dict[str, str]]:
    """A manager of the kernel of this interpreter, which is closed to what is not named, whatever
    kernel a user may have installed; and its environment.
    """
    variables = start.environment(scratch, log)
    shutil.copytree(around.fonts, variables["MPLCONFIGDIR"], dirs_exist_ok=True)
    command = start.command(scratch, str(kernel_file(scratch)), "-f", "{connection_file}")
    write_kernel_spec(f"{scratch}/kernels/python3", overrides={"argv": command})
    # its file would else be in the common folder, where a killed run leaves it
    settings = {"connection_file": f"{scratch}/kernel.json", "kernel_name": "python3"}
    if sys.platform != "win32":
        # sockets rather than TCP ports: those warn, and other users of the machine could reach them
        settings |= {"transport": "ipc", "ip": f"{scratch}/kernel"}
    specs = KernelSpecManager(kernel_dirs=[f"{scratch}/kernels"])
    places = dict.fromkeys(("JUPYTER_RUNTIME_DIR", "JUPYTER_PATH"), str(scratch))
    return (
        AsyncKernelManager(kernel_spec_manager=specs, **settings),
        {**around.environment, **places, **variables},
    )


def socket_folder() -> tempfile.TemporaryDirectory[str]:
    """A new private folder, removed after use: below the temporary one, or below `/tmp` where
    TMPDIR is too long for sockets.
    """
    requested = tempfile.gettempdir()
    for above in (requested, "/tmp"):
        short = sys.platform == "win32" or len(os.fsencode(above)) <= LONGEST
        if short and os.access(above, os.W_OK):
            return tempfile.TemporaryDirectory(prefix="ntp-", dir=above, ignore_cleanup_errors=True)
    raise WorkflowError(
        f"TMPDIR is {requested!r}: sockets need a folder of at most {LONGEST} bytes that can be "
        "written. Set it to such a one."
    )


class BoundedClient(PapermillNotebookClient):  # type: ignore[misc]  # papermill has no types
    """Keeps of each cell the first lines of its streams, its first outputs, and all measurements,
    records and errors, and notes which cells showed more.
    """

    clear_before_next_output: bool  # of nbclient

    def __init__(self, manager: Any, cells: Cells, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self.cells, self._is_cut = cells, False

    def output(
        self, outs: list[Any], msg: dict[str, Any], display_id: str | None, cell_index: int
    ) -> Any:
        """Add an output to those of a cell, unless it holds its share."""
        content = msg["content"]
        if self.clear_before_next_output:  # by `clear_output(wait=True)`: before shares are counted
            outs[:] = []
            self.clear_display_id_mapping(cell_index)
            self.clear_before_next_output = self._is_cut = False
        if msg["msg_type"] == "stream":
            first = _first_lines(outs, content["name"], content["text"])
            self._is_cut |= first != content["text"]
            content["text"] = first
            if not first:
                return None
        elif msg["msg_type"] != "error" and not ALWAYS & set(content.get("data", {})):
            if sum(map(_has_share, outs)) >= OUTPUTS:
                self._is_cut = True
                return None
        return super().output(outs, msg, display_id, cell_index)

    def clear_output(self, outs: list[Any], msg: dict[str, Any], cell_index: int) -> None:
        """What a cell clears does not count; it may stay until something else is shown."""
        self._is_cut &= bool(msg["content"].get("wait"))
        super().clear_output(outs, msg, cell_index)

    def execute_cell(self, cell: Any, cell_index: int, **settings: Any) -> Any:
        """Execute a cell, and say below its outputs whether there were more."""
        if cell.cell_type != "code" or is_injected(cell):
            return super().execute_cell(cell, cell_index, **settings)
        self._is_cut, cells = False, self.cells
        cells.number, cells.source = cells.number + 1, cell.source
        cells.began(cells.number)
        began = time.perf_counter()
        try:
            return super().execute_cell(cell, cell_index, **settings)
        finally:
            cells.seconds.append(round(time.perf_counter() - began, 4))
            if self._is_cut:
                text = "\n… and more, which are not kept.\n"
                cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
                cells.notes.append(
                    f"code cell {cells.number} showed more than {LINES} lines, {CHARACTERS} "
                    f"characters or {OUTPUTS} outputs: the rest is not kept. Print a summary."
                )


def _first_lines(outs: list[Any], name: str, text: str) -> str:
    """What of a text fits into the stream of that name below the others."""
    shown = [out.text for out in outs if out.output_type == "stream" and out.name == name]
    characters = CHARACTERS - sum(map(len, shown))
    lines = LINES - sum(each.count("\n") for each in shown)
    first = text[: max(characters, 0)]
    if first.count("\n") < lines:
        return first
    return "".join(f"{line}\n" for line in first.split("\n")[: max(lines, 0)])


def _has_share(output: Any) -> bool:
    """Whether an output is one of those of which a cell has a limited number."""
    return output.output_type != "stream" and not ALWAYS & set(output.get("data", {}))


class BoundedEngine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
    """Executes a notebook with a client of ours, and launches the kernel as is asked for."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        make_client: Callable[[Any], Any],
        launch: dict[str, Any],
        **_: Any,
    ) -> Any:
        return make_client(nb_man).execute(**launch)


papermill_engines.register(ENGINE, BoundedEngine)
# it warns of parameters whose comments it cannot read; what a user passes was checked before
logging.getLogger("papermill").setLevel(logging.ERROR)
