"""One notebook, one process: `python -m ntpcompanion.workflow.running.worker JOB.json`, started by
the runner. The kernel is a process of its own, started anew for each notebook.
"""

import importlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import nbformat

# papermill would import pyarrow for a file system of clusters: a quarter of the start of a worker
if "pyarrow" not in sys.modules:
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # as if it were not installed
    importlib.import_module("papermill")
    del sys.modules["pyarrow"]
import papermill
from ipykernel.kernelspec import write_kernel_spec
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.processes import end_with_parent
from ntpcompanion.workflow.claims.measure import MEASUREMENT_MIME, RECORD_MIME
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.running.job import Cell, Done, Failed, Job, Message, line_of
from ntpcompanion.workflow.running.start import Start, kernel_file

ENGINE = "ntpcompanion"
NOTES = "ntp-left-out"
# of twenty thousand printed lines no reader looks at more than a few, and to store and check them
# takes a minute
ALWAYS = {MEASUREMENT_MIME, RECORD_MIME}
LINES, CHARACTERS, OUTPUTS = 1000, 200_000, 200  # of a stream of a cell; of a cell


class BoundedClient(PapermillNotebookClient):  # type: ignore[misc]  # papermill has no types
    """Keeps of each cell the first lines of its streams, its first outputs, and all measurements,
    records and errors. Cells that showed more are named in the metadata of the notebook, under
    `NOTES`.
    """

    def __init__(self, manager: Any, **settings: Any) -> None:
        super().__init__(manager, **settings)
        self._is_cut = False

    def output(
        self, outs: list[Any], msg: dict[str, Any], display_id: str | None, cell_index: int
    ) -> Any:
        """Add an output to those of a cell, unless it holds its share."""
        content = msg["content"]
        if msg["msg_type"] == "stream":
            first = _first_lines(outs, content["name"], content["text"])
            self._is_cut |= first != content["text"]
            content["text"] = first
            if not first:
                return None
        elif msg["msg_type"] != "error" and not ALWAYS & set(content.get("data", {})):
            if sum(out.output_type != "stream" for out in outs) >= OUTPUTS:
                self._is_cut = True
                return None
        return super().output(outs, msg, display_id, cell_index)

    def clear_output(self, outs: list[Any], msg: dict[str, Any], cell_index: int) -> None:
        """What a cell clears does not count."""
        self._is_cut = False
        super().clear_output(outs, msg, cell_index)

    def execute_cell(self, cell: Any, cell_index: int, **settings: Any) -> Any:
        """Execute a cell, and say below its outputs whether there were more."""
        self._is_cut = False
        try:
            return super().execute_cell(cell, cell_index, **settings)
        finally:
            if self._is_cut:
                text = "\n… and more, which are not kept.\n"
                cell.outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
                cells = code_cells(self.nb)[: 1 + code_cells(self.nb).index(cell)]
                number = sum(not is_injected(each) for each in cells)
                self.nb.metadata.setdefault(NOTES, []).append(
                    f"code cell {number} showed more than {LINES} lines or {OUTPUTS} outputs: the "
                    "rest is not kept. Print a summary."
                )


def _first_lines(outs: list[Any], name: str, text: str) -> str:
    """What of a text fits into the stream of that name below the others."""
    shown = [out.text for out in outs if out.output_type == "stream" and out.name == name]
    characters = CHARACTERS - sum(map(len, shown))
    lines = LINES - sum(each.count("\n") for each in shown)
    return "".join(text[: max(characters, 0)].splitlines(keepends=True)[: max(lines, 0)])


class BoundedEngine(NBClientEngine):  # type: ignore[misc]  # papermill has no types
    """Executes a notebook with a `BoundedClient`."""

    @classmethod
    def execute_managed_notebook(
        cls,
        nb_man: Any,
        kernel_name: str,
        *,
        execution_timeout: float | None = None,
        **settings: Any,
    ) -> Any:
        """Execute the cells that papermill manages."""
        hooks = {name: settings.get(name) for name in ("on_cell_start", "on_cell_executed")}
        hooks |= {"config": settings.get("config"), "timeout": execution_timeout}
        return BoundedClient(nb_man, kernel_name=kernel_name, **hooks).execute()


try:
    import resource
except ImportError:  # Windows has none; the peak memory is then unknown
    resource = None  # type: ignore[assignment]  # a module elsewhere


GRACE = 10.0  # seconds in which a worker whose runner has ended may shut its kernel


def main(job_file: str) -> int:
    """Execute the notebook that the job names; write it to the job's output and tell the runner
    what it took; 0 if every cell ran.
    """
    end_with_parent(grace=GRACE)
    job = Job.read(Path(job_file))
    try:
        node, message = execute(job)
        if node is not None:
            write_atomically(Path(job.output), nbformat.writes(node))
    except WorkflowError as error:
        sys.exit(str(error))
    _send(message)
    return int(isinstance(message, Failed))


