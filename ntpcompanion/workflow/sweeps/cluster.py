"""An existing cluster of Dask as an executor: its workers are asked whether they would give the
numbers of this checkout, and watched while tasks run.

Import this module where a cluster is needed: Dask takes a second, and may not be installed.
"""

import asyncio
import contextlib
import functools
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import dask
from distributed import Client, KilledWorker
from distributed.comm import connect
from distributed.utils import silence_logging_cmgr

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.base.files import canonical_json, sha256
from ntpcompanion.workflow.base.project import Project
from ntpcompanion.workflow.base.provenance import library_versions, python_minor
from ntpcompanion.workflow.hashing.elsewhere import file_hashes
from ntpcompanion.workflow.sweeps.executors import (
    KILLED,
    SILENT,
    Executor,
    NotDone,
    Note,
    Outcome,
    outcome_of,
)
from ntpcompanion.workflow.sweeps.task_inputs import package_folder

PATIENCE = 5  # seconds until a scheduler must have answered
ANSWER = 10.0  # seconds in which it must answer while tasks run
QUIET = 30.0  # seconds without a sign of life after which a worker counts as lost
LOST = 60.0  # seconds in which a lost worker may be replaced
# a cluster that has had no worker yet may grow only when it sees tasks, and queue for machines
NEVER = 1800.0


class Required(NamedTuple):
    """What must be equal where tasks run: sources of the `packages`, versions of the `libraries`,
    and the `variables` of the environment that tasks may read.
    """

    packages: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    @classmethod
    def by(cls, project: Project) -> "Required":
        """Those of a project: its packages and the one that runs this, and its settings."""
        names = [__name__.partition(".")[0], *(folder.name for folder in project.packages)]
        settings = project.settings
        return cls(tuple(dict.fromkeys(names)), settings.libraries, tuple(settings.environment))


def environment(required: Required) -> dict[str, str]:
    """What decides numbers in this process: SHA-256 of each source file of the packages, Python,
    the libraries without the suffix of their build (`2.9.0+cu128` is `2.9.0`), and the start of a
    SHA-256 of each variable, whose value may be a secret. Raises WorkflowError for a package that
    is not installed here.
    """
    facts = {"Python": python_minor()}
    for name, version in library_versions(required.libraries).items():
        facts[name] = version.partition("+")[0]
    for name in filter(os.environ.__contains__, required.variables):
        facts[f"the variable {name}"] = f"with the hash {sha256(os.environ[name])[:8]}"
    for package in required.packages:
        files = file_hashes(package_folder(package)).items()
        facts |= {f"{package}/{name}": value for name, value in files if name.endswith(".py")}
    return facts


@functools.cache
def environment_at_first(required: Required) -> dict[str, str]:
    """The environment when this process was first asked for it: it keeps the modules that it has
    loaded, whatever becomes of their files.
    """
    return environment(required)


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """The first few entries of two environments that differ, in words."""
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    shown = [
        name
        if "/" in name
        else f"{name} {theirs.get(name, 'missing')} instead of {ours.get(name, 'none')}"
        for name in names[:3]
    ]
    return ", ".join(shown) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


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
        required = Required.by(project)
        ours = environment(required)
        _require_equal(client, ours, required)
        equal = functools.partial(_require_digest, required, _digest(ours))
        yield Executor(
            lambda call: client.submit(outcome_of, call, None, equal, pure=False),
            lambda: len(client.nthreads()),
            outcome=lambda future: _outcome(future, address),
            check=Presence(client, address).check,
            drop=lambda futures: _drop(client, futures),
        )


class Presence:
    """Whether the cluster of a `client` still has workers: notes when the last one has left, and
    ends the wait for another one. The `clock` gives seconds, from any start.
    """

    def __init__(
        self, client: Any, address: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._client, self._address, self._clock = client, address, clock
        self._signs: dict[str, object] = {}  # the last of each worker
        self._alive_at = -QUIET
        self._empty_since: float | None = None
        self._limit = NEVER

    def check(self, note: Note) -> None:
        """Ask once. Raises WorkflowError if the cluster does not answer, or has been without a
        worker for too long.
        """
        now, before = self._clock(), self._signs
        self._signs = self._last_signs()
        if any(before.get(worker) != sign for worker, sign in self._signs.items()):
            self._alive_at = now
        if self._signs and now - self._alive_at < QUIET:
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
    async def ask() -> None:
        comm = await connect(address, timeout=PATIENCE)
        await comm.close()

    try:
        # before there is a client: one that finds no scheduler may hang this process when it is
        # collected as garbage. In a thread: this one may have a loop that runs, in Jupyter
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, ask()).result()
        return Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        variables = sorted(name for name in os.environ if name.startswith("DASK_"))
        files = [
            str(file)
            for place in map(Path, dask.config.paths)
            for file in ([place] if place.is_file() else sorted(place.glob("*.y*ml")))
        ]
        settings = ", ".join([*variables, *files])
        also = f" Your settings of Dask apply, too: {settings}." if settings else ""
        raise WorkflowError(
            f"No scheduler of Dask answers at `--scheduler {address}` within {PATIENCE} s "
            f"({str(error) or type(error).__name__}). Give the address that `dask scheduler` "
            f"prints, like tcp://10.0.0.1:8786.{also}"
        ) from error


def _require_equal(client: Client, ours: Mapping[str, str], required: Required) -> None:
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


def _digest(facts: Mapping[str, str]) -> str:
    return sha256(canonical_json(facts))


def _require_digest(required: Required, expected: str) -> None:
    """Raised by a worker that may have come later: NotDone unless it would give our numbers."""
    present = environment_at_first(required), environment(required)
    if any(_digest(facts) != expected for facts in present):
        packages = ", ".join(required.packages)
        raise NotDone(
            state="rejected",
            error=f"has other versions of {packages} or of the numeric libraries, or other "
            "values of the variables that tasks may read",
        )


def _outcome(future: Any, address: str) -> Outcome:
    """What became of a task. Raises WorkflowError where the cluster was lost."""
    try:
        outcome: Outcome = future.result()
        return outcome
    except KilledWorker:
        lost = {"seconds": 0.0, "host": "", "hardware": None}
        return {**SILENT, "state": "killed", "error": KILLED, "traceback": KILLED, **lost}
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
