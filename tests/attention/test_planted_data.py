import numpy as np
import pytest

from ntpcompanion.attention import TokenSequences, plant_tokens, stack_sequences
from ntpcompanion.attention.planted_data import as_decoder


@pytest.fixture
def few(rng):
    labels = np.array([1.0, -1.0, 1.0])
    return TokenSequences(rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 2)), labels)


def test_logits_and_scores_are_those_of_a_loop(few, rng):
    W, u = rng.normal(size=(5, 2)), rng.normal(size=5)
    logits, scores = few.logits(W), few.scores(u)
    for i in range(3):
        for t in range(4):
            assert logits[i, t] == pytest.approx(few.tokens[i, t] @ W @ few.queries[i])
            assert scores[i, t] == pytest.approx(few.labels[i] * (u @ few.tokens[i, t]))


def test_gram_and_weights_are_those_of_the_outer_products(few, rng):
    c = rng.normal(size=(3, 4))
    outer = np.einsum("itd,ik->itdk", few.tokens, few.queries)
    np.testing.assert_allclose(few.weights(c), np.einsum("it,itdk->dk", c, outer))
    flat = outer.reshape(12, -1)
    np.testing.assert_allclose(few.gram(), flat @ flat.T, atol=1e-12)
    moved = (few.gram() @ c.ravel()).reshape(3, 4)
    np.testing.assert_allclose(few.logits(few.weights(c)), moved, atol=1e-12)


def test_data_sets_side_by_side_are_those_alone(rng):
    drawn = [plant_tokens(rng, count=4, length=3, dim=6).sequences for _ in range(2)]
    both, W, c = stack_sequences(drawn), rng.normal(size=(2, 6, 6)), rng.normal(size=(2, 4, 3))
    for k, one in enumerate(drawn):
        np.testing.assert_allclose(both.logits(W)[k], one.logits(W[k]))
        np.testing.assert_allclose(both.weights(c)[k], one.weights(c[k]))
        np.testing.assert_allclose(both.gram()[k], one.gram())
    with pytest.raises(ValueError, match="`sets` must hold data sets of one size"):
        stack_sequences([drawn[0], plant_tokens(rng, count=5, length=3, dim=6).sequences])
    with pytest.raises(ValueError, match="`sets` must hold at least 1"):
        stack_sequences([])


def test_planted_tokens_are_as_described(rng):
    drawn = plant_tokens(rng, count=200, length=5, dim=40)
    tokens, rows = drawn.sequences.tokens, np.arange(200)
    scores = drawn.sequences.scores(drawn.decoder)
    assert set(scores[rows, drawn.best]) == {1.0}
    others = np.arange(5) != drawn.best[:, None]
    assert not scores[others].any()
    assert not tokens[others][:, :2].any()
    np.testing.assert_array_equal(drawn.sequences.queries, tokens[:, 0])
    assert drawn.sequences.labels.sum() == 0
    assert np.bincount(drawn.best).min() > 20
    assert (tokens[others] ** 2).sum(axis=1).mean() == pytest.approx(38 / 40, abs=0.05)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_data_are_refused(rng):
    tokens, queries, labels = np.ones((2, 3, 4)), np.ones((2, 1)), np.array([1.0, -1.0])
    with pytest.raises(ValueError, match="`queries` must be"):
        TokenSequences(tokens, np.ones((3, 1)), labels)
    with pytest.raises(ValueError, match=r"`labels` must be −1 or \+1, got"):
        TokenSequences(tokens, queries, [1.0, 0.0])
    with pytest.raises(ValueError, match="`count` must be at least 2"):
        plant_tokens(rng, count=1, length=3, dim=5)
    with pytest.raises(ValueError, match=r"`dim` must be at least 3 \(two means"):
        plant_tokens(rng, count=2, length=3, dim=2)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_decoders_are_refused(few):
    with pytest.raises(ValueError, match="`decoder` must be a vector of length 5"):
        as_decoder("decoder", np.ones(4), few)
    with pytest.raises(ValueError, match=r"`decoder` must be a vector .*, got shape \(2, 5\)"):
        as_decoder("decoder", np.ones((2, 5)), few)


@pytest.mark.usefixtures("unchecked_shapes")
def test_each_data_set_may_have_its_decoder_but_no_more_than_one(few):
    two = stack_sequences([few, few])
    for shape in ((5,), (1, 5), (2, 5)):
        assert as_decoder("decoder", np.ones(shape), two).shape == shape
    with pytest.raises(ValueError, match=r"`decoder` must have leading axes .*\(2,\), got shape"):
        as_decoder("decoder", np.ones((3, 5)), two)
    with pytest.raises(
        ValueError, match=r"one decoder for each of the data sets \(2,\), got shape"
    ):
        as_decoder("decoder", np.ones((4, 2, 5)), two)


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("method", "name", "shape"),
    [
        ("logits", "weights", (5, 2)),
        ("scores", "decoder", (5,)),
        ("weights", "coefficients", (3, 4)),
    ],
)
def test_arrays_that_do_not_fit_the_data_are_refused(few, method, name, shape):
    two = stack_sequences([few, few])
    assert len(getattr(two, method)(np.ones((7, 2, *shape)))) == 7
    for wrong in ((*shape[:-1], 9), ()):
        with pytest.raises(ValueError, match=f"`{name}` must be .* got shape"):
            getattr(two, method)(np.ones(wrong))
    with pytest.raises(ValueError, match=rf"`{name}` must have leading axes .*\(2,\), got shape"):
        getattr(two, method)(np.ones((3, *shape)))
