import mpmath
import numpy as np

from ntpcompanion.numerics.series import exp_remainder


def test_the_series_near_zero_has_all_digits():
    x = np.array([-1e-3, -3e-4, -1e-9, 1e-9, 3e-4, 1e-3])
    with mpmath.workdps(40):
        exact = [
            float(mpmath.expm1(mpmath.mpf(float(value))) - mpmath.mpf(float(value))) for value in x
        ]
    np.testing.assert_allclose(exp_remainder(x), exact, rtol=1e-14)
