"""Does a network learn to plan on path-star graphs? One training run, with the accuracy at each
position on the way.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.planning.answer_losses import (
    INITIAL_DEVIATION,
    Objective,
    build_planner,
    network_predictor,
)
from ntpcompanion.planning.answer_scores import AnswerScores, score_answers
from ntpcompanion.planning.path_star_task import Graphs, PathStar, draw_graphs
from ntpcompanion.planning.training import Evaluation, train_planner
from ntpcompanion.randomness import stream

FIRST_NODE = 1  # the position of the node after the root: the one that must be planned


class Plan(experiment.Plan):
    """A task, an objective, a network, and how long it is trained.

    `labels` is at least `arms` · (length − 1) + 1 for each of the `lengths`; `others` is 1 with
    the objective "reversed".
    """

    arms: Annotated[int, Field(ge=2, description="d")] = 2
    lengths: Annotated[
        tuple[Annotated[int, Field(ge=2)], ...],
        Field(min_length=1, description="l, nodes of a path; a batch is divided among several"),
    ] = (4,)
    labels: Annotated[int, Field(ge=3, description="N, at least d (l − 1) + 1")] = 8
    query: Annotated[
        Literal["last", "first"], Field(description="root and goal after or before the edges")
    ] = "last"
    separators: Annotated[bool, Field(description="a token between edges")] = False
    objective: Annotated[
        Literal["next_token", "reversed", "teacherless"],
        Field(description="next token; next token of the path written backwards; all at once"),
    ] = "next_token"
    others: Annotated[
        float,
        Field(ge=0, description="weight of tokens other than the first node, whose weight is 1"),
    ] = 1.0
    size: TransformerSize
    steps: Annotated[int, Field(ge=1, description="of AdamW, at most")]
    every: Annotated[int, Field(ge=1, description="steps between two evaluations")] = 250
    batch_size: Annotated[int, Field(ge=1, description="graphs of a step")] = 128
    learning_rate: Annotated[float, Field(gt=0, description="after a warm-up of 100 steps")] = 1e-3
    deviation: Annotated[
        float, Field(gt=0, description="of the initial matrices and embeddings")
    ] = INITIAL_DEVIATION
    graphs: Annotated[
        int | None, Field(ge=1, description="of each length, drawn once; None: fresh every step")
    ] = None
    held_out: Annotated[int, Field(ge=10, description="graphs of each evaluation")] = 1000
    success: Annotated[
        float, Field(gt=0, le=1, description="accuracy on trained tokens at which a run stops")
    ] = 0.99
    seed: Annotated[int, Field(ge=0, description="of parameters and graphs")]

    @model_validator(mode="after")
    def _is_complete(self) -> "Plan":
        self.tasks()  # checks the labels
        if self.objective == "reversed" and self.others != 1:
            raise ValueError(
                "`others` must be 1 for a path written backwards, whose tokens are all look-ups, "
                f"got {self.others:g}."
            )
        return self

    def tasks(self) -> list[PathStar]:
        """One for each length."""
        backwards = self.objective == "reversed"
        return [
            PathStar(self.arms, length, self.labels, self.query, self.separators, backwards)
            for length in self.lengths
        ]

    def objective_for(self, task: PathStar) -> Objective:
        """With the weights of the tokens of one answer."""
        weights = [self.others] * task.length
        weights[FIRST_NODE] = 1.0
        return Objective(tuple(weights), teacherless=self.objective == "teacherless")


class Result(experiment.Result):
    """How a run went."""

    evaluations: Annotated[tuple[Evaluation, ...], Field(description="from step 0 on")]
    solved_at: Annotated[
        int | None, Field(description="first evaluated step at which the run succeeds")
    ]
    trained_on: Annotated[
        tuple[AnswerScores, ...] | None,
        Field(description="scores on the training graphs at the end, where they are a fixed set"),
    ]


def run(plan: Plan) -> Result:
    """Train one network until it succeeds, or to the last step.

    Success is an accuracy of `plan.success`, on held-out graphs of every length, of all trained
    tokens of an answer together.

    Returns accuracies and losses by position at every evaluation. Some 75 ms a step at two arms of
    4 nodes, width 64 and 4 layers, on one core.

    Raises
    ------
    ValueError
        a size that is out of range.

    Examples
    --------
    >>> from ntpcompanion.experiments.planning import path_star
    >>> from ntpcompanion.networks import TransformerSize
    >>> task = {"lengths": (3,), "labels": 5, "objective": "reversed"}
    >>> run = {"steps": 30, "every": 10, "batch_size": 16, "held_out": 50, "seed": 0}
    >>> plan = path_star.Plan(**task, **run, size=TransformerSize(8, layers=1, heads=1))
    >>> [at.step for at in path_star.run(plan).evaluations]
    [0, 10, 20, 30]
    """
    done, solved_at = [], None
    model, fixed = build_model_of(plan), fixed_graphs(plan)
    for evaluation in evaluations(plan, model, fixed):
        done.append(evaluation)
        if succeeded(plan, evaluation):
            solved_at = evaluation.step
            break
    return Result(
        evaluations=tuple(done), solved_at=solved_at, trained_on=_memory(plan, model, fixed)
    )


def build_model_of(plan: Plan) -> LanguageModel:
    """The network with its initial parameters."""
    longest = max(plan.tasks(), key=lambda task: task.length)
    return build_planner(longest, plan.size, plan.seed, deviation=plan.deviation)


def fixed_graphs(plan: Plan) -> list[Graphs] | None:
    """The training graphs of each length, where they are drawn once."""
    if plan.graphs is None:
        return None
    return [
        draw_graphs(task, plan.graphs, stream(plan.seed, _of("fixed", task)))
        for task in plan.tasks()
    ]


def evaluations(
    plan: Plan, model: LanguageModel, fixed: list[Graphs] | None = None
) -> Iterator[Evaluation]:
    """The evaluations of a run, which goes on whether it succeeds or not; the model is trained."""
    held_out = [
        draw_graphs(task, plan.held_out, stream(plan.seed, _of("held out", task)))
        for task in plan.tasks()
    ]
    return train_planner(
        model,
        held_out,
        [plan.objective_for(task) for task in plan.tasks()],
        steps=plan.steps,
        every=plan.every,
        batch_size=plan.batch_size,
        learning_rate=plan.learning_rate,
        seed=plan.seed,
        fixed=fixed,
    )


def succeeded(plan: Plan, evaluation: Evaluation) -> bool:
    """Whether an evaluation reaches the accuracy that the plan asks for."""
    reached = [
        scores.exact if plan.others else scores.accuracy[FIRST_NODE] for scores in evaluation.scores
    ]
    return min(reached) >= plan.success


def _memory(
    plan: Plan, model: LanguageModel, fixed: list[Graphs] | None
) -> tuple[AnswerScores, ...] | None:
    """Scores on the training graphs, as many of them as are held out."""
    if fixed is None:
        return None
    teacherless = plan.objective == "teacherless"
    return tuple(
        score_answers(
            graphs.take(np.arange(min(len(graphs), plan.held_out))),
            network_predictor(model, graphs.task, teacherless=teacherless),
        )
        for graphs in fixed
    )


def _of(purpose: str, task: PathStar) -> str:
    return f"{purpose} graphs of length {task.length}"
