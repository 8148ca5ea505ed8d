"""One run of a record: what `show_record` gives to a notebook, and what experiments summarize.

It stands between both: the workflow reads records and knows no experiment, experiments know their
plans and results and read no files.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

Plan = TypeVar("Plan")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Run(Generic[Plan, Result]):
    """A run of an experiment, recorded or made now.

    Fields
    ------
    plan
        of the experiment, which decides the numbers.
    result
        what `run(plan)` of the experiment returned.
    seconds
        of computing; NaN if nobody took the time.

    Examples
    --------
    >>> from ntpcompanion.experiments import phase, tasks_table
    >>> from ntpcompanion.recorded import Run
    >>> plan = phase.Plan(num_contexts=8, vocab_size=4, support_sizes=(2,), draws=3, seed=0)
    >>> table = tasks_table([Run(plan, phase.run(plan))])
    >>> int(table.num_contexts[0])
    8
    """

    plan: Plan
    result: Result
    seconds: float = float("nan")
