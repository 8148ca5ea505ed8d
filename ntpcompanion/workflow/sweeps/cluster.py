"""The processes that run tasks: a local cluster of Dask that lives as long as its command, or an
existing one.

Import this module where a cluster is needed: Dask takes a second.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import dask
import psutil
from distributed import Client, LocalCluster, WorkerPlugin
from distributed.comm import connect
from tornado.ioloop import IOLoop

from ntpcompanion.workflow.base.environment import (
    clean_environment,
    folders,
    python_path,
    started_in,
)
from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.sweeps.preparation import (
    Asked,
    Preparation,
    differences,
    digest,
    environment,
    environment_at_first,
)

PATIENCE = 5  # seconds until a scheduler must have answered
LOCAL: dict[str, object] = {
    # a task whose process ends is named; whoever asked for it decides about a second attempt
    "distributed.scheduler.allowed-failures": 0,
    # no task waits at a worker: it would be blamed for the end of the one that runs there
    "distributed.scheduler.worker-saturation": 1.0,
    # a worker may compute for hours without a sign of life
    "distributed.scheduler.worker-ttl": None,
    # Dask gives up a process that was killed and has not been replaced in 15 seconds, which a busy
    # machine needs; how long to wait is decided by whoever sends the calls
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Dask would sample every 10 ms what a task does, for a page that nobody opens: 3 % of the time
    "distributed.worker.profile.enabled": False,
    # nobody reads what Dask asks a GPU, and the question fails where CUDA_VISIBLE_DEVICES=-1
    # hides them all
    "distributed.diagnostics.nvml": False,
    # Dask lets the allocator give back every 64 KB that are freed: a training of small networks
    # then spends half of its time on pages that it has had before
    "distributed.nanny.pre-spawn-environ": {},
}


@dataclass(frozen=True)
class Workers:
    """Processes that run tasks. `expected` is the digest of what they must answer when they are
    `asked`, empty where they are equal by construction; `attempts` says how often a task may end
    its process.
    """

    client: Client
    where: str
    attempts: int
    window: int | None
    asked: Asked = field(default_factory=Asked)
    expected: str = ""

    def number(self) -> int:
        """How many there are now: a cluster may grow and shrink."""
        return len(self.client.nthreads())


@contextlib.contextmanager
def local_workers(jobs: int, project: Project, scratch: Path) -> Iterator[Workers]:
    """Processes of this machine, one thread each. They end with this context, or with this process,
    however it ends: two must never share a checkpoint.

    They have the clean environment of the project, load its modules from their sources, and Dask
    works in the folder `scratch`, without the settings of its user.

    Raises
    ------
    WorkflowError
        a machine on which processes cannot share locks or open a port.
    """
    preparation = Preparation(tuple(folders(project)), tuple(python_path(project)))
    clean = {k: v for k, v in clean_environment(project).items() if not k.startswith("DASK_")}
    # for as long as the cluster lives: a process that was killed is replaced
    with started_in(clean), _quiet(), dask.config.set(dask_defaults()), dask.config.set(LOCAL):
        with running_loop() as loop:
            cluster = _started(jobs, preparation, scratch, loop)
            try:
                with contextlib.closing(cluster.get_client()) as client:
                    yield Workers(client, "this machine", 2, jobs)
            finally:
                _end(cluster)
                shutil.rmtree(scratch, ignore_errors=True)


def dask_defaults() -> dict[str, object]:
    """The settings of Dask as it is delivered: those of a user, in files or variables, may ask for
    encryption, other ports or plug-ins, which a cluster that lives as long as its command needs
    not.
    """
    settings: dict[str, object] = {}
    dask.config.refresh(config=settings, paths=[], env={})
    return settings


def user_settings() -> str:
    """Where the user has settings of Dask, in words; empty if there are none."""
    files = [
        str(file)
        for place in map(Path, dask.config.paths)
        for file in ([place] if place.is_file() else sorted(place.glob("*.y*ml")))
    ]
    variables = sorted(name for name in os.environ if name.startswith("DASK_"))
    return ", ".join([*variables, *files])


@contextlib.contextmanager
def running_loop() -> Iterator[IOLoop]:
    """An event loop in a thread of its own, for a cluster.

    Dask would start one, but gives the thread ten seconds: on a very busy machine that is too
    short, and the command ends with an assertion of Dask.
    """
    begun: Future[tuple[IOLoop, asyncio.Event]] = Future()

    async def until_closed() -> None:
        closed = asyncio.Event()
        begun.set_result((IOLoop.current(), closed))
        await closed.wait()

    def run() -> None:
        try:
            asyncio.run(until_closed())
        except BaseException as error:
            if begun.done():
                raise
            begun.set_exception(error)

    thread = threading.Thread(target=run, name="loop of a cluster", daemon=True)
    thread.start()
    loop, closed = begun.result()
    try:
        yield loop
    finally:
        loop.add_callback(closed.set)
        thread.join(timeout=10)


def _started(jobs: int, preparation: Preparation, scratch: Path, loop: IOLoop) -> LocalCluster:
    try:
        return LocalCluster(
            loop=loop,
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any port: a fixed one may be in use
            memory_limit=0,  # a task may need more than its share; the system decides
            local_directory=str(scratch),
            plugins=[_Prepared(preparation)],
        )
    except (OSError, RuntimeError) as error:
        causes = _causes(error)
        reason = next((cause for cause in causes if isinstance(cause, OSError)), causes[-1])
        shared = isinstance(reason, OSError) and sys.platform == "linux"
        raise WorkflowError(
            f"This machine does not let processes work together ({reason}), and tasks run in "
            "processes of their own that share locks and talk over 127.0.0.1. "
            + "On Linux, /dev/shm must be a folder that can be written. "
            * shared
            + 'A script of your own must start them below `if __name__ == "__main__":`, for each '
            "process reads it again."
        ) from error


@dataclass
class _Prepared(WorkerPlugin):
    """How Dask learns of a preparation."""

    preparation: Preparation

    def setup(self, worker: object) -> None:
        self.preparation.run()


def _causes(error: BaseException) -> list[BaseException]:
    chain = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    return chain


def _end(cluster: LocalCluster) -> None:
    """Kill the processes: what they have finished is on disk, and nobody waits for the rest."""
    for nanny in cluster.workers.values():
        nanny.close_gracefully()  # no new process for the one that ends
        with contextlib.suppress(psutil.NoSuchProcess):
            if nanny.pid:
                psutil.Process(nanny.pid).kill()
    cluster.close()


@contextlib.contextmanager
def existing_workers(address: str, asked: Asked) -> Iterator[Workers]:
    """The workers of the scheduler at `address`, for example `"tcp://10.0.0.1:8786"`.

    Raises
    ------
    WorkflowError
        no scheduler answers there; a worker answers what is `asked` otherwise than this process,
        has another Python, or more than one thread.
    """
    with _quiet():
        try:
            _require_answer(address)
            client = Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            settings = user_settings()
            raise WorkflowError(
                f"No scheduler of Dask answers at `--scheduler {address}` within {PATIENCE} s "
                f"({str(error) or type(error).__name__}). Give the address that `dask scheduler` "
                "prints, like tcp://10.0.0.1:8786."
                + f" Your settings of Dask apply, too: {settings}."
                * bool(settings)
            ) from error
        with contextlib.closing(client):
            ours = environment(asked)
            _require_equal(client, ours, asked)
            yield Workers(client, address, 2, None, asked, digest(ours))


def _require_answer(address: str) -> None:
    """Connect, or raise what Dask raises, before there is a client.

    One that finds no scheduler is closed when it is collected as garbage. Where that happens while
    Dask starts another loop, the process waits for its own lock, for ever.
    """

    async def ask() -> None:
        comm = await connect(address, timeout=PATIENCE)
        await comm.close()

    with running_loop() as loop:
        event_loop = loop.asyncio_loop  # type: ignore[attr-defined]  # tornado: any loop has one
        asyncio.run_coroutine_threadsafe(ask(), event_loop).result()


def _require_equal(client: Client, ours: Mapping[str, str], asked: Asked) -> None:
    """Raises WorkflowError naming each worker that would give other numbers."""
    environments = client.run(environment_at_first, asked, on_error="return")
    threads = client.nthreads()
    faults = []
    for worker, theirs in environments.items():
        if isinstance(theirs, BaseException):
            faults.append(f"  {worker}: {type(theirs).__name__}: {theirs}")
        elif theirs != ours:
            faults.append(f"  {worker} has other versions: {differences(ours, theirs)}")
        elif threads.get(worker, 1) != 1:
            faults.append(f"  {worker} has {threads[worker]} threads")
    if faults:
        raise WorkflowError(
            f"{len(faults)} of {len(environments)} workers would not give the numbers of "
            "this checkout:\n"
            + "\n".join(faults)
            + "\nInstall this version there, and start them again with `dask worker --nthreads 1`."
        )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What Dask logs about its own comings and goings is not for the user of a command; what he
    must know is said as an error.
    """
    logger = logging.getLogger("distributed")
    before, variable = logger.level, "DASK_LOGGING__DISTRIBUTED"
    inherited = os.environ.get(variable)
    os.environ[variable] = "critical"
    try:
        logger.setLevel(logging.CRITICAL)
        yield
    finally:
        logger.setLevel(before)
        if inherited is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = inherited
