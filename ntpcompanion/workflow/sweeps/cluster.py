"""An existing cluster of Dask as an executor, whose workers are watched while tasks run. Each task
looks itself whether the sources and libraries there are those of the command.

Import this module where a cluster is needed: Dask takes a second, and may not be installed.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dask
from distributed import Client, KilledWorker
from distributed.comm import connect
from distributed.utils import silence_logging_cmgr

from ntpcompanion.workflow.base.errors import WorkflowError
from ntpcompanion.workflow.sweeps.executors import (
    KILLED,
    SILENT,
    Executor,
    Note,
    Outcome,
    outcome_of,
)

PATIENCE = 5  # seconds until a scheduler must have answered
ANSWER = 10.0  # seconds in which it must answer while tasks run
LOST = 60.0  # seconds in which a lost worker may be replaced
# a cluster that has had no worker yet may grow only when it sees tasks, and queue for machines
NEVER = 1800.0


@contextlib.contextmanager
def cluster_at(address: str) -> Iterator[Executor]:
    """The cluster of the scheduler at `address`, for example `"tcp://10.0.0.1:8786"`.

    Its tasks are submitted by the client itself and not by its `get_executor()`, whose futures do
    not say which tasks have begun: one that fails must not cancel those.
    """
    # what Dask logs about its own comings and goings is not for the user of a command
    with silence_logging_cmgr(logging.CRITICAL), contextlib.closing(_client(address)) as client:
        yield Executor(
            lambda call: client.submit(outcome_of, call, None, pure=False),
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
        self._empty_since: float | None = None
        self._limit = NEVER

    def check(self, note: Note) -> None:
        now = self._clock()
        if self._has_workers():
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

    def _has_workers(self) -> bool:
        try:
            answer: dict[str, Any] = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER
            )
        except Exception as error:
            raise _lost(self._address, error) from error
        return bool(answer["workers"])


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


def _outcome(future: Any, address: str) -> Outcome:
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
