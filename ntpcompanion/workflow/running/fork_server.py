"""A process that has the libraries loaded: each worker is forked of it, and has no need to wait for
them, and so has the kernel of the worker.

`python -P fork_server.py TRACING FOLDERS` is started by `workers` and by nobody else, TRACING being
the file of `workflow/base/tracing.py` and FOLDERS those of the project as JSON. Each line that it
reads is `[JOB, LIBRARIES]`; for each it writes how the worker ended.

It imports nothing of the project, as a kernel has to do that by itself, under the rules of
`tracing`. What libraries read there while they are loaded, such as settings of Matplotlib, is
written down for all kernels.
"""

import gc
import importlib
import importlib.util
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from types import ModuleType
from typing import Any, BinaryIO

MARK = "\x1entp "  # as in `messages`
WORKER = "ntpcompanion.workflow.running.worker"
# of every worker and kernel
ALWAYS = ("ipykernel.kernelapp", "ipykernel.zmqshell", "pydantic", "psutil", "filelock", "yaml")
Role = Callable[[], object]


def serve(tracing: ModuleType, folders: list[str]) -> Role | None:
    """Fork a worker for each job. This returns several times: None in the server, when there are no
    more jobs, and in each worker and kernel what it does from now on.
    """
    opened = tempfile.TemporaryFile()
    recorder = tracing.OpenedFiles(tracing.membership(folders), opened.fileno())
    tracing.import_from_sources(folders)
    sys.addaudithook(recorder.hear)
    tracing.leave_out_what_serves_people()
    load_papermill()
    load(ALWAYS)
    # the end of this process is seen by the workers, which then shut their kernels; Ctrl-C is
    # answered by the runner
    alive, held = os.pipe()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        job, libraries = json.loads(line)
        load(libraries)
        gc.freeze()  # a collection would copy the memory that all of them share
        worker = os.fork()
        if not worker:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.close(held)
            recorder.belongs = lambda place: False  # what the worker opens is no input
            return _worker_or_kernel(tracing, job, alive, opened)
        code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        print(f"{MARK}{json.dumps({'code': code})}", flush=True)
    return None


def load_papermill() -> None:
    """Import papermill without pyarrow, which it would import for a file system of clusters: that
    is a quarter of the start of a worker.
    """
    if "papermill" in sys.modules:
        return
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # how Python marks what is not there
    importlib.import_module("papermill")
    del sys.modules["pyarrow"]  # a notebook may need it


def load(names: Iterable[str]) -> None:
    """Import modules, and their packages, as far as there are any of these names."""
    for name in names:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            try:
                importlib.import_module(".".join(parts[:end]))
            except Exception:  # no module, or one that fails: the kernel will say so
                break


def _worker_or_kernel(tracing: ModuleType, job: str, alive: int, opened: BinaryIO) -> Role:
    """Fork the kernel at once, as long as this process has a single thread; it waits for orders."""
    theirs, ours = socket.socketpair()
    kernel = os.fork()
    if not kernel:
        ours.close()
        os.setsid()  # signals to the worker's group are not for it
        return partial(_be_kernel, tracing, theirs, opened)
    theirs.close()
    return partial(_be_worker, job, str(alive), str(kernel), str(ours.detach()))


def _be_worker(*arguments: str) -> None:
    sys.argv = [WORKER, *arguments]
    runpy.run_module(WORKER, run_name="__main__", alter_sys=True)


def _be_kernel(tracing: ModuleType, worker: socket.socket, opened: BinaryIO) -> None:
    with worker, worker.makefile() as lines:
        orders = lines.read()
    if not orders:
        return  # the worker has ended before it needed a kernel
    order: dict[str, Any] = json.loads(orders)
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    sys.argv = order["arguments"]
    size = os.fstat(opened.fileno()).st_size
    with open(sys.argv[1], "ab") as log:
        # not `read`: the position in the file is shared with the server, which writes
        log.write(os.pread(opened.fileno(), size, 0))
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # or all kernels would draw alike without a seed
    tracing.main()


def main() -> None:
    """Serve, or be what was forked."""
    spec = importlib.util.spec_from_file_location("tracing", sys.argv[1])
    assert spec
    assert spec.loader
    tracing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tracing)
    role = serve(tracing, json.loads(sys.argv[2]))
    if role:
        role()


if __name__ == "__main__":
    main()
