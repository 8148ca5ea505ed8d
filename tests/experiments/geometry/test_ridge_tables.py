import numpy as np
import pytest

from ntpcompanion.experiments.geometry import ridge_tables
from ntpcompanion.experiments.geometry.ridge_tables import Plan
from ntpcompanion.geometry import ridge_path, solve_nuclear_svm
from tests.experiments.cases import check_wrong_fields, small_run

RIGHT = {"vocab_size": 6, "num_supports": 4, "copies": 2, "support_size": 2, "tables": 2}
RIGHT |= {"decades": 6, "seed": 0}
SHAPE_WRONG = {"support_size": (6, r"must be below 6 \(`vocab_size`\), got 6")}


def test_more_successors_than_words_are_named():
    check_wrong_fields(Plan, RIGHT, SHAPE_WRONG)


found, test_a_result_repeats_and_is_plain = small_run(ridge_tables, RIGHT, long=True)


def test_a_table_repeats_each_support_with_other_probabilities():
    table = Plan.from_json(RIGHT).next_token(0)
    assert ((table[::2] > 0) == (table[1::2] > 0)).all()
    assert ((table > 0).sum(1) == 2).all()
    assert not np.allclose(table[::2], table[1::2])


def test_a_point_is_that_of_the_factors_themselves(found):
    """Angles between rows of H and of W, not from the singular values of the logits."""
    plan = Plan.from_json(RIGHT)
    table = plan.next_token(1)
    minimum = ridge_path(table, plan.weight, plan.ridges.tolist(), tol=1e-8)[-1]
    limit = solve_nuclear_svm(table > 0, tol=1e-8)
    h = minimum.contexts / np.linalg.norm(minimum.contexts, axis=1, keepdims=True)
    shared = [h[i] @ h[i + 1] for i in range(0, 8, 2)]
    logits = minimum.logits
    last = found.path.iloc[-1]
    assert (last.table, last.ridge) == (1, plan.ridges[-1])
    assert (last.same, last.smallest_same) == pytest.approx((np.mean(shared), min(shared)))
    assert last.cosine == pytest.approx(
        (logits * limit.logits).sum() / np.linalg.norm(logits) / np.linalg.norm(limit.logits)
    )
    pairs = logits[table > 0].reshape(8, 2), np.log(table[table > 0]).reshape(8, 2)
    odds, expected = (np.diff(each, axis=1) for each in pairs)
    assert last.away == pytest.approx(np.median(np.abs(odds - expected)) / 2)


def test_angles_are_compared_with_predictions(found):
    assert (len(found.word_pairs.table), len(found.context_pairs.table)) == (15, 28)
    assert found.context_pairs.table.same.sum() == 4
    pairs = found.context_pairs.table[["predicted", "measured"]].corr().iloc[0, 1]
    first = found.similarities.query("kind == 'contexts'")[:3].set_index("vectors").pairs
    assert first["λ = 1e-5"] == pytest.approx(pairs)
    assert first["λ → 0"] > first["untrained"]
    means = found.mean_similarities.pairs["contexts"]
    assert means["λ = 1e-5"] == pytest.approx(found.similarity("contexts", "solution").mean)
    change = found.root_gain.mean
    alone = [found.similarity("words", name).mean for name in ("root", "plain")]
    assert change == pytest.approx(alone[0] - alone[1])


def test_the_example_to_touch_follows_seven_contexts():
    minimum, shown = ridge_tables.seven_contexts()
    assert (minimum.ridge, shown["ridges"][shown["start"]]) == (pytest.approx(1e-3), 1e-3)
    np.testing.assert_allclose(shown["logits"][shown["start"]], minimum.logits, atol=1e-6)
    assert shown["support"].sum(axis=1).tolist() == [2, 2, 2, 2, 1, 1, 2]
    own, limit = shown["logits"][-1], shown["solution"]  # nearly the direction of the SVM
    cosine = (own * limit).sum() / np.linalg.norm(own) / np.linalg.norm(limit)
    assert 0.98 < cosine < 1
