"""A process that times workloads on request, with the code that its PYTHONPATH leads to.

`python -P turns.py [MODULE:FUNCTION]` reads requests from standard input, a line of JSON each, and
answers each with a line. The function is the clock; by default it counts the seconds that the
processors work for this process, which neighbours hardly change. Nothing of ours is imported: the
code that is timed may be of any age.
"""

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

CLOCK = "time:process_time"


class Timed:
    """The workloads that were prepared, by name: code and the names that it knows."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.prepared: dict[str, tuple[Any, dict[str, Any]]] = {}

    def prepare(self, name: str, setup: str, statement: str, package: str) -> dict[str, Any]:
        """Run the setup and the statement once; the answer tells where the package came from."""
        names: dict[str, Any] = {"__name__": "__workload__"}
        exec(compile(setup, f"<setup of {name}>", "exec"), names)
        code = compile(statement, f"<statement of {name}>", "exec")
        exec(code, names)
        self.prepared[name] = code, names
        return {"file": getattr(sys.modules.get(package), "__file__", None)}

    def time(self, name: str, number: int) -> dict[str, Any]:
        """Seconds of so many runs of the statement."""
        code, names = self.prepared[name]
        began = self.clock()
        for _ in range(number):
            exec(code, names)
        return {"seconds": self.clock() - began}


def answers(timed: Timed, lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """An answer to each request; `error` is its only key if the workload raised something."""
    for line in lines:
        request = json.loads(line)
        try:
            yield getattr(timed, request.pop("do"))(**request)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            yield {"error": "".join(traceback.format_exception_only(error)).strip()}


def main() -> None:
    """Answer until standard input ends. What a workload prints goes to standard error."""
    module, _, function = (sys.argv[1] if len(sys.argv) > 1 else CLOCK).partition(":")
    timed = Timed(getattr(importlib.import_module(module), function))
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        for answer in answers(timed, sys.stdin):
            print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
