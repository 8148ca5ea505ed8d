import torch

from ntpcompanion.numerics.lbfgs import Pair, lbfgs_direction
from tests.mlm.cases import generator


def random(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def quadratic_pairs(stack=3, size=6, count=4):
    """Steps of convex quadratics, one for each problem, and the changes of their gradients."""
    root = random(stack, size, size)
    hessian = root @ root.mT + torch.eye(size)
    steps = [random(stack, size, seed=seed) for seed in range(1, count + 1)]
    return [(s, torch.einsum("kij,kj->ki", hessian, s)) for s in steps]


def test_without_pairs_it_is_steepest_descent():
    gradient = random(2, 5)
    assert torch.equal(lbfgs_direction(gradient, []), -gradient)


def test_directions_are_those_of_the_dense_bfgs_update():
    pairs, gradient = quadratic_pairs(), random(3, 6, seed=9)
    found = lbfgs_direction(gradient, [Pair.of(*pair) for pair in pairs])
    for k in range(3):
        s, y = pairs[-1][0][k], pairs[-1][1][k]
        inverse = torch.eye(6).double() * (s @ y) / (y @ y)
        for step, change in pairs:
            s, y = step[k], change[k]
            left = torch.eye(6).double() - torch.outer(s, y) / (s @ y)
            inverse = left @ inverse @ left.T + torch.outer(s, s) / (s @ y)
        assert torch.allclose(found[k], -inverse @ gradient[k], rtol=1e-10, atol=1e-12)


def test_a_pair_without_curvature_has_no_effect_on_its_problem():
    first, second = quadratic_pairs(count=2)
    step, change = second[0].clone(), second[1].clone()
    step[0], change[0] = 0, 0  # has not moved
    change[1] = -change[1]  # not convex
    gradient = random(3, 6, seed=9)
    both = lbfgs_direction(gradient, [Pair.of(*first), Pair.of(step, change)])
    one = lbfgs_direction(gradient, [Pair.of(*first)])
    assert torch.allclose(both[:2], one[:2], rtol=1e-14)
    assert not torch.allclose(both[2], one[2], rtol=1e-2)


def test_problems_are_independent():
    pairs, gradient = [Pair.of(*pair) for pair in quadratic_pairs()], random(3, 6, seed=9)
    kept = torch.tensor([True, False, True])
    some = lbfgs_direction(gradient[kept], [pair.only(kept) for pair in pairs])
    assert torch.allclose(some, lbfgs_direction(gradient, pairs)[kept], rtol=1e-14)
