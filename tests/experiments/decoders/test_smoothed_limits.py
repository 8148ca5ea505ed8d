import numpy as np
import pytest

from ntpcompanion.experiments.decoders import smoothed_limits
from ntpcompanion.linear import ContextTable, solve_ntp_svm
from ntpcompanion.randomness import stream
from ntpcompanion.statistics import mean_effect
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {
    "num_contexts": 4,
    "vocab_size": 4,
    "support_size": 2,
    "dim": 5,
    "draws": 3,
    "smoothings": [0.1, 1e-4, 1e-8],
    "seed": 0,
    "teacher_steps": 50,
}
found, test_a_result_repeats_and_is_plain = small_run(smoothed_limits, RIGHT)


def test_every_wrong_field_is_named():
    check_wrong_fields(
        smoothed_limits.Plan,
        RIGHT,
        {"smoothings": ([0.1, 0.2], r"must decrease, got \[0.1, 0.2\]")},
    )


def test_with_independent_embeddings_all_is_in_closed_form(found):
    """U has the centred supports as logits, and W_ε the centred logarithms of the labels."""
    for draw, row in enumerate(found.tables):
        table = ContextTable.random(4, 4, 2, 5, stream(0, f"table {draw}"))
        back, p = np.linalg.pinv(table.embeddings), table.distributions.toarray()
        known = (back @ (p > 0)).T
        known -= known.mean(axis=0)
        svm = solve_ntp_svm(table).weights
        assert row.cosine == pytest.approx(cosine(known, svm), abs=1e-6)
        assert row.largest_margin == pytest.approx(1, abs=1e-6)
        for epsilon, to_limit, to_svm in zip(
            RIGHT["smoothings"], row.to_limit, row.to_svm, strict=True
        ):
            W = (back @ np.log((1 - epsilon) * p + epsilon / 4)).T
            W -= W.mean(axis=0)
            assert to_limit == pytest.approx(cosine(W, known), abs=1e-5)
            assert to_svm == pytest.approx(cosine(W, svm), abs=1e-5)
        assert row.unique
        assert 0 < row.student < 1 - 1e-3
        assert abs(row.gap) < 1e-8
    assert found.drawn == 3
    assert found.student.mean == pytest.approx(found.table.student.mean())
    alone = found.model_copy(
        update={"tables": [t.model_copy(update={"student": None}) for t in found.tables]}
    )
    with pytest.raises(ValueError, match="take `teacher_steps` of at least 1"):
        alone.student  # noqa: B018
    assert found.cosine.mean == pytest.approx(found.table.cosine.mean())
    assert found.nearer == mean_effect([row.to_limit[-1] - row.to_svm[-1] for row in found.tables])
    assert found.paths.to_svm[1] == pytest.approx(np.mean([row.to_svm[1] for row in found.tables]))


def cosine(a, b):
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


def test_sizes_without_separable_tables_are_named():
    plan = smoothed_limits.Plan.from_json(RIGHT | {"num_contexts": 30, "dim": 2, "draws": 2})
    with pytest.raises(ValueError, match="`dim` = 2 is too small: 0 of 20 tables are separable"):
        smoothed_limits.run(plan)
