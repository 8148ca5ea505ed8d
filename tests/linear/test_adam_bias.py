import json
from types import SimpleNamespace

import numpy as np
import pytest

from ntpcompanion.linear import adam_bias as module
from ntpcompanion.linear.adam_bias import RATES, adam_bias, leads_to, least_weighted_norm
from ntpcompanion.linear.alignment import cosine_distance, measure_alignment, smallest_margins
from ntpcompanion.linear.contexts import ContextTable
from ntpcompanion.linear.descent import descend
from ntpcompanion.linear.svm import solve_ntp_svm
from ntpcompanion.linear.ties import project_onto_F
from ntpcompanion.randomness import stream

PAPER = {
    "support_size": 6,
    "rate": "constant",
    "beta2": 0.99,
    "epsilon": 1e-8,
    "steps": 600,
    "seed": 0,
}


def test_with_equal_weights_it_is_the_next_token_svm(rng):
    table = ContextTable.random(12, 6, 3, 14, rng)
    for scale in (1.0, 1e-9, 1e9):
        assert np.allclose(
            least_weighted_norm(table, np.full((6, 14), scale)),
            solve_ntp_svm(table, tol=1e-12).weights,
            atol=1e-6,
        )


@pytest.mark.parametrize("support_size", [1, 3])
def test_the_weighted_solution_is_optimal(rng, support_size):
    table, scale = ContextTable.random(9, 5, support_size, 11, rng), rng.uniform(0.1, 10, (5, 11))
    W = least_weighted_norm(table, scale)
    assert smallest_margins(table, W[None])[0] == pytest.approx(1, abs=1e-7)
    assert np.abs(project_onto_F(table, W)).max() < 1e-7
    for _ in range(20):  # no feasible neighbour is smaller
        other = W + 0.01 * rng.standard_normal(W.shape)
        other -= project_onto_F(table, other)
        other /= smallest_margins(table, other[None])[0]
        assert (scale * W**2).sum() <= (scale * other**2).sum() + 1e-7
    table_not_separable = ContextTable(np.ones((2, 1)), np.eye(2), np.full(2, 0.5))
    with pytest.raises(
        RuntimeError, match=r"Clarabel ends with 'infeasible.*'\. Is the table separable\?"
    ):
        least_weighted_norm(table_not_separable, np.ones((2, 1)))


def test_a_run_returns_plain_numbers_that_can_be_found_again():
    result = adam_bias(**PAPER)
    assert json.loads(json.dumps(result)) == result
    table = ContextTable.random(50, 10, 6, 60, stream(0, "table 6"))
    settings = {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "betas": (0.9, 0.99),
        "steps": 600,
        "rng": stream(0, "start"),
    }
    weights = [snapshot.weights for snapshot in descend(table, keep=result["steps"], **settings)]
    mm, largest = solve_ntp_svm(table, tol=1e-10).weights, solve_ntp_svm(table, norm="max").weights
    found, other = measure_alignment(table, weights, mm), measure_alignment(table, weights, largest)
    assert np.allclose(result["cosine_frobenius"], found.cosine_rest, atol=1e-5)
    assert np.allclose(result["cosine_max"], other.cosine_rest, atol=1e-3)
    assert np.allclose(
        result["share_frobenius"], found.margin / found.rest_norm * np.linalg.norm(mm), atol=1e-5
    )
    assert np.allclose(
        result["share_max"], found.margin / found.rest_largest * np.abs(largest).max(), atol=1e-5
    )
    assert result["excess"] == found.excess.tolist()
    assert result["between"] == pytest.approx(1 - cosine_distance(mm[None], largest)[0], abs=1e-3)
    assert max(result["share_frobenius"] + result["share_max"]) <= 1
    assert result["steps"][-1] == 600


def test_the_growth_is_that_of_the_last_two_thirds_and_so_is_the_norm_that_adam_weighs():
    result = adam_bias(**PAPER | {"epsilon": 1e-3})
    table = ContextTable.random(50, 10, 6, 60, stream(0, "table 6"))
    settings = {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "betas": (0.9, 0.99),
        "epsilon": 1e-3,
        "steps": 600,
    }
    steps = np.unique(np.geomspace(1, 600, 301).astype(int))
    late = list(
        descend(table, keep=steps[steps >= 200].tolist(), rng=stream(0, "start"), **settings)
    )
    growth = late[-1].weights - late[0].weights
    # of each entry
    rates = np.array([1 / (np.sqrt(snapshot.second_moment) + 1e-3) for snapshot in late])
    rates *= (1 / rates).mean(axis=(1, 2), keepdims=True)
    frobenius, weighted = (
        solve_ntp_svm(table, tol=1e-10).weights,
        least_weighted_norm(table, 1 / rates.mean(axis=0)),
    )
    for name, one, other in (
        ("growth_frobenius", growth, frobenius),
        ("growth_weighted", growth, weighted),
        ("weighted", frobenius, weighted),
    ):
        assert result[name] == pytest.approx(1 - cosine_distance(one[None], other)[0], abs=1e-6)


