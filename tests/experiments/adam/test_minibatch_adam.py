import numpy as np
import pandas as pd
import pytest

from ntpcompanion.experiments.adam import minibatch_adam
from ntpcompanion.experiments.adam.minibatch_adam import (
    Growth,
    Plan,
    Result,
    read_growths,
    stretched_tables,
)
from ntpcompanion.linear.dynamics.adam_norm import in_support_hessian
from ntpcompanion.linear.dynamics.stochastic_descent import descend_many
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from tests.experiments.cases import small_run

PLAN = {"beta2": 0.99, "batch_size": 1, "steps": 2000, "learning_rate": 0.5}
PLAN |= {"tables": 2, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(minibatch_adam, PLAN)


def reached(table, W):
    """What changes odds, orthogonal to F: centred over tokens, in the span of the embeddings."""
    span = np.linalg.pinv(table.embeddings) @ table.embeddings
    W = (W - W.mean(axis=0)) @ span
    return W - project_onto_F(table, W)


def cosine(one, other):
    return np.vdot(one, other) / np.linalg.norm(one) / np.linalg.norm(other)


@pytest.fixture(scope="module")
def grown():
    """Of the second table alone."""
    table = stretched_tables(Plan.from_json(PLAN))[1]
    (first,), (last,) = descend_many(
        [table],
        [stream(0, "samples 1")],
        learning_rate=0.5,
        power=0.5,
        betas=(0.9, 0.99),
        batch_size=1,
        steps=2000,
        keep=[200, 2000],
    )
    return table, reached(table, last - first)


def test_growth_is_compared_with_the_flow_and_the_solution(found, grown):
    table, growth = grown
    s = np.sqrt(np.diag(in_support_hessian(table)).reshape(6, 9))
    margin = reached(table, solve_weighted_svm(table, s).weights)
    assert found.growths[1].margin_cosine == pytest.approx(cosine(growth, margin), abs=1e-6)
    # the flow in the norm s, by small steps of Euler, to the sum of the rates
    W, at, ends = np.zeros((6, 9)), 0.0, np.cumsum(0.5 / np.arange(1, 2001) ** 0.5)[[199, 1999]]
    kept = []
    for end in ends:
        steps = 4000
        for _ in range(steps):
            W = W - (end - at) / steps * table.gradient(W) / s
        kept, at = [*kept, W], end
    flow = reached(table, kept[1] - kept[0])
    assert found.growths[1].noise == pytest.approx(1 - cosine(growth, flow), abs=2e-3)


def test_tables_are_stretched_and_differ():
    first, second = stretched_tables(Plan.from_json(PLAN))
    lengths = np.linalg.norm(np.vstack([first.embeddings, second.embeddings]), axis=0)
    assert lengths.max() > 3 * lengths.min()
    assert not np.allclose(first.embeddings, second.embeddings)


def test_effects_of_planted_growths():
    def growth(**fields):
        return Growth(**dict.fromkeys(Growth.model_fields, 0.5) | fields)

    rows = [
        growth(noise=0.01, full_batch=0.1, frobenius=1.0, tilted=0.001, drift_cosine=0.9),
        growth(noise=0.01, full_batch=1.0, frobenius=1.0, tilted=0.01, margin_cosine=0.7),
    ]
    other = Plan.from_json(PLAN | {"batch_size": 16})
    runs = [(Plan.from_json(PLAN), rows), (other, [rows[0]] * 2)]
    found = read_growths([Run(plan, Result(growths=tuple(each))) for plan, each in runs])
    assert found.over_rivals(0.99, 1).mean == pytest.approx(1.5)
    assert found.by_tilt(0.99, 1).mean == pytest.approx(0.5)
    assert found.beyond_margin(0.99, 1).mean == pytest.approx((0.4 - 0.2) / 2)
    assert found.by_tilt(0.99, 16).mean == pytest.approx(1)
    means = found.means.set_index("batch_size")
    expected = pd.Series({1: 10**-2.5, 16: 1e-3})
    assert means.tilted.to_dict() == pytest.approx(expected.to_dict())
    assert means.speed.tolist() == [0.5, 0.5]
