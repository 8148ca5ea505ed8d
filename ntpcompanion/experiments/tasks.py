"""The runs of a record as a table."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from pydantic import BaseModel

from ntpcompanion.recorded import Run


def tasks_table(tasks: Iterable[Run[Any, Any]]) -> pd.DataFrame:
    """The runs of a record, as `show_record` returns them.

    Parameters
    ----------
    tasks
        the runs, of one experiment.

    Returns
    -------
    pd.DataFrame
        a row for each run: the fields of its plan (those of a part of the plan instead of the
        part) and of its result, and the `result` itself.

    Examples
    --------
    >>> from ntpcompanion.experiments import phase, tasks_table
    >>> from ntpcompanion.recorded import Run
    >>> plan = phase.Plan(num_contexts=8, vocab_size=4, support_sizes=(2,), draws=3, seed=0)
    >>> table = tasks_table([Run(plan, phase.run(plan))])
    >>> int(table.num_contexts[0]), sum(table.result[0].draws)
    (8, 3)
    """
    rows = []
    for task in tasks:
        row: dict[str, Any] = {}
        for name, value in vars(task.plan).items():
            row |= vars(value) if isinstance(value, BaseModel) else {name: value}
        rows.append(row | vars(task.result) | {"result": task.result})
    return pd.DataFrame(rows)
