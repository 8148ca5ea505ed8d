import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from ntpcompanion.flatness.causal_traces import fisher_squares
from ntpcompanion.flatness.llama_rescaling import Rescaling, balanced_llama
from tests.flatness.cases import seeded
from tests.languages.llama import small_llama, texts

HEADS, GROUPS = 4, 2
SHAPES = ((2, 8), (2, 8), (2, 2, 2), (2, 2, 4), (2, 6), ())


def random_rescaling(seed=0):
    draws = seeded(seed)
    shapes = (torch.randn(shape, generator=draws, dtype=torch.float64) for shape in SHAPES)
    return Rescaling(*(shape.exp() for shape in shapes))


def squares_of(model):
    return fisher_squares(model, texts(30), seeded(1))


@pytest.fixture(scope="module")
def squares():
    return squares_of(small_llama())


@pytest.fixture(scope="module")
def balanced(squares):
    return balanced_llama(squares, HEADS, GROUPS)


def test_a_rescaled_model_is_the_same_function_and_its_squared_gradients_are_predicted(squares):
    model, rows = small_llama(), texts(5, length=9)
    with torch.no_grad():
        before = model(input_ids=rows).logits
        random_rescaling().apply(model)
        after = model(input_ids=rows).logits
    assert torch.allclose(before, after, rtol=1e-5, atol=1e-5)
    factors = random_rescaling().squared_factors(HEADS)
    for name, moved in squares_of(model).items():
        assert torch.allclose(moved * factors[name], squares[name], rtol=1e-3, atol=1e-6)


def test_the_minimum_is_below_every_rescaling_and_has_a_certificate(squares, balanced):
    plain = sum(float(square.sum()) for square in squares.values())
    assert balanced.value == pytest.approx(balanced.rescaling.trace(squares, HEADS), rel=1e-10)
    assert balanced.gradient < 1e-6
    assert balanced.value < plain
    for seed in range(5):
        assert balanced.value < random_rescaling(seed).trace(squares, HEADS)


def test_a_rescaling_changes_the_plain_trace_and_not_the_minimum(squares, balanced):
    model = small_llama()
    random_rescaling().apply(model)
    moved = squares_of(model)
    sums = [sum(float(square.sum()) for square in each.values()) for each in (squares, moved)]
    assert abs(np.log(sums[1] / sums[0])) > 0.5
    assert balanced_llama(moved, HEADS, GROUPS).value == pytest.approx(balanced.value, rel=1e-6)


def test_the_minimum_is_that_of_a_general_optimizer(squares, balanced):
    sizes = [int(np.prod(shape)) for shape in SHAPES]

    def objective(logs):
        free = torch.from_numpy(logs).requires_grad_()
        parts = zip(free.exp().split(sizes), SHAPES, strict=True)
        factors = Rescaling(*(part.reshape(shape) for part, shape in parts)).squared_factors(HEADS)
        total = sum((square / factors[name]).sum() for name, square in squares.items()).log()
        return total.item(), torch.autograd.grad(total, free)[0].numpy()

    found = minimize(objective, np.zeros(sum(sizes)), jac=True, options={"gtol": 1e-8})
    assert balanced.value == pytest.approx(np.exp(found.fun), rel=1e-8)


@pytest.mark.slow
def test_a_part_without_gradients_has_no_minimum(squares):
    name = "model.layers.1.mlp.up_proj.weight"
    with pytest.raises(ValueError, match=r"`squares` have no minimum .* Use more rows"):
        balanced_llama(squares | {name: torch.zeros_like(squares[name])}, HEADS, GROUPS)


@pytest.mark.parametrize("number", [-1.0, np.nan])
def test_what_is_no_square_is_named(squares, number):
    name = "model.layers.1.mlp.up_proj.weight"
    with pytest.raises(ValueError, match="`squares` must be finite and not negative"):
        balanced_llama(squares | {name: number * torch.ones_like(squares[name])}, HEADS, GROUPS)


def test_another_architecture_is_named():
    model = small_llama(tie_word_embeddings=False)
    with pytest.raises(ValueError, match=r"output matrix is its embedding; \['lm_head.weight'\]"):
        random_rescaling().apply(model)
