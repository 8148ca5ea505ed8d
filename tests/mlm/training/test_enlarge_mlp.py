from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.func import jacrev

from ntpcompanion.mlm.training.enlarge_mlp import MLP_SCALINGS, enlarge_mlp, mlp_traces

SIZES = (3, 4, 5, 2)


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=(above, below)) for below, above in pairwise(SIZES)]
    return weights, rng.normal(size=(6, SIZES[0]))


def exactly(matrix):
    return [[Fraction(entry) for entry in row] for row in matrix]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def transposed(matrix):
    return [list(column) for column in zip(*matrix, strict=True)]


def exact_squares(weights, x, output):
    """A logit of a ReLU network, and the square of its gradient in each matrix, in fractions."""
    weights, taken = [exactly(matrix) for matrix in weights], [[Fraction(int(e)) for e in x]]
    for matrix in weights[:-1]:
        taken.append([max(entry, Fraction(0)) for entry in times(matrix, taken[-1])])
    logits = times(weights[-1], taken[-1])
    gradient, squares = [Fraction(int(i == output)) for i in range(len(logits))], []
    for matrix, hidden in zip(reversed(weights), reversed(taken), strict=True):
        squares.append(sum(g * g for g in gradient) * sum(h * h for h in hidden))
        back = times(transposed(matrix), gradient)
        gradient = [g if h > 0 else Fraction(0) for g, h in zip(back, hidden, strict=True)]
    return logits[output], squares[::-1]


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [("balanced", [1, 1, 1, 1]), ("naive", [Fraction(1, 4), 1, 1, 4])],
)
def test_logits_and_squared_gradients_in_exact_fractions(scaling, expected):
    """Four copies have the root 2, so that every number is a fraction."""
    rng = np.random.default_rng(1)
    sizes = (2, 3, 3, 4, 2)
    weights = [
        rng.integers(-3, 4, (above, below)).astype(float) for below, above in pairwise(sizes)
    ]
    wide, seen = enlarge_mlp(weights, 4, scaling=scaling), 0
    assert [matrix.shape for matrix in wide] == [(12, 2), (12, 12), (16, 12), (2, 16)]
    for x in rng.integers(-3, 4, (24, 2)):
        for output in (0, 1):
            logit, small = exact_squares(weights, x, output)
            same, large = exact_squares(wide, x, output)
            assert same == logit
            assert large == [ratio * square for ratio, square in zip(expected, small, strict=True)]
            seen += all(small)
    assert seen > 4  # not all gradients are zero


def logits(weights, inputs, slope):
    for matrix in weights[:-1]:
        inputs = inputs @ matrix.T
        inputs = np.where(inputs > 0, inputs, slope * inputs)
    return inputs @ weights[-1].T


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_traces_by_automatic_differentiation(network, slope):
    weights, inputs = network
    tensors = tuple(torch.tensor(matrix) for matrix in weights)

    def log_chances(*matrices):
        hidden = torch.tensor(inputs)
        for matrix in matrices[:-1]:
            hidden = torch.nn.functional.leaky_relu(hidden @ matrix.T, slope)
        return (hidden @ matrices[-1].T).log_softmax(1)

    chances = log_chances(*tensors).exp()
    slopes = jacrev(log_chances, argnums=tuple(range(len(tensors))))(*tensors)
    expected = [float((chances * s.square().sum((2, 3))).sum(1).mean()) for s in slopes]
    assert mlp_traces(weights, inputs, slope=slope) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("scaling", MLP_SCALINGS)
@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_the_function_is_kept_and_traces_change_as_stated(network, factor, slope, scaling):
    weights, inputs = network
    wide = enlarge_mlp(weights, factor, scaling=scaling)
    assert logits(wide, inputs, slope) == pytest.approx(logits(weights, inputs, slope), rel=1e-12)
    ratios = [1, 1, 1] if scaling == "balanced" else [1 / factor, 1, factor]
    assert mlp_traces(wide, inputs, slope=slope) == pytest.approx(
        ratios * mlp_traces(weights, inputs, slope=slope), rel=1e-12
    )


@pytest.mark.usefixtures("unchecked_shapes")
def test_what_is_no_network_is_rejected(network):
    weights, inputs = network
    with pytest.raises(ValueError, match="`weights` must hold at least 2"):
        enlarge_mlp(weights[:1], 2)
    with pytest.raises(ValueError, match="`weights` must be matrices, each with as many columns"):
        mlp_traces([weights[0], weights[2]], inputs)
    with pytest.raises(ValueError, match=r"`inputs` must be a matrix .* shape \(6, 3\)"):
        mlp_traces(weights, inputs[:, :2])