def execute(job: Job) -> tuple[nbformat.NotebookNode | None, Done | Failed]:
    """Run the notebook of a job with papermill in a kernel of its own: the executed notebook, if
    every cell ran, and what the runner is told.
    """
    node = nbformat.reads(job.notebook, as_version=4)
    clock = _Clock(len(code_cells(node)))
    papermill_engines.register(ENGINE, BoundedEngine)
    log = Path(job.sockets, "log")
    try:
        manager = _own_kernel(Path(job.sockets), job, log)
        node, failure = _executed(node, job, manager, clock)
        read = tracing.read_events(log)
    finally:
        shutil.rmtree(job.sockets, ignore_errors=True)
    if failure is not None:
        return None, Failed(clock.number, clock.source, *failure, sorted(read.absent))
    names, measured = (sorted(read.absent), sorted(read.modules)), list(read.measured)
    took = clock.seconds, _peak_memory()
    notes = node.metadata.pop(NOTES, [])
    return node, Done(*took, read.read, *names, measured, notes)


def _executed(
    node: nbformat.NotebookNode, job: Job, manager: dict[str, str], clock: "_Clock"
) -> tuple[nbformat.NotebookNode, tuple[str, str] | None]:
    """The executed notebook, and an error with its traceback if a cell raised, ran out of time, or
    took its kernel down.
    """
    try:
        node = papermill.execute_notebook(
            node,
            None,
            job.parameters,
            progress_bar=False,
            cwd=job.folder,
            kernel_name="python3",
            engine_name=ENGINE,
            execution_timeout=job.cell_timeout,
            config=Config(KernelManager=manager),
            on_cell_start=clock.start,
            on_cell_executed=clock.stop,
        )
    except PapermillExecutionError as error:
        return node, (f"{error.ename}: {error.evalue}", "\n".join(error.traceback))
    except CellTimeoutError:
        return node, (f"the cell ran longer than its limit of {job.cell_timeout:g} s", "")
    except DeadKernelError:
        return node, ("the kernel died; the machine may be out of memory", "")
    outputs = [output for cell in code_cells(node) for output in cell.outputs]
    if left := [output for output in outputs if output.output_type == "error"]:
        # papermill takes `sys.exit()` for an early end that went well; the cells below were not run
        return node, (f"{left[0].ename}: the cell ended the notebook early", "")
    return node, None


def _own_kernel(scratch: Path, job: Job, log: Path) -> dict[str, str]:
    """Install a kernel of this interpreter in the folder `scratch`, where this process finds it
    first; the settings of a kernel manager that starts it.
    """
    start = Start(tuple(job.import_path), tuple(job.readable), job.folder)
    # before any kernel of that name a user may have installed: another Python would give other
    # numbers
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_PATH", "IPYTHONDIR"):
        os.environ[name] = str(scratch)
    variables = start.environment(scratch, log)
    shutil.copytree(job.fonts, variables["MPLCONFIGDIR"], dirs_exist_ok=True)
    command = start.command(scratch, str(kernel_file(scratch)), "-f", "{connection_file}")
    overrides = {"argv": command, "env": variables}
    write_kernel_spec(f"{scratch}/kernels/python3", overrides=overrides)
    # its file would else be in the common temporary folder, where a killed run leaves it
    manager = {"connection_file": f"{scratch}/kernel.json"}
    if sys.platform != "win32":
        # sockets rather than TCP ports: those warn, and other users of the machine could reach them
        manager |= {"transport": "ipc", "ip": f"{scratch}/kernel"}
    return manager


class _Clock:
    """Times code cells, tells the runner of each, and remembers where a failure happened."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.seconds: list[float] = []
        self.number, self.source, self._began = 0, "", 0.0

    def start(self, cell: nbformat.NotebookNode, cell_index: int) -> None:
        if cell.cell_type == "code" and not is_injected(cell):
            self.number, self.source = self.number + 1, cell.source
            self._began = time.perf_counter()
            _send(Cell(self.number, self.total))

    def stop(self, cell: nbformat.NotebookNode, cell_index: int, execute_reply: object) -> None:
        if not is_injected(cell):
            self.seconds.append(round(time.perf_counter() - self._began, 4))


def _send(message: Message) -> None:
    print(line_of(message), flush=True)


def _peak_memory() -> int:
    """Peak resident size of the kernel in bytes: it is the largest finished child of this process.
    0 where it cannot be known.
    """
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def _keep_output_to_itself() -> None:
    """What kernels start and leave behind must not hold the pipe to the runner open: they get the
    file of errors as their standard output.
    """
    descriptor = os.dup(1)  # is not inherited
    os.dup2(2, 1)
    sys.stdout = open(descriptor, "w", encoding="utf-8", buffering=1)


if __name__ == "__main__":
    _keep_output_to_itself()
    sys.exit(main(*sys.argv[1:]))
