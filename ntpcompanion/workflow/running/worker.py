"""One notebook, one process: `python -m ntpcompanion.workflow.running.worker JOB.json`, started by
the runner. The kernel is a process of its own, started anew for each notebook.
"""

import importlib
import os
import shutil
import sys
import time
from pathlib import Path

import nbformat

# papermill would import pyarrow for a file system of clusters: a quarter of the start of a worker
if "pyarrow" not in sys.modules:
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # as if it were not installed
    importlib.import_module("papermill")
    del sys.modules["pyarrow"]
import papermill
from ipykernel.kernelspec import write_kernel_spec
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.processes import end_with_parent
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.running import bounded
from ntpcompanion.workflow.running.job import Cell, Done, Failed, Job, Message, line_of
from ntpcompanion.workflow.running.start import Start, kernel_file

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
    bounded.register()
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
    notes = node.metadata.pop(bounded.NOTES, [])
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
            engine_name=bounded.NAME,
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