@pytest.fixture
def two_decoders(monkeypatch, rng):
    """In place of the two solutions, which take a second each; a run is compared with whatever they
    are.
    """
    frobenius, largest = rng.standard_normal((2, 10, 60))
    monkeypatch.setattr(module, "least_weighted_norm", lambda table, scale: frobenius)
    monkeypatch.setattr(module, "least_max_norm", lambda table: SimpleNamespace(weights=largest))
    return frobenius, largest


def run_again(support_size, steps):
    """The table, and every step with its decoder and squares, of the run that `PAPER` describes."""
    table = ContextTable.random(50, 10, support_size, 60, stream(0, f"table {support_size}"))
    settings = {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "betas": (0.9, 0.99),
        "steps": steps,
        "keep": range(1, steps + 1),
    }
    return table, {
        snapshot.step: snapshot for snapshot in descend(table, rng=stream(0, "start"), **settings)
    }


def test_shares_are_margins_over_sizes_each_in_its_norm(two_decoders):
    result, (table, snapshots) = adam_bias(**PAPER | {"steps": 200}), run_again(6, 200)
    # every 25th of 301, back from the last: each by 200^(1/12) larger
    assert result["steps"] == [3, 28, 53, 82, 128, 200]
    frobenius, largest = two_decoders
    for step, in_frobenius, in_max in zip(
        result["steps"], result["share_frobenius"], result["share_max"], strict=True
    ):
        rest = snapshots[step].weights - project_onto_F(table, snapshots[step].weights)
        margin = smallest_margins(table, rest[None])[0]
        assert in_frobenius == pytest.approx(
            margin / np.linalg.norm(rest) * np.linalg.norm(frobenius), rel=1e-9
        )
        assert in_max == pytest.approx(
            margin / np.abs(rest).max() * np.abs(largest).max(), rel=1e-9
        )


@pytest.mark.usefixtures("two_decoders")
def test_snapshots_are_even_in_the_logarithm_over_three_decades(monkeypatch):
    asked = []
    monkeypatch.setattr(
        module,
        "descend",
        lambda table, keep, **run: asked.extend(keep) or run_again(6, 2)[1].values(),
    )
    adam_bias(**PAPER | {"steps": 10**6})
    assert (len(asked), asked[0], asked[150], asked[-1]) == (301, 1000, 31_622, 10**6)


@pytest.mark.usefixtures("two_decoders")
def test_a_run_ends_with_the_last_snapshot_that_has_a_square_above_the_smallest(monkeypatch):
    largest = run_again(1, 200)[1][128].second_moment.max()  # falls by more than one percent a step
    monkeypatch.setattr(module, "SMALLEST_SQUARE", 0.999 * largest)
    assert adam_bias(**PAPER | {"support_size": 1, "steps": 200})["steps"][-1] == 128


def test_a_large_epsilon_makes_the_weighted_solution_the_frobenius_one():
    result = adam_bias(**PAPER | {"epsilon": 1e6})
    assert result["weighted"] == pytest.approx(1, abs=1e-9)


def test_one_hot_runs_are_cut_where_squares_would_underflow():
    with_floor = adam_bias(1, "constant", 0.9, 1e-150, 20_000, 0)
    assert with_floor["steps"][-1] < 20_000
    assert with_floor["cosine_max"][-1] > 0.98


def test_rates_are_those_of_the_first_step_and_later():
    assert RATES["constant"](1) == RATES["constant"](10**6) == 0.01
    assert RATES["decaying"](3000) == pytest.approx(0.005)


@pytest.mark.parametrize(
    ("cosines", "verdict"),
    [
        ((0.6, 0.995, 0.99, 0.985), "Frobenius"),
        ((0.96, 0.8, 0.99, 0.8), "max"),
        ((0.6, 0.985, 0.998, 0.985), "weighted"),
        ((0.6, 0.5, 0.985, 0.6), "weighted"),
        ((0.6, 0.996, 0.997, 0.9995), "Frobenius"),
        ((0.89, 0.9, 0.97, 0.9), "undecided"),
    ],
)
def test_the_verdict_names_the_widest_margin_or_the_nearest_solution(cosines, verdict):
    assert leads_to(*cosines) == verdict


def test_errors_say_what_to_do(rng):
    with pytest.raises(
        ValueError, match=r"`rate` must be one of constant, decaying, got 'cosine'\."
    ):
        adam_bias(**PAPER | {"rate": "cosine"})
    with pytest.raises(ValueError, match=r"`scale` must be positive, its smallest entry is 0\.0\."):
        least_weighted_norm(ContextTable.random(3, 4, 2, 5, rng), np.eye(4, 5))
