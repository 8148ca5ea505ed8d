"""One notebook, one process: `python -m ntpcompanion.workflow.running.worker JOB.json`, started by
the runner and by nobody else.
"""

import _thread
import json
import os
import sys
import threading
import time
from pathlib import Path

import nbformat
import papermill
from ipykernel.kernelspec import write_kernel_spec
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

from ntpcompanion.workflow.base import kernel
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import write_atomically
from ntpcompanion.workflow.base.messages import say
from ntpcompanion.workflow.notebooks.cells import code_cells, is_injected
from ntpcompanion.workflow.running.sockets import socket_folder

try:
    import resource
except ImportError:  # Windows has none; the peak memory is then unknown
    resource = None


def main(job_file: str) -> int:
    """Execute the notebook that the job names; write it and its timings to the job's folder; 0 if
    every cell ran.
    """
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        node, seconds, read = execute(
            job["notebook"],
            job["parameters"],
            root=job["root"],
            watched=job["watched"],
            cell_timeout=job["cell_timeout"],
        )
        write_atomically(Path(job["output"]), nbformat.writes(node))
    except CellFailed as failure:
        say({"failed": vars(failure)})
        return 1
    except WorkflowError as error:
        sys.exit(str(error))
    say({"done": {"cell_seconds": seconds, "peak_memory": _peak_memory(), "read": read}})
    return 0


class CellFailed(Exception):
    """A cell raised, ran out of time, or took its kernel down. `cell` counts the code cells of the
    text notebook from 1.
    """

    def __init__(self, cell: int, source: str, error: str, traceback: str) -> None:
        super().__init__(error)
        self.cell, self.source, self.error, self.traceback = cell, source, error, traceback


def execute(
    notebook: str, parameters: dict, *, root: str, watched: list[str], cell_timeout: float | None
) -> tuple[nbformat.NotebookNode, list[float], dict[str, list[str]]]:
    """Run a notebook given as JSON with papermill in a kernel of its own.

    Returns it executed, the seconds of each code cell, and the hashes of what it read of `watched`
    files and folders.
    """
    node = nbformat.reads(notebook, as_version=4)
    clock = _Clock(len(code_cells(node)))
    with socket_folder() as sockets:
        os.environ["JUPYTER_RUNTIME_DIR"] = sockets
        # a kernel of this interpreter, before any of that name a user may have installed: another
        # Python would give other numbers
        log = f"{sockets}/opened"
        command = [
            sys.executable,
            "-P",
            kernel.__file__,
            log,
            json.dumps(watched),
            "-f",
            "{connection_file}",
        ]
        write_kernel_spec(f"{sockets}/kernels/python3", overrides={"argv": command})
        # nor what a user runs at the start of IPython
        os.environ["JUPYTER_PATH"] = os.environ["IPYTHONDIR"] = sockets
        # sockets rather than TCP ports: those warn, and other users of the machine could reach them
        connection = (
            {} if sys.platform == "win32" else {"transport": "ipc", "ip": f"{sockets}/kernel"}
        )
        # else in the common temporary folder, where a killed run leaves it
        connection["connection_file"] = f"{sockets}/kernel.json"
        try:
            node = papermill.execute_notebook(
                node,
                None,
                parameters,
                progress_bar=False,
                cwd=root,
                kernel_name="python3",
                execution_timeout=cell_timeout,
                config=Config(KernelManager=connection),
                on_cell_start=clock.start,
                on_cell_executed=clock.stop,
            )
        except PapermillExecutionError as error:
            raise clock.failure(
                f"{error.ename}: {error.evalue}", "\n".join(error.traceback)
            ) from error
        except CellTimeoutError as error:
            raise clock.failure(
                f"the cell ran longer than its limit of {cell_timeout:g} s", ""
            ) from error
        except DeadKernelError as error:
            raise clock.failure("the kernel died; the machine may be out of memory", "") from error
        read = kernel.read_log(Path(log))
    if left := [
        output
        for cell in code_cells(node)
        for output in cell.outputs
        if output.output_type == "error"
    ]:
        # papermill takes `sys.exit()` for an early end that went well; the cells below were not run
        raise clock.failure(f"{left[0].ename}: the cell ended the notebook early", "")
    return node, clock.seconds, read


class _Clock:
    """Times code cells, tells the runner of each, and remembers where a failure happened."""

    def __init__(self, total: int) -> None:
        self.total, self.seconds, self.source, self._number = total, [], "", 0

    def start(self, cell: nbformat.NotebookNode, cell_index: int) -> None:
        if cell.cell_type == "code" and not is_injected(cell):
            self._number, self.source, self._began = (
                self._number + 1,
                cell.source,
                time.perf_counter(),
            )
            say({"cell": self._number, "of": self.total})

    def stop(self, cell: nbformat.NotebookNode, cell_index: int, execute_reply: dict) -> None:
        if not is_injected(cell):
            self.seconds.append(round(time.perf_counter() - self._began, 4))

    def failure(self, error: str, traceback: str) -> CellFailed:
        return CellFailed(self._number, self.source, error, traceback)


def _peak_memory() -> int:
    """Peak resident size of the kernel in bytes: it is the largest finished child of this process.
    0 where it cannot be known.
    """
    if resource is None:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit


def _end_with_parent() -> None:
    """The runner holds the other end of standard input: when it dies, however it dies, this process
    shuts its kernel and ends too.
    """
    os.read(0, 1)  # not sys.stdin: at the end of Python nobody may still wait in its lock
    _thread.interrupt_main()
    time.sleep(10.0)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
