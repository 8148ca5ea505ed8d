from fractions import Fraction

import numpy as np
import pytest
import sympy
from scipy.stats import norm
from sklearn.linear_model import Ridge

from ntpcompanion.generalization import mirrored_fidelity, tangent_fidelity
from ntpcompanion.generalization.explanations import _explain


@pytest.mark.parametrize("coefficients", [[3, 2], [0, 0, 1], [1, 0, -2, 1], [0, 1, 0, 0, 2]])
def test_fidelities_are_the_integrals_of_their_definition(coefficients):
    (x, z), h = sympy.symbols("x z"), sympy.Rational(2, 5)

    def f(at):
        return sum(c * at**k for k, c in enumerate(coefficients))

    def tangent(at, seen):
        return f(at) + sympy.diff(f(x), x).subs(x, at) * (seen - at)

    def mean(error):
        inner = sympy.integrate(sympy.expand(error**2), (z, x - h, x + h)) / (2 * h)
        return sympy.integrate(sympy.expand(inner), (x, 0, 1))

    found = tangent_fidelity(coefficients, Fraction(2, 5))
    assert found.neighbourhood == Fraction(str(mean(tangent(x, z) - f(z))))
    assert found.mirrored == Fraction(str(mean(tangent(z, x) - f(x))))


def test_explanations_are_weighted_ridge_regressions():
    rng = np.random.default_rng(3)
    S, values, at, x = rng.random((9, 2)), rng.random(9), rng.random((4, 2)), rng.random((4, 2))
    found = _explain(at, x, S, values, 0.4, 0.05)
    for neighbour, point, one in zip(at, x, found, strict=True):
        weights = norm.pdf(S, neighbour, 0.4).prod(axis=1)
        rows = np.column_stack([np.ones(9), S - neighbour])
        fit = Ridge(0.05, fit_intercept=False).fit(rows, values, weights / weights.sum())
        assert one == pytest.approx(fit.predict([[1, *(point - neighbour)]])[0], rel=1e-9)


def test_a_linear_function_is_explained_and_another_is_not():
    S, rng = np.random.default_rng(4).random((30, 2)), np.random.default_rng(5)
    straight, bent = S @ [2.0, -1.0] + 3, S[:, 0] ** 2
    given = {"sample": S, "width": 0.3, "ridge": 1e-12, "generator": rng}
    assert mirrored_fidelity(S, straight, sample_values=straight, **given) < 1e-15
    assert mirrored_fidelity(S, bent, sample_values=bent, **given) > 1e-5


def test_the_mirrored_fidelity_tends_to_that_of_tangents():
    x, h = np.linspace(0, 1, 401)[:, None], 0.02  # a Gaussian of this width has δ⁴ = 3 h⁴
    given = {"sample": x, "sample_values": x[:, 0] ** 2, "width": h, "ridge": 1e-9, "draws": 50}
    inside = x[(x[:, 0] > 0.2) & (x[:, 0] < 0.8)]
    rng = np.random.default_rng(6)
    error = mirrored_fidelity(inside, inside[:, 0] ** 2, **given, generator=rng)
    # weighted lines: δ² − h² in place of δ², with the mean square 3 h⁴ − 2 h⁴ + h⁴
    assert error == pytest.approx(2 * h**4, rel=0.1)
