import json

import numpy as np
import pytest
from scipy.special import log_softmax

from ntpcompanion.experiments.adam import adam_limit as module
from ntpcompanion.experiments.adam.adam_limit import Adam, Plan, Result, read_cases, run
from ntpcompanion.linear.dynamics.adam_norm import in_support_hessian
from ntpcompanion.linear.dynamics.descent import descend
from ntpcompanion.linear.dynamics.flow import gradient_flow
from ntpcompanion.linear.separability.compatibility import check_compatibility
from ntpcompanion.linear.svm.next_token_svm import solve_ntp_svm
from ntpcompanion.linear.svm.weighted_svm import solve_weighted_svm
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.randomness import stream
from ntpcompanion.recorded import Run
from tests.experiments.cases import check_wrong_fields

ADAM = {"beta1": 0.9, "beta2": 0.99, "rate": "constant"}
PLAN = {"support_size": 3, "adam": ADAM, "steps": 1000, "seed": 0}


@pytest.fixture
def small(monkeypatch):
    for name, size in (("NUM_CONTEXTS", 6), ("VOCAB_SIZE", 5), ("DIM", 8)):
        monkeypatch.setattr(module, name, size)
    return ContextTable.random(6, 5, 3, 8, stream(0, "limit table 3"))


def divergence_one_by_one(table, W):
    """Σ_j π_j KL(p_j ‖ softmax of the logits on S_j), context by context."""
    found = 0.0
    for weight, h, p in zip(table.weight, table.embeddings, table.next_token, strict=True):
        inside = p > 0
        log_q = log_softmax((W @ h)[inside])
        found += weight * p[inside] @ (np.log(p[inside]) - log_q)
    return found


def cosine(one, other):
    return np.vdot(one, other) / np.linalg.norm(one) / np.linalg.norm(other)


def test_a_result_is_what_its_fields_say(small):
    result = run(Plan.from_json(PLAN))
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result
    start = stream(0, "start").standard_normal((5, 8)) / np.sqrt(8)
    settings = {"optimizer": "adam", "learning_rate": 0.01, "betas": (0.9, 0.99), "start": start}
    path = list(
        descend(small, steps=1000, keep=range(1, 1001), rng=np.random.default_rng(), **settings)
    )
    weights = np.array([at.weights for at in path])
    growth = weights[900:].mean(axis=0) - weights[233:333].mean(axis=0)
    late = [path[k - 1] for k in range(383, 900, 50)]
    divisor = 1 / np.mean([1 / np.sqrt(at.second_moment) for at in late], axis=0)
    mm = solve_ntp_svm(small, tol=1e-12).weights
    measured = solve_weighted_svm(small, divisor).weights
    assert result.growth_frobenius == pytest.approx(cosine(growth, mm), abs=1e-6)
    assert result.growth_measured == pytest.approx(cosine(growth, measured), abs=1e-4)
    place = weights[900:].mean(axis=0) - check_compatibility(small).finite_part
    assert result.position_frobenius == pytest.approx(cosine(place, mm), abs=1e-6)
    own = solve_weighted_svm(small, np.diag(in_support_hessian(small)).reshape(5, 8)).weights
    assert result.growth_diagonal == pytest.approx(cosine(growth, own), abs=1e-4)
    divergence = np.mean([divergence_one_by_one(small, W) for W in weights[900:]])
    assert result.divergence == pytest.approx(divergence)


def test_the_control_is_gradient_flow_at_the_time_of_adams_own_edge(small):
    result = run(Plan.from_json(PLAN))
    # β₁ = 0.9 raises the edge from 2 to 38, over the largest curvature of the table
    time = 38 / np.linalg.eigvalsh(in_support_hessian(small))[-1] * 1000
    assert result.log_time == pytest.approx(np.log(time))
    start = stream(0, "start").standard_normal((5, 8)) / np.sqrt(8)
    flow = gradient_flow(small, np.log([time / 3, time]), start=start).weights
    mm = solve_ntp_svm(small, tol=1e-12).weights
    assert result.growth_control == pytest.approx(cosine(flow[1] - flow[0], mm), abs=1e-6)
    place = flow[1] - check_compatibility(small).finite_part
    assert result.position_control == pytest.approx(cosine(place, mm), abs=1e-6)


def test_rates_are_those_of_the_first_step_and_later():
    decaying = Adam(beta1=0.9, beta2=0.99, rate="decaying")
    assert decaying.learning_rate(3000) == pytest.approx(0.005)
    assert Adam(**ADAM).learning_rate(10**6) == 0.01


def test_a_wrong_field_of_a_field_is_named():
    wrong = {"adam": (ADAM | {"beta2": 1.0}, r"`adam.beta2` should be less than 1, got 1\.0")}
    check_wrong_fields(Plan, PLAN, wrong)


def test_cases_are_compared_over_their_tables():
    """Two tables with momentum, and two with neither, at both rates; numbers by hand."""
    zeros = dict.fromkeys(Result.model_fields, 0.0) | {"spread": 2.0, "predicted_divergence": 0.5}

    def runs(beta1, rate, **columns):
        adam = {"beta1": beta1, "beta2": 0.9, "rate": rate}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return [
            Run(Plan.from_json(PLAN | {"adam": adam, "seed": seed}), Result(**zeros | row))
            for seed, row in enumerate(rows)
        ]

    own = runs(
        0.9, "constant", growth_predicted=(0.8, 0.6), growth_measured=(0.9, 0.8),
        growth_frobenius=(0.7, 0.4), growth_control=(0.9, 0.9), shape_error=(1.0, 0.0),
        divergence=(0.25, 0.5), start_error=(1.0, 1.0),
    )  # fmt: skip
    none = runs(0.0, "constant", growth_predicted=(0.5, 0.7))
    found = read_cases(own + none + runs(0.0, "decaying", growth_predicted=(0.6, 0.9)))
    case = found.case(0.9, 0.9)
    means = [case.mean(name).mean for name in ("explained", "stall", "from start")]
    assert means == pytest.approx([0.875, 0.75, 0.5])
    assert case.beyond.mean == pytest.approx(0.15)
    assert case.behind.tolist() == pytest.approx([np.log(2), np.log(4)])
    assert case.mean_behind.mean == pytest.approx(np.log(8) / 2)
    assert case.removed.mean == pytest.approx(0.5)  # 0.3 of 0.6
    assert found.decaying.mean == pytest.approx(0.75)
    assert found.drift.mean == pytest.approx(0.15)
