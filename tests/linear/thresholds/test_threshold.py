import math

import numpy as np
import pytest

from ntpcompanion.linear.thresholds.threshold import predicted_threshold, statistical_dimension


def project(g, size):
    """The nearest point with the first `size` coordinates equal and none of the others larger: pool
    the largest violator until none is.
    """
    pool, rest = list(g[:size]), sorted(g[size:])
    while rest and rest[-1] > sum(pool) / len(pool):
        pool.append(rest.pop())
    return np.minimum(np.r_[np.full(size, np.inf), g[size:]], sum(pool) / len(pool))


@pytest.mark.parametrize(
    ("V", "S"), [(2, 1), (3, 1), (5, 2), (10, 1), (10, 4), (10, 8), (40, 3), (40, 40)]
)
def test_monte_carlo_agrees_within_its_error(rng, V, S):
    points = rng.standard_normal((4000, V))
    lengths = np.array([np.sum(project(g, S) ** 2) for g in points])
    assert abs(lengths.mean() - statistical_dimension(V, S)) < 4 * lengths.std() / math.sqrt(
        len(points)
    )


@pytest.mark.parametrize(("V", "S"), [(4, 1), (6, 3)])
def test_the_projection_of_the_oracle_is_nearest(rng, V, S):
    for g in rng.standard_normal((20, V)):
        near = project(g, S)
        assert np.ptp(near[:S]) == 0
        assert (near[S:] <= near[0]).all()
        # Moreau: the rest is orthogonal, and in the polar cone
        assert near @ (g - near) == pytest.approx(0, abs=1e-12)
        for level, others in zip(
            rng.standard_normal(50), -rng.exponential(size=(50, V - S)), strict=True
        ):
            assert np.r_[np.full(S, level), level + others] @ (g - near) <= 1e-12


@pytest.mark.parametrize("S", [1, 2, 7, 99, 999])
def test_one_token_off_support_leaves_half_a_space(S):
    assert statistical_dimension(S + 1, S) == pytest.approx(1.5, abs=1e-13)


@pytest.mark.parametrize("S", [1, 2, 7, 98, 998])
def test_two_tokens_off_support_leave_a_wedge(S):
    """Its walls meet at the angle π − arccos(1/(S + 1)); a wedge of angle α in the plane has ½ +
    α/π.
    """
    assert statistical_dimension(S + 2, S) == pytest.approx(
        2.5 - math.acos(1 / (S + 1)) / math.pi, abs=1e-13
    )


@pytest.mark.parametrize("S", [1, 2, 7, 97, 997])
def test_three_tokens_off_support_leave_a_corner(S):
    """The chances of 0 and of 3 pooled tokens are orthants of three equally correlated Gaussians;
    an odd number of them has chance ½.
    """
    orthant = {
        name: 1 / 8 + 3 * math.asin(r) / (4 * math.pi)
        for name, r in (("none", 1 / (S + 1)), ("all", -1 / (S + 2)))
    }
    pooled = (0.5 - orthant["all"]) + 2 * (0.5 - orthant["none"]) + 3 * orthant["all"]
    assert statistical_dimension(S + 3, S) == pytest.approx(4 - pooled, abs=1e-13)


@pytest.mark.parametrize("V", [1, 2, 10, 1000])
def test_a_full_support_leaves_a_line(V):
    assert statistical_dimension(V, V) == 1


def test_mixed_sizes_average_the_dimension_and_not_the_size():
    mixed = predicted_threshold(10, [1, 8, 8])
    delta = (statistical_dimension(10, 1) + 2 * statistical_dimension(10, 8)) / 3
    assert mixed == pytest.approx(1 - (delta - 1) / 9, abs=1e-14)
    assert predicted_threshold(10, np.array([8, 1, 8])) == mixed
    assert (
        predicted_threshold(10, [4, 4])
        == predicted_threshold(10, 4)
        == predicted_threshold(10, np.int64(4))
    )
    assert abs(mixed - predicted_threshold(10, 6)) > 0.05


def test_a_full_support_takes_one_dimension_from_the_others():
    """With k contexts of full support the others see d − k dimensions."""
    assert predicted_threshold(10, [10, 2, 2, 2]) == pytest.approx(
        0.25 + 0.75 * predicted_threshold(10, 2), abs=1e-13
    )


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("call", "sizes", "message"),
    [
        (
            statistical_dimension,
            (10, 11),
            r"`support_size` must lie in 1 … 10 \(`vocab_size`\), got 11",
        ),
        (
            predicted_threshold,
            (10, [1, 12]),
            r"`support_size` must lie in 1 … 10 \(`vocab_size`\), got 12",
        ),
        (
            predicted_threshold,
            (10, [1, 1.5]),
            r"`support_size` must be an integer, got 1\.5",
        ),
        (
            predicted_threshold,
            (10, []),
            r"`support_size` is empty: give one size, or one for each context",
        ),
        (
            predicted_threshold,
            (10, 10),
            r"`support_size` must be below `vocab_size` = 10 for some context: else no token has "
            r"to be beaten",
        ),
        (
            predicted_threshold,
            (1, 1),
            r"`support_size` must be below `vocab_size` = 1 for some context",
        ),
    ],
)
def test_bad_sizes_are_named(call, sizes, message):
    with pytest.raises(ValueError, match=message):
        call(*sizes)
