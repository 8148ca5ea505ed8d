import numpy as np
import pytest
import torch

from ntpcompanion.capacity import generic_rank, logit_jacobian, rank_by_gap
from ntpcompanion.capacity.jacobian import ACTIVATIONS, jacobian_from

TORCH = {
    "tanh": torch.tanh,
    "gelu": torch.nn.functional.gelu,
    "sine": torch.sin,
    "relu": torch.relu,
    "cube": lambda a: a**3,
}
PRIME = 2**31 - 1


def network(N, V, d, m):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in ((N, d), (m, d), m, (V, m))]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_jacobian_is_that_of_automatic_differentiation(activation):
    x, W, b, U = network(4, 3, 2, 5)

    def differences(U, W, b):
        logits = TORCH[activation](torch.as_tensor(x) @ W.T + b) @ U.T
        return (logits[:, :-1] - logits[:, -1:]).ravel()

    parts = torch.autograd.functional.jacobian(differences, tuple(map(torch.tensor, (U, W, b))))
    wanted = torch.cat([part.reshape(8, -1) for part in parts], dim=1)
    np.testing.assert_allclose(logit_jacobian(x, W, b, U, activation), wanted, atol=1e-13)


def rank_modulo(matrix):
    """Gaussian elimination with integers modulo a prime: no rounding."""
    rows = [[int(entry) % PRIME for entry in row] for row in matrix]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][column], -1, PRIME)
        own = rows[rank] = [entry * inverse % PRIME for entry in rows[rank]]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column]
            if factor:
                rows[i] = [(a - factor * b) % PRIME for a, b in zip(rows[i], own, strict=True)]
        rank += 1
    return rank


def integer_jacobian(N, V, d, m, activation, slope):
    rng = np.random.default_rng(1)
    shapes = ((N, d), (m, d), m, (V, m))
    x, W, b, U = (rng.integers(-9, 10, shape).astype(object) for shape in shapes)
    before = x @ W.T + b
    return jacobian_from(activation(before), slope(before), x, U)


def test_the_elimination_is_that_of_known_ranks():
    rng = np.random.default_rng(2)
    product = rng.integers(-9, 10, (6, 2)) @ rng.integers(-9, 10, (2, 5))
    assert rank_modulo(product) == 2
    assert rank_modulo(np.eye(4, dtype=int)) == 4


# Polynomials with integer weights are computed exactly. A minor that is not zero modulo a prime is
# not zero, so that the rank modulo a prime is a lower bound of the true rank at this point, and
# that one of the generic rank; where it equals the upper bound that is counted, all are equal.
@pytest.mark.parametrize(("V", "d", "m"), [(4, 2, 3), (3, 3, 4), (5, 2, 4)])
def test_the_generic_rank_is_attained_in_exact_arithmetic(V, d, m):
    most = m * (V + d) // (V - 1)
    for N in (2, most, most + 1, 2 * most):
        J = integer_jacobian(N, V, d, m, lambda a: a**5 + a**2, lambda a: 5 * a**4 + 2 * a)
        assert rank_modulo(J) == generic_rank(N, V, d, m)


def test_a_power_loses_a_direction_for_each_hidden_unit():
    V, d, m = 4, 2, 3
    J = integer_jacobian(20, V, d, m, lambda a: a**5, lambda a: 5 * a**4)
    assert rank_modulo(J) == m * (V + d + 1) - 2 * m


@pytest.mark.parametrize("activation", ["tanh", "gelu", "sine"])
def test_floating_point_agrees_and_shows_a_gap(activation):
    V, d, m = 5, 3, 4
    for N in (3, 8, 9, 20):
        found = rank_by_gap(logit_jacobian(*network(N, V, d, m), activation))
        assert found.rank == generic_rank(N, V, d, m)
        assert found.above_cut > 1e6 * found.below_cut


def test_a_rank_is_read_off_its_singular_values():
    found = rank_by_gap(np.diag([4.0, 2.0, 0.0]))
    assert (found.rank, found.above_cut, found.below_cut) == (2, 0.5, 0.0)
    assert rank_by_gap(np.eye(2)).below_cut == 0.0


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named():
    x, W, b, U = network(4, 3, 2, 5)
    with pytest.raises(ValueError, match=r"`weights` must be a matrix .* shape .5, 2."):
        logit_jacobian(x, W[:, :1], b, U)
    with pytest.raises(ValueError, match=r"`decoder` must have at least two rows.*got"):
        logit_jacobian(x, W, b, U[:1])
    with pytest.raises(ValueError, match=r"`activation` must be one of 'tanh'.*got 'step'"):
        logit_jacobian(x, W, b, U, "step")
    with pytest.raises(ValueError, match=r"`matrix` must not be 0"):
        rank_by_gap(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"`vocab_size`.*got 1"):
        generic_rank(3, 1, 2, 2)
