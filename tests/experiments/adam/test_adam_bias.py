import json
from types import SimpleNamespace

import numpy as np
import pytest

from ntpcompanion.experiments.adam import adam_bias as module
from ntpcompanion.experiments.adam.adam_bias import LEARNING_RATES, Plan, Result, run
from ntpcompanion.linear.dynamics.alignment import (
    cosine_distance,
    measure_alignment,
)
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run

PAPER = {"support_size": 6, "rate": "constant", "beta2": 0.99, "epsilon": 1e-8, "steps": 600}
PAPER |= {"seed": 0}


def test_a_run_returns_plain_numbers_that_can_be_found_again():
    result = run(Plan(**PAPER))
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    table = ContextTable.random(50, 10, 6, 60, stream(0, "table 6"))
    settings = {
        "optimizer": "adam",
        "learning_rate": 0.01,
        "betas": (0.9, 0.99),
        "steps": 600,
        "rng": stream(0, "start"),
    }
    weights = [snapshot.weights for snapshot in descend(table, keep=result.steps, **settings)]
    mm, largest = solve_ntp_svm(table, tol=1e-10).weights, solve_ntp_svm(table, norm="max").weights
    found, other = measure_alignment(table, weights, mm), measure_alignment(table, weights, largest)
    assert np.allclose(result.cosine_frobenius, found.cosine_rest, atol=1e-5)
    assert np.allclose(result.cosine_max, other.cosine_rest, atol=1e-3)
    assert np.allclose(
        result.share_frobenius, found.margin / found.rest_norm * np.linalg.norm(mm), atol=1e-5
    )
    assert np.allclose(
        result.share_max, found.margin / found.rest_largest * np.abs(largest).max(), atol=1e-5
    )
    assert result.excess == tuple(found.excess)
    assert result.between == pytest.approx(1 - cosine_distance(mm[None], largest)[0], abs=1e-3)
    assert max(result.share_frobenius + result.share_max) <= 1
    assert result.steps[-1] == 600


@pytest.fixture
def any_largest(monkeypatch, rng):
    """In place of the solution in the max norm, which takes longest; the run is asked for what does
    not depend on it.
    """
    found = SimpleNamespace(weights=rng.standard_normal((10, 60)))
    monkeypatch.setattr(module, "least_max_norm", lambda table: found)


@pytest.mark.usefixtures("any_largest")
def test_the_growth_is_that_of_the_last_two_thirds_and_so_is_the_norm_that_adam_weighs():
    result = run(Plan(**PAPER | {"epsilon": 1e-3}))
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
        solve_weighted_svm(table, 1 / rates.mean(axis=0)).weights,
    )
    for name, one, other in (
        ("growth_frobenius", growth, frobenius),
        ("growth_weighted", growth, weighted),
        ("weighted", frobenius, weighted),
    ):
        assert getattr(result, name) == pytest.approx(
            1 - cosine_distance(one[None], other)[0], abs=1e-6
        )


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


@pytest.mark.usefixtures("two_decoders")
def test_snapshots_are_even_in_the_logarithm_over_three_decades(monkeypatch):
    asked = []
    monkeypatch.setattr(
        module,
        "descend",
        lambda table, keep, **run: asked.extend(keep) or run_again(6, 2)[1].values(),
    )
    run(Plan(**PAPER | {"steps": 10**6}))
    assert (len(asked), asked[0], asked[150], asked[-1]) == (301, 1000, 31_622, 10**6)


@pytest.mark.usefixtures("two_decoders")
def test_a_run_ends_with_the_last_snapshot_that_has_a_square_above_the_smallest(monkeypatch):
    largest = run_again(1, 200)[1][128].second_moment.max()  # falls by more than one percent a step
    monkeypatch.setattr(module, "SMALLEST_SQUARE", 0.999 * largest)
    assert run(Plan(**PAPER | {"support_size": 1, "steps": 200})).steps[-1] == 128


