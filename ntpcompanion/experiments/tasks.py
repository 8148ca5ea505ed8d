"""The runs of a record as a table."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from pydantic import BaseModel


def tasks_table(experiment: Any, tasks: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """The runs of a record, as `show_record` returns them.

    Parameters
    ----------
    experiment
        the module whose plans and results they are.
    tasks
        a mapping with `parameters` and `result` for each run.

    Returns
    -------
    pd.DataFrame
        a row for each run: the fields of its plan (those of a part of the plan instead of the
        part) and of its result, and the `result` itself.

    Raises
    ------
    ValueError
        as `from_json`.

    Examples
    --------
    >>> from ntpcompanion.experiments import phase, tasks_table
    >>> plan = phase.Plan(num_contexts=8, vocab_size=4, support_sizes=(2,), draws=3, seed=0)
    >>> task = {"parameters": plan.to_json(), "result": phase.run(plan).to_json()}
    >>> table = tasks_table(phase, [task])
    >>> int(table.num_contexts[0]), sum(table.result[0].draws)
    (8, 3)
    """
    rows = []
    for task in tasks:
        plan = experiment.Plan.from_json(task["parameters"])
        result = experiment.Result.from_json(task["result"])
        row: dict[str, Any] = {}
        for name, value in vars(plan).items():
            row |= vars(value) if isinstance(value, BaseModel) else {name: value}
        rows.append(row | vars(result) | {"result": result})
    return pd.DataFrame(rows)
