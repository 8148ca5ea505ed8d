import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ntpcompanion.linear.dynamics.alignment import (
    cosine_distance,
    measure_alignment,
    smallest_margins,
)
from ntpcompanion.linear.separability.compatibility import (
    CompatibilityVerdict,
    check_compatibility,
    require_compatible,
)
from ntpcompanion.linear.separability.ties import project_onto_F
from ntpcompanion.linear.tables.contexts import ContextTable
from tests.linear.cases import degenerate_tables


def cosine(one, other):
    return np.vdot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other))


def pairwise_margin(given_table, W):
    """The smallest over contexts, tokens in and tokens out of the support, one after the other."""
    support, smallest = given_table.support.toarray(), np.inf
    for h, inside in zip(given_table.embeddings, support, strict=True):
        for z in np.flatnonzero(inside):
            for v in np.flatnonzero(~inside):
                smallest = min(smallest, (W[z] - W[v]) @ h)
    return smallest


@given(degenerate_tables(), st.integers(0, 1000))
def test_every_number_is_what_its_definition_says(given_table, seed):
    matched = check_compatibility(given_table)
    assume(matched.verdict is CompatibilityVerdict.COMPATIBLE)
    rng = np.random.default_rng(seed)
    weights, w_mm = (
        rng.standard_normal((3, given_table.vocab_size, given_table.dim)),
        rng.standard_normal(matched.finite_part.shape),
    )
    found = measure_alignment(given_table, weights, w_mm)
    for n, W in enumerate(weights):
        rest = W - project_onto_F(given_table, W)
        scale = 1 + np.abs(given_table.embeddings).max()
        assert (found.distance[n], found.cosine[n]) == pytest.approx(
            (1 - cosine(W, w_mm), cosine(W, w_mm)), abs=1e-12
        )
        assert (1 - found.distance_rest[n], found.cosine_rest[n]) == pytest.approx(
            (cosine(W - matched.finite_part, w_mm),) * 2, abs=1e-9
        )
        size = 1 + np.linalg.norm(matched.finite_part)
        assert found.finite_error[n] == pytest.approx(
            np.linalg.norm(W - rest - matched.finite_part), abs=1e-9 * size
        )
        assert found.excess[n] == given_table.excess(W)
        assert (found.norm[n], found.rest_norm[n]) == pytest.approx(
            (np.linalg.norm(W), np.linalg.norm(rest)), abs=1e-9
        )
        assert found.rest_largest[n] == pytest.approx(np.abs(rest).max(), abs=1e-9)
        assert found.margin[n] == pytest.approx(
            pairwise_margin(given_table, rest), abs=1e-8 * scale
        )


def test_small_distances_keep_their_digits():
    direction = np.array([[3.0, 4.0]])
    turned = direction + 1e-9 * np.array([[-4.0, 3.0]])
    assert cosine_distance(turned[None], direction)[0] == pytest.approx(0.5e-18, rel=1e-6)
    assert cosine_distance(-direction[None], direction)[0] == pytest.approx(2)
    assert cosine_distance(direction[None], np.array([[0.0, 1.0]]))[0] == pytest.approx(0.2)
    for scale in (2.0**600, 2.0**-600):
        assert cosine_distance(scale * turned[None], direction)[0] == pytest.approx(0.5e-18, 1e-6)


def test_one_decoder_may_come_without_an_axis(rng):
    table = ContextTable.random(5, 4, 2, 6, rng)
    W, w_mm = rng.standard_normal((2, 4, 6))
    one, many = measure_alignment(table, W, w_mm), measure_alignment(table, W[None], w_mm)
    assert all(np.array_equal(getattr(one, name), getattr(many, name)) for name in vars(one))
    assert one.distance.shape == (1,)


def test_the_finite_part_itself_leaves_no_direction_beyond_it(rng):
    table = ContextTable.random(5, 4, 2, 6, rng)
    w_mm, finite = rng.standard_normal((4, 6)), require_compatible(table).finite_part
    found = measure_alignment(table, [finite, finite + w_mm], w_mm)
    assert np.isnan(found.distance_rest).tolist() == [True, False]
    assert found.distance_rest[1] == pytest.approx(0, abs=1e-12)


def test_margins_of_contexts_that_all_tokens_can_follow_do_not_count():
    table = ContextTable(np.eye(2), np.array([[0.5, 0.5], [1.0, 0.0]]), np.full(2, 0.5))
    W = np.array([[5.0, 2.0], [0.0, -1.0]])
    assert smallest_margins(table, W[None]).tolist() == [3.0]


def test_errors_say_what_to_do(rng):
    table = ContextTable.random(5, 4, 2, 6, rng)
    W = rng.standard_normal((4, 6))
    with pytest.raises(ValueError, match=r"hold no zero decoder, which .*\. Leave it out\."):
        measure_alignment(table, [W, 0 * W], W)
    with pytest.raises(
        ValueError, match=r"`weights` must be decoders of shape \(4, 6\), got shape \(6, 4\)"
    ):
        measure_alignment(table, W.T, W)
    twins = ContextTable(
        np.ones((2, 1)), np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]), np.full(2, 0.5)
    )
    with pytest.raises(
        ValueError,
        match=r"`table` must be compatible, .* `check_compatibility` says NOT_COMPATIBLE",
    ):
        measure_alignment(twins, np.ones((3, 1)), np.ones((3, 1)))
