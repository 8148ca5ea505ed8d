"""How training starts where the answer is written from root to goal, and from goal to root."""

from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from ntpcompanion.checks import checked
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.planning import path_star, path_star_graph
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.planning.answer_losses import network_predictor
from ntpcompanion.planning.answer_scores import decode_answers
from ntpcompanion.planning.path_star_task import draw_graphs
from ntpcompanion.randomness import stream

Order = Literal["next_token", "reversed"]
ORDERS: tuple[Order, ...] = ("next_token", "reversed")
ANSWERED = 2000  # graphs, by teacher forcing and by decoding


class Plan(path_star_graph.Plan):
    """A run of `path_star` on paths of one length; its `objective` is replaced by each order.

    `lengths` holds one length, and `labels` is at least `arms` · (length − 1) + 1; `others` is 1.
    """


class Evaluated(experiment.Result):
    """A network after some steps."""

    objective: Annotated[str, Field(description="one of `ORDERS`")]
    step: int
    accuracy: Annotated[
        tuple[float, ...],
        Field(description="A_i on held-out graphs, in the order in which the answer is written"),
    ]


class Result(experiment.Result):
    """The accuracies of both networks, and what the first one answers at the end."""

    evaluations: Annotated[tuple[Evaluated, ...], Field(description="of each order, from step 0")]
    disagreements: Annotated[
        int, Field(description="graphs that teacher forcing or decoding alone answers exactly")
    ]
    exact: Annotated[float, Field(description="fraction of exact answers by teacher forcing")]

    @property
    def table(self) -> pd.DataFrame:
        """`objective`, `step`, and the accuracy at each position of the answer as it is written."""
        rows = table_of(self.evaluations)
        return rows[["objective", "step"]].join(pd.DataFrame(rows.accuracy.tolist()))

    @checked
    def accuracies(self, objective: Order) -> pd.DataFrame:
        """A row for each step, a column for each node of the path, counted from the root."""
        table = self.table
        chosen = table[table.objective == objective].drop(columns="objective").set_index("step")
        return chosen[chosen.columns[::-1]] if objective == "reversed" else chosen


def run(plan: Plan) -> Result:
    """Train one network for each order of the answer, whether it succeeds or not.

    Returns accuracies by position at each evaluation; of the network trained from root to goal the
    graphs on which teacher forcing and greedy decoding disagree. Both networks start from the
    parameters that `path_star` gives them, and see its graphs. Costs twice what `path_star` costs.

    Raises
    ------
    ValueError
        a size that is out of range.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import path_star_orders
    >>> size = {"width": 8, "layers": 1, "heads": 1}
    >>> values = {"size": size, "steps": 4, "every": 2, "batch_size": 4, "held_out": 20, "seed": 0}
    >>> found = path_star_orders.run(path_star_orders.Plan.from_json(values))
    >>> found.accuracies("reversed").index.tolist(), found.disagreements
    ([0, 2, 4], 0)
    """
    plans = [Plan.from_json(plan.to_json() | {"objective": order}) for order in ORDERS]
    models = [path_star.build_model_of(one) for one in plans]
    evaluations = tuple(
        Evaluated(objective=one.objective, step=after.step, accuracy=after.scores[0].accuracy)
        for one, model in zip(plans, models, strict=True)
        for after in path_star.evaluations(one, model)
    )
    forced, decoded = _exact(plans[0], models[0])
    return Result(
        evaluations=evaluations,
        disagreements=int((forced != decoded).sum()),
        exact=float(forced.mean()),
    )


def _exact(plan: Plan, model: LanguageModel) -> tuple[np.ndarray, np.ndarray]:
    """Which graphs are answered exactly, by teacher forcing and by decoding."""
    (task,) = plan.tasks()
    graphs = draw_graphs(task, ANSWERED, stream(plan.seed, "identity"))
    predict = network_predictor(model, task)
    forced = predict(graphs.prefix, graphs.answer[:, :-1]).argmax(2) == graphs.answer
    return forced.all(1), (decode_answers(graphs, predict) == graphs.answer).all(1)
