import numpy as np
import pytest
import torch

from ntpcompanion.networks import TransformerSize
from ntpcompanion.planning import (
    Objective,
    PathStar,
    answer_loss,
    build_planner,
    draw_graphs,
    train_planner,
)
from ntpcompanion.randomness import stream

TASK = PathStar(2, 4, 8)
SIZE = TransformerSize(8, layers=1, heads=2)
RUN = {"steps": 6, "every": 4, "batch_size": 8, "learning_rate": 0.01, "seed": 3}
EVEN = Objective((1.0, 1.0, 1.0, 1.0))


def held_out(*tasks):
    return [draw_graphs(task, 40, np.random.default_rng(0)) for task in tasks]


def trained(**changes):
    model = build_planner(TASK, SIZE, seed=0)
    return list(train_planner(model, held_out(TASK), [EVEN], **RUN | changes)), model


def test_evaluations_come_where_they_are_asked_for():
    found, _ = trained()
    assert [at.step for at in found] == [0, 4, 6]
    assert found[0].loss is None
    assert all(at.loss > 0 for at in found[1:])
    assert len(found[0].scores[0].accuracy) == 4
    assert len(found[0].wrong_arm[0].agreement) == 1


def test_the_first_step_is_one_of_adamw_in_the_warm_up():
    _, model = trained(steps=1, every=1)
    start = build_planner(TASK, SIZE, seed=0)
    batch = draw_graphs(TASK, 8, stream(3, "training graphs"))
    gradients = torch.autograd.grad(answer_loss(start, batch, EVEN), list(start.parameters()))
    for before, after, gradient in zip(
        start.parameters(), model.parameters(), gradients, strict=True
    ):
        moved = -0.01 / 100 * gradient / (gradient.abs() + 1e-8)
        torch.testing.assert_close(after, before + moved, rtol=0, atol=2e-7)


def test_every_step_draws_other_graphs():
    found, _ = trained(steps=3, every=1, learning_rate=1e-12)
    model, rng = build_planner(TASK, SIZE, seed=0), stream(3, "training graphs")
    wanted = [answer_loss(model, draw_graphs(TASK, 8, rng), EVEN).item() for _ in range(3)]
    assert [at.loss for at in found[1:]] == pytest.approx(wanted, rel=1e-5)
    assert len(set(wanted)) == 3


def test_a_fixed_set_is_all_that_is_trained_on():
    alone = draw_graphs(TASK, 1, np.random.default_rng(1))
    run = RUN | {"steps": 120, "every": 120, "learning_rate": 0.02}
    model = build_planner(TASK, SIZE, seed=0)
    *_, last = train_planner(model, held_out(TASK), [EVEN], **run, fixed=[alone])
    assert last.loss < last.scores[0].loss
    assert answer_loss(model, alone, EVEN).item() < 0.1 < last.scores[0].loss


def test_several_tasks_divide_the_batch():
    model = build_planner(TASK, SIZE, seed=0)
    objectives = [EVEN, Objective((1.0, 1.0, 1.0))]
    tasks = held_out(TASK, PathStar(2, 3, 8))
    *_, last = train_planner(model, tasks, objectives, **RUN | {"batch_size": 9})
    assert [len(scores.accuracy) for scores in last.scores] == [4, 3]
    assert [wrong is None for wrong in last.wrong_arm] == [False, True]
    first = build_planner(TASK, SIZE, seed=0)
    rng = stream(3, "training graphs")
    losses = [
        answer_loss(first, draw_graphs(graphs.task, size, rng), objective).item()
        for graphs, size, objective in zip(tasks, (5, 4), objectives, strict=True)
    ]
    again = build_planner(TASK, SIZE, seed=0)
    one_step = RUN | {"batch_size": 9, "steps": 1, "every": 1}
    *_, one = train_planner(again, tasks, objectives, **one_step)
    assert one.loss == pytest.approx((5 * losses[0] + 4 * losses[1]) / 9, rel=1e-6)
