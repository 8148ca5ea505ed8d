import numpy as np
import pytest

from ntpcompanion.experiments.decoders import own_margins
from ntpcompanion.statistics import mean_effect
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {
    "num_contexts": 3,
    "vocab_size": 4,
    "dim": 3,
    "sizes": [1, 2],
    "tables": 2,
    "steps": 270,
    "momentum": 0.9,
    "seed": 0,
}
found, test_a_result_repeats_and_is_plain = small_run(own_margins, RIGHT, long=True)


def test_every_wrong_field_is_named():
    wrong = {
        "sizes": ([4], r"must be below `vocab_size` = 4, got \[4\]"),
        "dim": (2, "must be at least `num_contexts` = 3"),
    }
    check_wrong_fields(own_margins.Plan, RIGHT, wrong)


def test_every_run_is_there_once(found):
    kinds = 3 * 3 + 1  # schedules, each without and with momentum and separate; proportional
    table = found.table
    assert len(table) == 3 * kinds * 2 * 2
    assert not table.duplicated(["norm", "rule", "schedule", "momentum", "size", "table"]).any()
    assert table.fraction.max() < 1 + 1e-6
    assert found.largest_gap < 1e-5


def test_tables_differ_in_their_supports_only():
    one, two = own_margins._nested_tables(own_margins.Plan.from_json(RIGHT), 0)
    np.testing.assert_array_equal(one.embeddings, two.embeddings)
    assert one.support_sizes.tolist() == [1, 1, 1]
    assert two.support_sizes.tolist() == [2, 2, 2]
    assert (two.support.toarray() >= one.support.toarray()).all()


def test_estimates_are_over_the_tables_of_one_kind(found):
    rows = [row for row in found.rows if (row.norm, row.size) == ("max", 2)]
    shown = [row for row in rows if row.schedule == "1/√k"]
    ends = {
        (row.rule, row.momentum): [
            each.fractions[-1]
            for each in shown
            if (each.rule, each.momentum) == (row.rule, row.momentum)
        ]
        for row in shown
    }
    plain = ends["normalized", 0.0]
    assert found.fraction("max", 2) == mean_effect(plain)
    assert found.fraction("max", 2, momentum=True) == mean_effect(ends["normalized", 0.9])
    assert found.by_size("max", rule="separate")[2].tolist() == ends["separate", 0.0]
    three = [found.by_size(norm)[1] for norm in own_margins.NORMS]
    assert found.smallest_fraction(1) == mean_effect(np.min(three, axis=0))
    rises = [
        row.fractions[-1] - row.fractions[-2]
        for row in shown
        if (row.rule, row.momentum) == ("normalized", 0.0)
    ]
    assert found.rise("max", 2) == mean_effect(rises)
    assert found.ends.loc[("max", "normalized", "1/√k", 0.0), 2] == pytest.approx(np.mean(plain))
    gained = np.subtract([row.fractions[-1] for row in rows if row.rule == "proportional"], plain)
    assert found.gained_by_length("max", 2) == mean_effect(gained)


def test_cosines_are_lost_in_pairs(found):
    runs = [row for row in found.rows
            if (row.norm, row.rule, row.schedule, row.momentum)
            == ("max", "normalized", "1/√k", 0)]  # fmt: skip
    one, two = ([row.cosine for row in runs if row.size == size] for size in (1, 2))
    assert found.cosine("max", 2) == mean_effect(two)
    assert found.lost_cosine("max", 2) == mean_effect(np.subtract(one, two))
    assert found.cosines.loc[("max", "normalized", "1/√k", 0.0), 2] == pytest.approx(np.mean(two))


def test_a_size_without_runs_is_named(found):
    with pytest.raises(ValueError, match="`size` must be one of those of the plan, got 3"):
        found.fraction("max", 3)


def test_the_proved_slope_is_the_smallest_of_the_separate_runs(found):
    slopes = [row.slope for row in found.rows if (row.rule, row.size) == ("separate", 2)]
    shown = [row.slope for row in found.rows
             if (row.rule, row.size, row.schedule) == ("separate", 2, "1/√k")]  # fmt: skip
    assert min(slopes) <= found.proved_slope(2) == min(shown) <= 1 + 1e-9
