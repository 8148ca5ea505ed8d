import numpy as np
import pytest

from ntpcompanion.experiments.decoders import planted_teachers
from ntpcompanion.experiments.decoders.planted_teachers import Recovery
from ntpcompanion.statistics import count_successes
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {
    "vocab_size": 4,
    "dim": 6,
    "support_size": 2,
    "fractions": [0.3, 1.0],
    "smoothings": [0.1, 0.01],
    "steps": 6000,
    "noise": 0.0,
    "teachers": 3,
    "tests": 200,
    "seed": 1,
    "further_sizes": [3],
}
found, test_a_result_repeats_and_is_plain = small_run(planted_teachers, RIGHT, long=True)


def test_every_wrong_field_is_named():
    wrong = {
        "support_size": (4, r"must lie in 2 … 3, below `vocab_size`.*got 4"),
        "further_sizes": ([2, 4], r"must lie in 2 … 3, below `vocab_size`.*got 4"),
        "smoothings": ([0.01, 0.1], r"must decrease, got \[0.01, 0.1\]"),
    }
    check_wrong_fields(planted_teachers.Plan, RIGHT, wrong)


def test_ties_that_determine_the_teacher_recover_every_support(found):
    """The only decoder with the ties is the teacher: whatever has them knows all new contexts."""
    assert found.counts.equations.tolist() == [17] * 3 + [9] * 3  # (3 · 6 − 1) / (S − 1)
    assert (found.counts.counted >= found.counts.equations).all()
    assert found.exact == count_successes(
        [row.counted == row.determined for row in found.thresholds]
    )
    counts = found.counts[found.counts.support_size == 2]
    determined = counts.determined <= counts.counted
    last = found.table[found.table.fraction == 1]
    assert determined.any()
    assert (last[["svm", "limit"]][determined.to_numpy()] == 1).all().all()
    first = found.table[found.table.fraction == 0.3]
    assert first.contexts.tolist() == np.ceil(0.3 * counts.counted).tolist()
    assert (first.svm < 0.9).all()
    assert first.limit_unique.all()


def test_losses_are_compared_between_snapshots():
    row = Recovery(
        teacher=0,
        fraction=1.0,
        contexts=3,
        svm=None,
        limit=None,
        limit_unique=None,
        smoothed=(0.5, 0.6),
        smoothed_excess=(0.1, 0.01),
        descended=(0.2, 0.4, 0.3),
        excess=(1.0, 0.01, 0.005),
    )
    assert row.at_equal_loss == pytest.approx((0.3, 0.4))
    short = row.model_copy(update={"smoothed_excess": (0.1, 0.001)})
    with pytest.raises(
        ValueError, match=r"descent ends 0\.005 nats above the entropy, and label sm"
    ):
        _ = short.at_equal_loss
    assert row.gained_by_stopping == pytest.approx(0.1)


def test_equal_probabilities_are_equal():
    uniform = planted_teachers.run(
        planted_teachers.Plan.from_json(RIGHT | {"uniform": True, "fractions": [0.3]})
    )
    # with independent embeddings smoothing is then a multiple of its limit
    assert all(row.smoothed == (row.limit, row.limit) for row in uniform.recoveries)


def test_with_noise_no_decoder_separates():
    noisy = planted_teachers.run(
        planted_teachers.Plan.from_json(RIGHT | {"noise": 0.5, "fractions": [2.0], "teachers": 2})
    )
    assert all(row.svm is None and row.limit is None for row in noisy.recoveries)
    assert all(row.excess[-1] > 0.01 for row in noisy.recoveries)


def test_more_contexts_than_are_drawn_are_named():
    plan = planted_teachers.Plan.from_json(RIGHT | {"fractions": [9.0]})
    with pytest.raises(ValueError, match="`fractions` asks for"):
        planted_teachers.run(plan)


def test_fractions_that_were_not_run_are_named(found):
    with pytest.raises(ValueError, match=r"`fraction` must be one of those of the plan, got 0\.7"):
        found.more("svm", "usual", 0.7)
    with pytest.raises(ValueError, match="`other` must be one of 'svm', 'limit', 'usual'"):
        found.more("svm", "adam", 0.3)
