"""One notebook, one process: `python -m ntpcompanion.workflow.running.worker JOB.json`, started by
the runner or forked by its `fork_server`.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import nbformat

from ntpcompanion.workflow.running.fork_server import load_papermill

if __name__ == "__main__":
    load_papermill()
import papermill
from ipykernel.kernelspec import write_kernel_spec
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from ntpcompanion.workflow.base import tracing
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.messages import Cell, Done, Failed, say
from ntpcompanion.workflow.base.processes import end_with_parent
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.running.forked_kernel import forked_kernel
from ntpcompanion.workflow.running.job import Job
from ntpcompanion.workflow.running.sockets import socket_folder

try:
    import resource
except ImportError:  # Windows has none; the peak memory is then unknown
    resource = None  # type: ignore[assignment]  # a module elsewhere


GRACE = 10.0  # seconds in which a worker whose runner has ended may shut its kernel


@dataclass(frozen=True)
class Executed:
    """An executed notebook, the seconds that each code cell took, and the hashes of what its kernel
    read of the watched files and folders.
    """

    node: nbformat.NotebookNode
    cell_seconds: list[float]
    read: dict[str, list[str]]


class CellFailed(Exception):
    """A cell raised, ran out of time, or took its kernel down."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.error)
        self.failed = failed


def main(job_file: str, *forked: str) -> int:
    """Execute the notebook that the job names; write it to the job's output and tell the runner
    what it took; 0 if every cell ran.

    A worker that a fork server has made is given three numbers besides: of the pipe that ends with
    the server, of the process that is to be the kernel, and of the socket where that waits.
    """
    end_with_parent(grace=GRACE)
    kernel = {}
    if forked:
        server, child, orders = map(int, forked)
        end_with_parent(lambda: os.read(server, 1), grace=GRACE)
        kernel = forked_kernel(child, orders)
    job = Job.read(Path(job_file))
    try:
        done = execute(job, kernel)
        write_atomically(Path(job.output), nbformat.writes(done.node))
    except CellFailed as failure:
        say(failure.failed)
        return 1
    except WorkflowError as error:
        sys.exit(str(error))
    say(Done(done.cell_seconds, _peak_memory(), done.read))
    return 0


def execute(job: Job, kernel: Mapping[str, Any] = MappingProxyType({})) -> Executed:
    """Run the notebook of a job with papermill in a kernel of its own, whose specification has the
    metadata `kernel`. Raises CellFailed.
    """
    node = nbformat.reads(job.notebook, as_version=4)
    clock = _Clock(len(code_cells(node)))
    with socket_folder() as sockets:
        log = Path(sockets, "opened")
        manager = _own_kernel(sockets, job.watched, log, kernel)
        with _failures_told(clock, job.cell_timeout):
            node = papermill.execute_notebook(
                node,
                None,
                job.parameters,
                progress_bar=False,
                cwd=job.root,
                kernel_name="python3",
                execution_timeout=job.cell_timeout,
                config=Config(KernelManager=manager),
                on_cell_start=clock.start,
                on_cell_executed=clock.stop,
            )
        read = tracing.read_log(log)
    outputs = [output for cell in code_cells(node) for output in cell.outputs]
    if left := [output for output in outputs if output.output_type == "error"]:
        # papermill takes `sys.exit()` for an early end that went well; the cells below were not run
        raise clock.failure(f"{left[0].ename}: the cell ended the notebook early", "")
    return Executed(node, clock.seconds, read)


def _own_kernel(
    sockets: str, watched: list[str], log: Path, metadata: Mapping[str, Any]
) -> dict[str, str]:
    """Install a kernel of this interpreter in the folder `sockets`, where this process finds it
    first; the settings of a kernel manager that starts it.
    """
    os.environ["JUPYTER_RUNTIME_DIR"] = sockets
    # before any of that name a user may have installed: another Python would give other numbers;
    # nor what a user runs at the start of IPython
    os.environ["JUPYTER_PATH"] = os.environ["IPYTHONDIR"] = sockets
    arguments = [str(log), json.dumps(watched), "-f", "{connection_file}"]
    command = [sys.executable, "-P", tracing.__file__, *arguments]
    overrides = {"argv": command, "metadata": dict(metadata)}
    write_kernel_spec(f"{sockets}/kernels/python3", overrides=overrides)
    # its file would else be in the common temporary folder, where a killed run leaves it
    manager = {"connection_file": f"{sockets}/kernel.json"}
    if sys.platform != "win32":
        # sockets rather than TCP ports: those warn, and other users of the machine could reach them
        manager |= {"transport": "ipc", "ip": f"{sockets}/kernel"}
    return manager


@contextlib.contextmanager
def _failures_told(clock: "_Clock", cell_timeout: float | None) -> Iterator[None]:
    """What papermill raises becomes a CellFailed of the cell that runs."""
    try:
        yield
    except PapermillExecutionError as error:
        said = f"{error.ename}: {error.evalue}"
        raise clock.failure(said, "\n".join(error.traceback)) from error
    except CellTimeoutError as error:
        said = f"the cell ran longer than its limit of {cell_timeout:g} s"
        raise clock.failure(said, "") from error
    except DeadKernelError as error:
        raise clock.failure("the kernel died; the machine may be out of memory", "") from error


class _Clock:
    """Times code cells, tells the runner of each, and remembers where a failure happened."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.seconds: list[float] = []
        self._number, self._source, self._began = 0, "", 0.0

    def start(self, cell: nbformat.NotebookNode, cell_index: int) -> None:
        if cell.cell_type == "code" and not is_injected(cell):
            self._number, self._source = self._number + 1, cell.source
            self._began = time.perf_counter()
            say(Cell(self._number, self.total))

    def stop(self, cell: nbformat.NotebookNode, cell_index: int, execute_reply: object) -> None:
        if not is_injected(cell):
            self.seconds.append(round(time.perf_counter() - self._began, 4))

    def failure(self, error: str, traceback: str) -> CellFailed:
        return CellFailed(Failed(self._number, self._source, error, traceback))


def _peak_memory() -> int:
    """Peak resident size of the kernel in bytes: it is the largest finished child of this process.
    0 where it cannot be known.
    """
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
