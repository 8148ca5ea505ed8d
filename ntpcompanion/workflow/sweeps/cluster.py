"""An existing cluster of Dask as an engine: its workers are asked whether they would give the
numbers of this checkout, and watched while tasks run.

Import this module where a cluster is needed: Dask takes a second, and may not be installed.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
from distributed import Client, KilledWorker
from distributed.comm import connect

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.sweeps.calls import KILLED, Call, NotDone, Outcome, make
from ntpcompanion.workflow.sweeps.preparation import (
    Asked,
    asked_of,
    differences,
    digest,
    environment,
    environment_at_first,
)
from ntpcompanion.workflow.sweeps.watch import Watch

PATIENCE = 5  # seconds until a scheduler must have answered
Expected = tuple[Asked, str]  # what a worker is asked for, and the digest of its answer


class Cluster:
    """An engine: the workers of a cluster, which has a queue of its own."""

    window = None

    def __init__(self, client: Client, where: str, expected: Expected) -> None:
        self.where, self._client, self._expected = where, client, expected
        self._watch: Watch | None = None

    def submit(self, call: Call) -> Any:
        """Let a worker make a call, if it would give the numbers of this checkout."""
        return self._client.submit(_make, call, expected=self._expected, pure=False)

    def outcome(self, future: Any) -> Outcome:
        """What became of a call. Raises WorkflowError where the cluster was lost."""
        try:
            return Outcome(**future.result())
        except KilledWorker:
            return Outcome("killed", error=KILLED, traceback=KILLED)
        except Exception as error:
            # what a task raises comes as an outcome: this is the cluster's
            raise WorkflowError(
                f"The cluster on {self.where} was lost ({type(error).__name__}: {error})."
            ) from error
        finally:
            future.release()  # what nobody waits for is not made again when its worker ends

    def number(self) -> int:
        """How many workers there are now: a cluster may grow and shrink."""
        return len(self._client.nthreads())

    def look(self, note: Callable[[str], None]) -> None:
        """Raises WorkflowError if it does not answer, or has been without a worker for too long."""
        self._watch = self._watch or Watch(self._client, self.where, note)
        self._watch.look()

    def drop(self, futures: Sequence[Any]) -> None:
        """Cancel what no worker has begun."""
        begun = {key for keys in self._client.processing().values() for key in keys}
        # asked for second: what has ended meanwhile is kept
        begun |= {key for key, holders in self._client.who_has(futures).items() if holders}
        self._client.cancel([future for future in futures if future.key not in begun])


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
def cluster_at(address: str, project: Project) -> Iterator[Cluster]:
    """The cluster of the scheduler at `address`, for example `"tcp://10.0.0.1:8786"`.

    Raises
    ------
    WorkflowError
        no scheduler answers there; a worker has other sources, versions or variables than this
        process, another Python, or more than one thread.
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
            asked = asked_of(project)
            ours = environment(asked)
            _require_equal(client, ours, asked)
            yield Cluster(client, address, (asked, digest(ours)))


def _require_answer(address: str) -> None:
    """Connect, or raise what Dask raises, before there is a client: one that finds no scheduler may
    hang this process when it is collected as garbage.
    """

    async def ask() -> None:
        comm = await connect(address, timeout=PATIENCE)
        await comm.close()

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs, in Jupyter
        thread.submit(asyncio.run, ask()).result()


def _make(call: Call, expected: Expected) -> dict[str, Any]:
    """Run by a worker."""

    def checked(*arguments: Any, lifeline: None) -> Any:
        _require(expected, first=True)
        result = call.function(*arguments, lifeline=lifeline)
        _require(expected, first=False)
        return result

    return make(Call(checked, call.arguments, call.parameters), None)


def _require(expected: Expected, *, first: bool) -> None:
    asked, wanted = expected
    present = environment_at_first if first else environment
    if digest(present(asked)) != wanted:
        packages = ", ".join(asked.packages)
        raise NotDone(
            state="rejected",
            error=f"has other versions of {packages} or of the numeric libraries, or other values "
            "of the variables that tasks may read",
        )


def _require_equal(client: Client, ours: Mapping[str, str], asked: Asked) -> None:
    """Raises WorkflowError naming each worker that would give other numbers."""
    answers = client.run(environment_at_first, asked, on_error="return")
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
