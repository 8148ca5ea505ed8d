import numpy as np
import pytest

from ntpcompanion.attention import (
    TokenSequences,
    descend_attention,
    limiting_offset,
    plant_tokens,
    solve_w_svm,
)


def test_it_is_where_descent_runs_in_the_end(rng):
    drawn = plant_tokens(rng, count=5, length=3, dim=60)
    offset = limiting_offset(drawn.sequences, drawn.decoder, drawn.best)
    target = solve_w_svm(drawn.sequences, drawn.best, tol=1e-10).weights
    ray = target / np.linalg.norm(target)
    how = {"method": "ngd", "learning_rate": 0.2, "keep": [600]}
    W = descend_attention(drawn.sequences, drawn.decoder, **how).weights[0]
    assert abs((offset * ray).sum()) < 1e-9
    np.testing.assert_allclose(W - (W * ray).sum() * ray, offset, atol=0.02 * np.abs(offset).max())


def test_unequal_scores_move_it():
    """Two other tokens on orthogonal sides: the one of lower score is pushed further away."""
    tokens = np.array([[[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.5]]])
    data, u = TokenSequences(tokens, np.ones((1, 1)), np.ones(1)), [0.0, 0.0, 1.0]
    offset = limiting_offset(data, u, [0])
    how = {"method": "ngd", "learning_rate": 0.05, "keep": [1000]}
    W = descend_attention(data, u, **how).weights[0]
    target = solve_w_svm(data, [0]).weights
    ray = target / np.linalg.norm(target)
    np.testing.assert_allclose(W - (W * ray).sum() * ray, offset, atol=0.02)
    assert np.linalg.norm(offset) > 0.1


def test_data_to_which_it_does_not_apply_are_refused(rng):
    crowded = plant_tokens(rng, count=10, length=6, dim=12)
    with pytest.raises(ValueError, match="`sequences` has a pair that is not a support vector"):
        limiting_offset(crowded.sequences, crowded.decoder, crowded.best)
    drawn = plant_tokens(rng, count=4, length=3, dim=60)
    with pytest.raises(ValueError, match="`decoder` must give the token `best` the largest"):
        limiting_offset(drawn.sequences, -drawn.decoder, drawn.best)
    with pytest.raises(ValueError, match=r"`decoder` must be a vector of length 60, got shape"):
        limiting_offset(drawn.sequences, np.stack([drawn.decoder] * 2), drawn.best)
    parts = (drawn.sequences.tokens, drawn.sequences.queries, drawn.sequences.labels)
    twice = TokenSequences(*(np.concatenate([part, part]) for part in parts))
    with pytest.raises(ValueError, match="`sequences` has 16 pairs that are linearly dependent"):
        limiting_offset(twice, drawn.decoder, np.tile(drawn.best, 2))
    opposed = TokenSequences(np.array([[[1.0], [0.0]]] * 2), np.array([[1.0], [2.0]]), np.ones(2))
    with pytest.raises(ValueError, match="`sequences` has no W_mm: `solve_w_svm` says NOT_SEP"):
        limiting_offset(opposed, [1.0], [0, 1])
