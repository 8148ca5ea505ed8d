"""An existing cluster of Dask as an executor: its workers are asked whether they would give the
numbers of this checkout, and watched while tasks run.

Import this module where a cluster is needed: Dask takes a second, and may not be installed.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
from distributed import Client, KilledWorker
from distributed.comm import connect
from distributed.utils import silence_logging_cmgr

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.sweeps.executors import (
    KILLED,
    Executor,
    NotDone,
    Note,
    Outcome,
    Task,
    make,
)
from ntpcompanion.workflow.sweeps.worker_environment import (
    Requirements,
    differences,
    digest,
    environment,
    environment_at_first,
    requirements_of,
)

PATIENCE = 5  # seconds until a scheduler must have answered
ANSWER = 10.0  # seconds in which it must answer while tasks run
SILENT = 30.0  # seconds without a sign of life after which a worker counts as lost
LOST = 60.0  # seconds in which a lost worker may be replaced
# a cluster that has had no worker yet may grow only when it sees tasks, and queue for machines
NEVER = 1800.0


@contextlib.contextmanager
def cluster_at(address: str, project: Project) -> Iterator[Executor]:
    """The cluster of the scheduler at `address`, for example `"tcp://10.0.0.1:8786"`.

    Its tasks are submitted by the client itself and not by its `get_executor()`, whose futures do
    not say which tasks have begun: one that fails must not cancel those.

    Raises
    ------
    WorkflowError
        no scheduler answers there; a worker has other sources, versions or variables than this
        process, another Python, or more than one thread.
    """
    # what Dask logs about its own comings and goings is not for the user of a command
    with silence_logging_cmgr(logging.CRITICAL), contextlib.closing(_client(address)) as client:
        required = requirements_of(project)
        ours = environment(required)
        _require_equal(client, ours, required)
        expected = digest(ours)
        yield Executor(
            lambda task: client.submit(_make, task, required, expected, pure=False),
            lambda: len(client.nthreads()),
            outcome=lambda future: _outcome(future, address),
            check=Presence(client, address).check,
            drop=lambda futures: _drop(client, futures),
        )


class Presence:
    """Whether a cluster still has workers: notes when the last one has left, and ends the wait for
    another one.

    Parameters
    ----------
    client, address
        of the cluster of Dask.
    clock
        seconds, from any start.
    """

    def __init__(
        self, client: Any, address: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._address, self._clock = client, address, clock
        self._signs: dict[str, tuple[object, float]] = {}  # the last of each worker, and when
        self._empty_since: float | None = None
        self._limit = NEVER

    def check(self, note: Note) -> None:
        """Ask once. Raises WorkflowError if the cluster does not answer, or has been without a
        worker for too long.
        """
        now = self._clock()
        for worker, sign in (signs := self._last_signs()).items():
            if (known := self._signs.get(worker)) is None or known[0] != sign:
                self._signs[worker] = (sign, now)
        if any(now - self._signs[worker][1] < SILENT for worker in signs):
            if self._empty_since is not None:
                note(f"A worker is on {self._address}: the tasks go on.")
            self._empty_since, self._limit = None, LOST
        elif self._empty_since is None:
            self._empty_since = now
            note(
                f"No worker is on {self._address} now. The tasks wait for one, for up to "
                f"{self._limit:.0f} s; Ctrl-C ends the command, and what is finished stays."
            )
        elif now - self._empty_since > self._limit:
            raise WorkflowError(
                f"No worker has been on {self._address} for {self._limit:.0f} s. Start workers, "
                "and run the same command again: it goes on from what is finished."
            )

    def _last_signs(self) -> dict[str, object]:
        """When the scheduler last heard of each worker."""
        try:
            answer: dict[str, Any] = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER
            )
        except Exception as error:
            raise _lost(self._address, error) from error
        return {name: worker.get("last_seen") for name, worker in answer["workers"].items()}


def _client(address: str) -> Client:
    try:
        _require_answer(address)
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        settings = _user_settings()
        also = f" Your settings of Dask apply, too: {settings}." if settings else ""
        raise WorkflowError(
            f"No scheduler of Dask answers at `--scheduler {address}` within {PATIENCE} s "
            f"({str(error) or type(error).__name__}). Give the address that `dask scheduler` "
            f"prints, like tcp://10.0.0.1:8786.{also}"
        ) from error


def _require_answer(address: str) -> None:
    """Connect, or raise what Dask raises, before there is a client: one that finds no scheduler may
    hang this process when it is collected as garbage.
    """

    async def ask() -> None:
        comm = await connect(address, timeout=PATIENCE)
        await comm.close()

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs, in Jupyter
        thread.submit(asyncio.run, ask()).result()


def _user_settings() -> str:
    """Where the user has settings of Dask, in words; empty if there are none."""
    files = [
        str(file)
        for place in map(Path, dask.config.paths)
        for file in ([place] if place.is_file() else sorted(place.glob("*.y*ml")))
    ]
    variables = sorted(name for name in os.environ if name.startswith("DASK_"))
    return ", ".join([*variables, *files])


def _require_equal(client: Client, ours: Mapping[str, str], required: Requirements) -> None:
    """Raises WorkflowError naming each worker that would give other numbers."""
    answers = client.run(environment_at_first, required, on_error="return")
    threads = client.nthreads()
    faults = []
    for worker, theirs in answers.items():
        if isinstance(theirs, BaseException):
            faults.append(f"  {worker}: {type(theirs).__name__}: {theirs}")
        elif theirs != ours:
            faults.append(f"  {worker} has other versions: {differences(ours, theirs)}")
        elif threads.get(worker, 1) != 1:
            faults.append(f"  {worker} has {threads[worker]} threads")
    if faults:
        raise WorkflowError(
            f"{len(faults)} of {len(answers)} workers would not give the numbers of this "
            "checkout:\n"
            + "\n".join(faults)
            + "\nInstall this version there, and start them again with `dask worker --nthreads 1`."
        )


def _make(task: Task, required: Requirements, expected: str) -> dict[str, Any]:
    """Run by a worker: a task, if the worker would give the expected numbers before and after."""

    def require(present: dict[str, str]) -> None:
        if digest(present) != expected:
            packages = ", ".join(required.packages)
            raise NotDone(
                state="rejected",
                error=f"has other versions of {packages} or of the numeric libraries, or other "
                "values of the variables that tasks may read",
            )

    def checked(lifeline: None) -> dict[str, Any]:
        require(environment_at_first(required))
        result = task.call(lifeline=lifeline)
        require(environment(required))
        return result

    return make(replace(task, call=checked), None)


def _outcome(future: Any, address: str) -> Outcome:
    """What became of a task. Raises WorkflowError where the cluster was lost."""
    try:
        return Outcome(**future.result())
    except KilledWorker:
        return Outcome("killed", error=KILLED, traceback=KILLED)
    except Exception as error:  # what a task raises comes as an outcome: this is the cluster's
        raise _lost(address, error) from error
    finally:
        future.release()  # what nobody waits for is not made again when its worker ends


def _drop(client: Client, futures: Sequence[Any]) -> None:
    """Cancel what no worker has begun."""
    begun = {key for keys in client.processing().values() for key in keys}
    # asked for second: what has ended meanwhile is kept
    begun |= {key for key, holders in client.who_has(futures).items() if holders}
    client.cancel([future for future in futures if future.key not in begun])


def _lost(address: str, error: Exception) -> WorkflowError:
    return WorkflowError(
        f"The cluster on {address} was lost ({type(error).__name__}: {error}). The same command "
        "goes on from what is finished."
    )
