import numpy as np
import pytest
from scipy.optimize import linprog

from ntpcompanion.experiments.thresholds import phase, random_tables
from ntpcompanion.experiments.thresholds.random_tables import Plan
from ntpcompanion.randomness import stream
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"vocab_size": 4, "support_sizes": [1, 3], "mixed_sizes": [1, 2], "num_contexts": 8}
RIGHT |= {"draws": 6, "seed": 0}
WRONG = {
    "support_sizes": ([1, 4], r"must lie in 1 … 3 \(`vocab_size` − 1\), got \[1, 4\]"),
    "mixed_sizes": ([4], r"must lie in 1 … 3 \(`vocab_size` − 1\), got \[4\]"),
}


def test_every_wrong_field_is_named():
    check_wrong_fields(Plan, RIGHT, WRONG)


found, test_a_result_repeats_and_is_plain = small_run(random_tables, RIGHT)


def test_each_size_is_a_point_of_the_phase_diagram(found):
    one = {"vocab_size": 4, "num_contexts": 8, "draws": 6, "seed": 0}
    sample = phase.run(phase.Plan(support_sizes=(3,), **one)).sample(8)
    row = found.measured.set_index("S").loc[3]
    assert (row.crossing, row.error) == (sample.crossing, sample.stderr)
    assert row["by counting"] == (4 + 3 - 2) / 6
    assert found.mixed == phase.run(phase.Plan(support_sizes=(1, 2), **one))
    gaps = (found.measured.crossing - found.measured["by counting"]).abs()
    assert found.counting_gap.mean == pytest.approx(8 * gaps.max())
    curve = found.diagram[found.diagram.S == 3]
    assert curve.separable.tolist() == [(sample.separable_from <= d).mean() for d in range(1, 9)]


def test_one_support_for_all_is_separable_once_a_half_space_holds_all_embeddings(found):
    """With d coordinates of m normal vectors: a linear program finds the half-space."""
    first = []
    for draw in range(4 * 6):
        x = stream(0, f"same token, table {draw}").standard_normal((8, 8))
        feasible = [
            linprog(np.zeros(d), -x[:, :d], -np.ones(8), bounds=(None, None)).status == 0
            for d in range(1, 9)
        ]
        first.append(feasible.index(True) + 1)
    assert sorted(found.same.sample(8).separable_from) == sorted(first)
    assert found.same_crossing.replicates == 24


def test_mixed_sizes_are_predicted_by_two_means(found):
    theory = Plan.from_json(RIGHT).theory["predicted d/m"]
    by_delta, by_size = found.mixed_predictions
    assert by_delta == pytest.approx(theory[:2].mean())
    assert by_size == pytest.approx(theory[:2].mean())  # a line between the sizes 1 and 2


def test_what_the_widget_shows(found):
    recorded = {(4, 2, 8): found.mixed_sample}
    shown = found.probabilities(recorded)
    assert [(point["V"], point["S"], point["m"]) for point in shown["measured"]] == [
        (4, 1, 8),
        (4, 3, 8),
        (4, 2, 8),
    ]
    assert shown["contexts"] == [5, 8, 10, 20]
    # three tokens, one in the support: the wedge of the smallest example
    assert shown["faces"][1][0] == pytest.approx([1 / 6, 1 / 2, 1 / 3], abs=1e-6)
    point = shown["measured"][0]
    sample = found.samples[1]
    assert point["first"] == max(1, sample.not_separable_to.min())
    assert point["share"][-1] == 1
