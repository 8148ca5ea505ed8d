"""Is anybody there? Asked of a cluster of others while tasks run on it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ntpcompanion.workflow.base.errors import WorkflowError

if TYPE_CHECKING:
    from distributed import Client

ANSWER = 10.0  # seconds in which a scheduler must answer
SILENT = 30.0  # seconds without a sign of life after which a worker counts as lost
LOST = 60.0  # seconds in which a lost worker may be replaced
# a cluster that has had no worker yet may grow only when it sees tasks, and queue for machines
NEVER = 1800.0


class Watch:
    """Notes when the last worker of a cluster has left, and ends the wait for another one.

    Parameters
    ----------
    client, where
        of the cluster, and how messages name it.
    note
        is given a sentence.
    clock
        seconds, from any start.
    """

    def __init__(
        self,
        client: "Client",
        where: str,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._where, self._note, self._clock = client, where, note, clock
        self._signs: dict[str, tuple[object, float]] = {}  # the last of each worker, and when
        self._alone_since: float | None = None
        self._limit = NEVER

    def look(self) -> None:
        """Ask once. Raises WorkflowError if the cluster does not answer, or has been without a
        worker for too long.
        """
        now = self._clock()
        if self._present(now):
            if self._alone_since is not None:
                self._note(f"A worker is on {self._where}: the tasks go on.")
            self._alone_since, self._limit = None, LOST
        elif self._alone_since is None:
            self._alone_since = now
            self._note(
                f"No worker is on {self._where} now. The tasks wait for one, for up to "
                f"{self._limit:.0f} s; Ctrl-C ends the command, and what is finished stays."
            )
        elif now - self._alone_since > self._limit:
            raise WorkflowError(
                f"No worker has been on {self._where} for {self._limit:.0f} s. Start workers, and "
                "run the same command again: it goes on from what is finished."
            )

    def _present(self, now: float) -> list[str]:
        """The workers that have given a sign of life lately."""
        workers = self._ask()
        self._signs = {
            address: known
            if (known := self._signs.get(address)) and known[0] == worker.get("last_seen")
            else (worker.get("last_seen"), now)
            for address, worker in workers.items()
        }
        return [address for address, (_, seen) in self._signs.items() if now - seen < SILENT]

    def _ask(self) -> dict[str, dict[str, Any]]:
        try:
            answer: dict[str, Any] = self._client.sync(
                self._client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER
            )
        except Exception as error:
            raise WorkflowError(
                f"The cluster on {self._where} was lost ({type(error).__name__}: {error}). The "
                "same command goes on from what is finished."
            ) from error
        workers: dict[str, dict[str, Any]] = answer["workers"]
        return workers