def test_rates_are_those_of_the_first_step_and_later():
    assert LEARNING_RATES["constant"](1) == LEARNING_RATES["constant"](10**6) == 0.01
    assert LEARNING_RATES["decaying"](3000) == pytest.approx(0.005)


RESULT = {
    "steps": [1, 2],
    "cosine_frobenius": [0.1, 0.2],
    "cosine_max": [0.1, 0.2],
    "share_frobenius": [0.1, 0.2],
    "share_max": [0.99, 0.6],
    "excess": [1.0, 0.5],
    "growth_frobenius": 0.5,
    "growth_max": 0.5,
    "growth_weighted": 0.5,
    "between": 0.5,
    "weighted": 0.5,
}


@pytest.mark.parametrize(
    ("cosines", "norm"),
    [
        ((0.6, 0.995, 0.99, 0.985), "Frobenius"),
        ((0.96, 0.8, 0.99, 0.8), "max"),
        ((0.6, 0.985, 0.998, 0.985), "weighted"),
        ((0.6, 0.5, 0.985, 0.6), "weighted"),
        ((0.6, 0.996, 0.997, 0.9995), "Frobenius"),
        ((0.89, 0.9, 0.97, 0.9), "undecided"),
    ],
)
def test_the_norm_is_that_of_the_widest_margin_or_the_nearest_solution(cosines, norm):
    margin, frobenius, growth, weighted = cosines
    ends = {"growth_frobenius": frobenius, "growth_weighted": growth, "weighted": weighted}
    result = Result.from_json(RESULT | {"share_max": [0.99, margin]} | ends)
    assert result.solution_norm == norm


def test_a_program_without_solution_is_named(monkeypatch):
    monkeypatch.setattr(module, "least_max_norm", lambda table: None)
    monkeypatch.setattr(module, "least_weighted_norm", lambda table, scale: scale)
    with pytest.raises(RuntimeError, match=r"^HiGHS finds no solution in the max norm\."):
        run(Plan(**PAPER | {"steps": 2}))


def test_curves_have_a_value_for_each_step():
    with pytest.raises(ValueError, match=r"^`excess` must have a value for each of the 2 `steps`"):
        Result.from_json(RESULT | {"excess": [1.0]})


def test_mean_cosines_end_with_the_shortest_run():
    curves = {"cosine_frobenius": [0.2, 0.4], "cosine_max": [0.6, 0.8]}
    long = Result.from_json(RESULT | curves)
    short = {name: end[:1] for name, end in RESULT.items() if isinstance(end, list)}
    cut = Result.from_json(RESULT | short | {"cosine_max": [0.4]})
    tasks = [Run(Plan(**PAPER | {"seed": seed}), one) for seed, one in enumerate((long, cut))]
    case = module.case_of(tasks, rate="constant", beta2=0.99)
    assert case.mean_cosines["max"].tolist() == [pytest.approx(0.5)]
    assert module.case_of(tasks, seed=0).mean_cosines["Frobenius"].tolist() == [0.2, 0.4]
    assert case.cosines.cosine_max.tolist() == [0.6, 0.8, 0.4]
    assert (case.mean("cosine_max").mean, case.mean("weighted").mean) == (pytest.approx(0.6), 0.5)


def test_norms_are_listed_by_epsilon():
    ends = {1e-8: "max", 1e-4: "undecided"}
    tasks = [
        Run(
            Plan(**PAPER | {"epsilon": epsilon, "seed": seed}),
            Result.from_json(RESULT | {"share_max": [0.99, 0.95 if norm == "max" else 0.1]}),
        )
        for epsilon, norm in ends.items()
        for seed in (0, 1)
    ]
    row = module.norms_table(tasks).iloc[0]
    assert row.to_dict() == {
        "supports": "six tokens", "η": "constant", "β₂": 0.99, "ε = 1e-8": "max",
        "ε = 1e-4": "undecided",
    }  # fmt: skip
