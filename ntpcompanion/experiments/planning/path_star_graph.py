"""What a network says about one path-star graph while it is trained."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.planning import path_star
from ntpcompanion.planning.answer_losses import network_predictor
from ntpcompanion.planning.path_star_task import draw_graphs
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run

DIGITS = 4  # of a probability: more than a figure shows
Labels = tuple[int, ...]


class Plan(path_star.Plan):
    """A run of `path_star` on paths of one length, followed on one graph.

    `lengths` holds one length, `labels` is at least `arms` · (length − 1) + 1, and `others` is 1
    with the objective "reversed".
    """

    @model_validator(mode="after")
    def _has_one_length(self) -> "Plan":
        if len(self.lengths) != 1:
            raise ValueError(
                f"`lengths` must hold one length, that of the graph, got {list(self.lengths)}."
            )
        return self


class Result(experiment.Result):
    """One graph, and the probabilities of its nodes under teacher forcing."""

    root: Annotated[int, Field(description="label of the root")]
    branches: Annotated[
        tuple[Labels, ...],
        Field(description="labels of each arm after the root, the arm of the goal first"),
    ]
    edges: Annotated[tuple[Labels, ...], Field(description="(parent, child) as they are listed")]
    answer: Annotated[Labels, Field(description="the path, backwards where it is written so")]
    steps: Annotated[Labels, Field(description="at which the network was asked")]
    probabilities: Annotated[
        tuple[tuple[tuple[float, ...], ...], ...],
        Field(description="steps × l × N: of each label at each position, to four digits"),
    ]
    solved_at: Annotated[int | None, Field(description="as in `path_star`")]


def run(plan: Plan) -> Result:
    """Train one network as `path_star` does, and ask it about one graph at every evaluation.

    Returns the graph and the probabilities of its nodes, up to the evaluation at which the run
    succeeds on held-out graphs. Equal seeds give the same graph and the same training as in
    `path_star`, whatever the query's place and the objective. Costs what `path_star` costs.

    Raises
    ------
    ValueError
        a size that is out of range.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import path_star_graph
    >>> size = {"width": 8, "layers": 1, "heads": 1}
    >>> values = {"size": size, "steps": 4, "every": 2, "batch_size": 4, "held_out": 20, "seed": 0}
    >>> found = path_star_graph.run(path_star_graph.Plan.from_json(values))
    >>> found.steps, found.answer[0] == found.root
    ((0, 2, 4), True)
    """
    (task,) = plan.tasks()
    graph = draw_graphs(task, 1, stream(plan.seed, "the graph that is followed"))
    model = path_star.build_model_of(plan)
    predict = network_predictor(model, task, teacherless=plan.objective == "teacherless")
    asked, solved_at = {}, None
    for evaluation in path_star.evaluations(plan, model, path_star.fixed_graphs(plan)):
        log_probabilities = predict(graph.prefix, graph.answer[:, :-1])[0, :, : task.labels]
        asked[evaluation.step] = np.exp(log_probabilities).round(DIGITS).tolist()
        if path_star.succeeded(plan, evaluation):
            solved_at = evaluation.step
            break
    return Result(
        root=int(graph.root[0]),
        branches=_frozen(graph.branches[0].tolist()),
        edges=_frozen(graph.edges[0].tolist()),
        answer=_frozen(graph.answer[0].tolist()),
        steps=tuple(asked),
        probabilities=_frozen(list(asked.values())),
        solved_at=solved_at,
    )


def followed_runs(tasks: Sequence[Run[Plan, Result]]) -> dict[str, Any]:
    """Recorded runs on one graph, as the figure that readers touch shows them.

    Parameters
    ----------
    tasks
        of a record, all of one seed.

    Returns
    -------
    dict
        `root` and `branches` of the graph, and `runs`: `objective`, `query`, the `question` as a
        text, `answer`, `steps`, `probabilities` and `solved`, the step at which the run succeeds.
    """
    runs = []
    for task in tasks:
        plan, result = task.plan, task.result
        edges = " ".join(f"{parent} {child}" for parent, child in result.edges)
        ends = f"{result.root} {result.branches[0][-1]}"
        parts = (edges, ends) if plan.query == "last" else (ends, edges)
        run = {
            "objective": plan.objective,
            "query": plan.query,
            "question": " / ".join(parts) + " =",
            "answer": result.answer,
            "steps": result.steps,
            "probabilities": result.probabilities,
            "solved": result.solved_at,
        }
        runs.append(run)
    return {"root": result.root, "branches": result.branches, "runs": runs}


def _frozen(nested: Any) -> Any:
    return tuple(map(_frozen, nested)) if isinstance(nested, list) else nested
