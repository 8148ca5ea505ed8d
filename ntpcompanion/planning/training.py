"""Training a planner on path-star graphs, one evaluation after another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch

from ntpcompanion.checks import Count, Length, Positive, Range, Size, checked, need
from ntpcompanion.planning.answer_losses import Objective, Planner, answer_loss, network_predictor
from ntpcompanion.planning.answer_scores import (
    AnswerScores,
    WrongArm,
    score_answers,
    score_wrong_arm,
)
from ntpcompanion.planning.path_star_task import Graphs, draw_graphs
from ntpcompanion.randomness import stream

WARMUP = 100  # steps in which the learning rate rises to its value


@dataclass(frozen=True)
class Evaluation:
    """A planner during training.

    Fields
    ------
    step
        number of steps taken.
    loss
        of the objective, mean over the steps since the last evaluation, nats; None at step 0.
    scores
        on graphs that were held out, one for each task. A teacherless planner is fed dummies.
    wrong_arm
        where it is defined: answers from root to goal, paths of at least 4 nodes, not teacherless.
    """

    step: int
    loss: float | None
    scores: tuple[AnswerScores, ...]
    wrong_arm: tuple[WrongArm | None, ...]


@checked(
    need(
        "objectives",
        "[len(each.weights) for each in objectives] == [each.task.length for each in held_out]",
        "hold for each task of `held_out` one that weighs each token of its answers",
    ),
    need(
        "fixed",
        "not fixed or all(fixed) and [e.task for e in fixed] == [e.task for e in held_out]",
        "hold graphs of each task of `held_out`",
    ),
)
def train_planner(
    model: Planner,
    held_out: Annotated[Sequence[Graphs], Length(1)],
    objectives: Annotated[Sequence[Objective], Length(1)],
    *,
    steps: Size,
    every: Size,
    batch_size: Annotated[int, Range("len(held_out)", reason="one for each task of `held_out`")],
    learning_rate: Positive,
    seed: Count,
    fixed: Annotated[Sequence[Graphs], Length(1)] | None = None,
) -> Iterator[Evaluation]:
    """Train a planner by AdamW without decay, at a constant rate after a warm-up of 100 steps.

    Each step draws fresh graphs, or rows of a fixed set. With several tasks the batch is divided
    among them.

    Parameters
    ----------
    model
        of `build_planner`, for the longest task. It is changed.
    held_out
        graphs of each task for the evaluations.
    objectives
        one for each task.
    steps, every
        of training, and between two evaluations.
    batch_size
        graphs of a step, over all tasks.
    learning_rate
        of AdamW.
    seed
        of the training graphs.
    fixed
        training graphs of each task, from which batches are drawn; None: fresh ones in each step.

    Yields
    ------
    Evaluation
        before the first step, then every so many steps.

    Raises
    ------
    ValueError
        sizes out of range, or different numbers of tasks.

    Notes
    -----
    A step with 128 graphs of two arms of 4 nodes at width 64 with 4 layers takes some 65 ms of one
    core. Training several seeds as one stack (`networks.Stack`) takes longer, 1.1 to 1.4 times as
    much for each: products of matrices already take most of the time.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.networks import TransformerSize
    >>> from ntpcompanion.planning import Objective, PathStar, build_planner, draw_graphs
    >>> from ntpcompanion.planning import train_planner
    >>> task = PathStar(arms=2, length=3, labels=5, reversed=True)
    >>> model = build_planner(task, TransformerSize(16, layers=1, heads=2), seed=0)
    >>> graphs = [draw_graphs(task, 50, np.random.default_rng(0))]
    >>> run = {"steps": 40, "every": 20, "batch_size": 16, "learning_rate": 1e-2, "seed": 0}
    >>> [at.step for at in train_planner(model, graphs, [Objective((1.0, 1.0, 1.0))], **run)]
    [0, 20, 40]
    """
    rate, rng = float(learning_rate), stream(seed, "training graphs")
    sources = [None] * len(held_out) if fixed is None else list(fixed)
    parts = [len(part) for part in np.array_split(np.arange(batch_size), len(held_out))]
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.0)
    losses: list[float] = []
    yield _evaluated(model, held_out, objectives, 0, losses)
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = rate * min(1.0, step / WARMUP)
        optimizer.zero_grad()
        total = torch.zeros(())
        for graphs, source, size, objective in zip(
            held_out, sources, parts, objectives, strict=True
        ):
            batch = (
                draw_graphs(graphs.task, size, rng)
                if source is None
                else source.take(rng.integers(len(source), size=size))
            )
            total = total + size / batch_size * answer_loss(model, batch, objective)
        total.backward()
        optimizer.step()
        losses.append(total.item())
        if step % every == 0 or step == steps:
            yield _evaluated(model, held_out, objectives, step, losses)
            losses = []


def _evaluated(
    model: Planner,
    held_out: Sequence[Graphs],
    objectives: Sequence[Objective],
    step: int,
    losses: list[float],
) -> Evaluation:
    scores, wrong = [], []
    for graphs, objective in zip(held_out, objectives, strict=True):
        predict = network_predictor(model, graphs.task, teacherless=objective.teacherless)
        scores.append(score_answers(graphs, predict))
        led = graphs.task.length > 3 and not graphs.task.reversed and not objective.teacherless
        wrong.append(score_wrong_arm(graphs, predict) if led else None)
    loss = float(np.mean(losses)) if losses else None
    return Evaluation(step, loss, tuple(scores), tuple(wrong))
