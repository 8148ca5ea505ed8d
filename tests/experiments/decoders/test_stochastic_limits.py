import numpy as np
import pytest

from ntpcompanion.experiments.decoders import descent_rates, stochastic_limits
from ntpcompanion.linear import descend, measure_alignment, project_onto_F, solve_ntp_svm
from ntpcompanion.linear.svm.complementarity import complementarity_gap
from ntpcompanion.randomness import stream
from ntpcompanion.statistics import mean_effect, paired_effect
from tests.experiments.cases import check_result, small_run

SIZES = {
    "num_contexts": 4,
    "vocab_size": 5,
    "support_size": 2,
    "dim": 6,
    "tables": 2,
    "seed": 0,
}
RIGHT = SIZES | {
    "seeds": 2,
    "steps": 10_000,
    "learning_rate": 0.2,
    "small_rate": 0.05,
    "large_rate": 1.0,
}
found, test_a_result_repeats_and_is_plain = small_run(stochastic_limits, RIGHT)
PLAN = stochastic_limits.Plan.from_json(RIGHT)


def test_gradient_descent_is_measured_as_by_descent(found):
    for i, (table, svm) in enumerate(stochastic_limits.solved_tables(PLAN, 4)):
        (path,) = [each for each in found.paths if (each.arm, each.table) == ("GD", i)]
        weights = [
            each.weights
            for each in descend(
                table, optimizer="gd", learning_rate=0.2, steps=10_000, keep=path.steps,
                rng=np.random.default_rng(0), start=np.zeros((5, 6)),
            )
        ]  # fmt: skip
        aligned = measure_alignment(table, weights, svm)
        assert path.distance == pytest.approx(aligned.distance, rel=1e-6)
        assert path.finite_error == pytest.approx(aligned.finite_error, rel=1e-5)
        rest = np.array([W - project_onto_F(table, W) for W in weights])
        assert path.position == pytest.approx((rest * svm).sum(axis=(1, 2)) / (svm**2).sum())
        gained = rest[-1] - rest[-5]
        norms = np.linalg.norm(gained) * np.linalg.norm(svm)
        assert path.growth[-1] == pytest.approx((gained * svm).sum() / norms)
        offset = np.linalg.norm(rest[-1] - svm * np.log(0.2 * 10_000))
        assert path.offset[-1] == pytest.approx(offset)
        q = np.exp(table.embeddings @ weights[-1].T)
        off = (q * (table.next_token == 0)).sum(axis=1) / q.sum(axis=1)
        assert path.off_support[-1] == pytest.approx(off @ table.weight)
        assert path.spread == pytest.approx(path.offset[-1] / path.offset[-5])
        assert path.speed == pytest.approx((path.position[-1] - path.position[-5]) / np.log(100))


def test_summaries_are_means_over_seeds_and_then_tables(found):
    arm = "SGD, B = 1"
    paths = [each for each in found.paths if each.arm == arm]
    assert [each.table for each in paths] == [0, 0, 1, 1]
    grown = np.array([each.growth[-1] for each in paths]).reshape(2, 2).mean(axis=1)
    assert found.last(arm, "growth") == mean_effect(grown)
    descended = [each.growth[-1] for each in found.paths if each.arm == "GD"]
    assert found.gained == paired_effect(grown, descended)
    course = found.course(arm, "growth")
    assert list(course.index) == [1000, 3162, 10_000]
    assert course.iloc[-1] == pytest.approx(grown.mean())
    assert list(found.summary.arm) == list(stochastic_limits.ARMS)
    assert list(found.summary.steps) == [10_000, 10_000, 1000, 1000, 2000, 2000]
    each = found.fluctuations[0]
    assert each.ratio == pytest.approx(np.sum(each.measured) / np.sum(each.predicted))
    curvature, variance = np.array(each.curvature), 0.0
    times = np.unique(np.linspace(2500, 5000, 400).astype(int))
    predicted = np.zeros((5001, len(curvature)))
    for k in range(1, 5001):  # the recursion of the variance
        variance = (1 - 0.05 * curvature) ** 2 * variance + 0.05**2 / 4 * curvature
        predicted[k] = variance
    assert each.predicted == pytest.approx(predicted[times].mean(axis=0))
    logs = np.log(curvature), np.log(np.divide(each.measured, each.predicted))
    assert each.slope == pytest.approx(np.polyfit(*logs, 1)[0])
    assert found.modes.ratio.iloc[0] == pytest.approx(each.measured[0] / each.predicted[0])
    distances = [
        np.sqrt((0.2 / 4 / (2 - 0.2 * np.array(one.curvature))).sum()) for one in found.fluctuations
    ]
    assert found.predicted_distance(0.2, 4) == pytest.approx(np.mean(distances))
    assert found.over_fluctuations("ratio").mean == pytest.approx(
        np.mean([each.ratio for each in found.fluctuations])
    )


def test_sizes_without_separable_tables_are_named():
    plan = stochastic_limits.Plan.from_json(RIGHT | {"num_contexts": 30, "dim": 2})
    with pytest.raises(ValueError, match="`dim` = 2 is too small: 0 of 20 tables are separable"):
        stochastic_limits.run(plan)


def test_rates_of_descent():
    right = SIZES | {"steps": 2000}
    result = descent_rates.run(descent_rates.Plan.from_json(right))
    check_result(descent_rates, right, result)
    assert [each.strict for each in result.approaches] == [True, True, False, False]
    for each in result.approaches:
        assert each.log_times[1] - each.log_times[0] == pytest.approx(np.log(10))
        assert (each.gap > 1e-6) == each.strict
        assert each.ratio == each.measured / each.predicted
        assert each.spread == each.offsets[1] / each.offsets[0]
    ratios = [each.ratio for each in result.approaches]
    assert result.mean("ratio", strict=True) == mean_effect(ratios[:2])
    assert result.mean("ratio", strict=False) == mean_effect(ratios[2:])


def test_tokens_with_one_vector_are_named():
    table, svm = stochastic_limits.solved_tables(PLAN, 4)[0]
    with pytest.raises(ValueError, match="`num_contexts` is too small"):
        descent_rates.with_free_multiplier(table, np.tile(svm[:1], (5, 1)), stream(0, "h"))


def test_the_further_context_leaves_the_solution_and_has_no_multiplier():
    for i, (table, svm) in enumerate(stochastic_limits.solved_tables(PLAN, 4)):
        longer = descent_rates.with_free_multiplier(table, svm, stream(0, f"{i}"))
        solution = solve_ntp_svm(longer, tol=1e-10)
        assert np.allclose(solution.weights, svm, atol=1e-7)
        assert complementarity_gap(longer, solution) < 1e-8
        logits = np.sort(svm @ longer.embeddings[-1])
        assert logits[-1] - logits[-2] == pytest.approx(1)
        assert longer.next_token[-1].max() == 1
