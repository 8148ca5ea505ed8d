from dataclasses import dataclass

import numpy as np

from ntpcompanion.geometry.newton import newton


@dataclass
class Quadratic:
    """½ xᵀ A x − bᵀ x."""

    A: np.ndarray
    b: np.ndarray

    def value_and_gradient(self, x):
        slope = self.A @ x - self.b
        return float(x @ (slope - self.b)) / 2, slope

    def hessian_product(self, x, v):
        return self.A @ v


def quadratic(rng):
    root = rng.standard_normal((6, 6))
    return Quadratic(root @ root.T + np.eye(6), rng.standard_normal(6))


def test_the_minimum_of_a_quadratic_is_found(rng):
    problem = quadratic(rng)
    found, steps = newton(problem, np.zeros(6), lambda x: False, 100)
    np.testing.assert_allclose(found, np.linalg.solve(problem.A, problem.b), atol=1e-8)
    assert steps > 0


def test_a_proof_or_a_spent_budget_ends_the_search(rng):
    problem, asked = quadratic(rng), []
    found, steps = newton(problem, np.zeros(6), lambda x: bool(asked.append(x) or True), 100)
    assert steps == len(asked) == 1
    np.testing.assert_array_equal(found, asked[0])
    _, steps = newton(problem, np.zeros(6), lambda x: False, 2)
    assert steps == 2
