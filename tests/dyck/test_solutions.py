import numpy as np
import pytest

from ntpcompanion.dyck.bound import lower_bound, squared_gradient_norm
from ntpcompanion.dyck.bracket_transformer import (
    Parameters,
    forward,
    predict,
    squared_loss,
    uniform_attention,
)
from ntpcompanion.dyck.sentences import downstream_strings, masked_support
from ntpcompanion.dyck.solutions import (
    memoriser,
    random_features,
    three_neurons,
    tilted_attention,
    transferable,
    transferable_neurons,
    with_dead_neuron,
    with_least_norm_head,
)
from tests.dyck.cases import SIGNS, attentive, residuals


@pytest.mark.parametrize("T", [2, 4, 6, 8, 10, 12])
@pytest.mark.parametrize("balanced", [True, False])
def test_the_transferable_solution_has_no_loss_and_counts_any_string(T, balanced):
    parameters = transferable(T, balanced)
    for inputs, targets in (
        masked_support(T, "random"),
        masked_support(T, "fixed"),
        downstream_strings(T),
    ):
        assert predict(parameters, inputs) == pytest.approx(targets, abs=1e-12)


@pytest.mark.parametrize("T", [4, 6, 8, 10])
def test_only_its_balanced_scaling_is_flat(T):
    inputs = masked_support(T, "random")[0]
    assert squared_gradient_norm(transferable(T), inputs) == pytest.approx(2 / T**0.5, rel=1e-13)
    assert squared_gradient_norm(transferable(T, balanced=False), inputs) == pytest.approx(
        T + 1 / T**2, rel=1e-13
    )


def test_its_rows_are_those_of_the_paper():
    rows = np.outer([1, -1], [1] * 4 + [0] * 4)
    assert (transferable(4).W_V == 4**0.75 * rows).all()
    assert transferable(4).u.tolist() == [4**0.25, -(4**0.25)]
    assert (transferable(4, balanced=False).W_V == rows).all()
    assert transferable(4, balanced=False).u.tolist() == [4, -4]
    exact = transferable_neurons(4).parameters(masked_support(4, "fixed")[0].sum(1))
    assert exact.W_V == pytest.approx(transferable(4).W_V)
    assert exact.u == pytest.approx(transferable(4).u)


@pytest.mark.parametrize(("mask_sign", "scale"), [("fixed", 2), ("random", 1)])
def test_the_three_neurons_are_written_as_in_their_description(mask_sign, scale):
    T, ones, first = 6, np.ones(6), np.eye(6)[0]
    masks = (first - 0.5 * ones, -first - 0.5 * ones) if mask_sign == "fixed" else (first, -first)
    found = three_neurons(T, mask_sign)
    assert (found.directions[0] / scale).tolist() == [*(ones + first), *masks[0]]
    assert (found.directions[1] / scale).tolist() == [*(ones - first), *masks[1]]
    assert found.directions[2].tolist() == [*-ones, *0 * ones]


@pytest.mark.parametrize("T", [4, 6, 8])
def test_one_of_the_three_neurons_is_on_for_every_masked_input(T):
    """No pre-activation is zero under the fixed sign; under the random one some are."""
    for mask_sign in SIGNS:
        z = masked_support(T, mask_sign)[0].sum(1)
        found = three_neurons(T, mask_sign)
        assert (found.active(z).sum(1) == 1).all()
        assert (found.preactivations(z) == 0).any() == (mask_sign == "random")


def test_the_counter_examples_are_wrong_downstream():
    """All have zero loss on masked inputs, as `test_exact` shows; not one of them counts all
    strings.
    """
    inputs, targets = downstream_strings(6)
    z = inputs.sum(1)
    for neurons in (three_neurons(6, "fixed"), three_neurons(6, "random"), memoriser(6)):
        assert neurons.error(z, targets) > 0
    dead = with_dead_neuron(6, np.array([2, -1, 0, 3, 0, 0]))
    assert dead.directions[2].tolist() == [2, -1, 0, 3, 0, 0] + [-6] * 6
    assert not dead.active(masked_support(6, "fixed")[0].sum(1))[:, 2].any()
    assert dead.active(z)[:, 2].any()


def test_the_memoriser_needs_the_fixed_sign():
    z, targets = (masked_support(4, "random")[0].sum(1), masked_support(4, "random")[1])
    assert memoriser(4).error(z, targets) > 0


@pytest.mark.parametrize(
    ("T", "width", "mask_sign"),
    [(4, 32, "random"), (4, 30, "fixed"), (4, 500, "random"), (6, 132, "random")],
)
def test_random_features_interpolate_with_the_least_norm(T, width, mask_sign, rng):
    inputs, targets = masked_support(T, mask_sign)
    found = random_features(T, width, rng, mask_sign)
    assert squared_loss(found, inputs, targets) < 1e-16
    features = np.maximum(inputs.mean(1) @ found.W_V.T, 0)
    in_row_space = features.T @ np.linalg.pinv(features.T) @ found.u
    assert in_row_space == pytest.approx(found.u, rel=1e-5, abs=1e-5 * np.abs(found.u).max())
    assert not found.W_Q.any()
    assert not found.W_K.any()


@pytest.mark.parametrize(("width", "mask_sign"), [(31, "random"), (1, "random"), (23, "fixed")])
def test_a_width_that_does_not_interpolate_is_told_by_what_is_left(width, mask_sign, rng):
    size = 48 if mask_sign == "random" else 24
    with pytest.raises(
        ValueError,
        match=(
            rf"{width} neurons do not interpolate the {size} inputs: .* squared error of .*Take "
            r"more neurons"
        ),
    ):
        random_features(4, width, rng, mask_sign)


def test_few_neurons_may_interpolate():
    """Two of the right ones do: the number does not decide."""
    start = uniform_attention(transferable(6).W_V, np.zeros(2))
    assert with_least_norm_head(start, *masked_support(6, "random")).u == pytest.approx(
        transferable(6).u
    )


def test_attention_of_any_kind_fits_the_fixed_sign_only(rng):
    """With the random one f* must be linear in h, however many neurons there are."""
    with pytest.raises(
        ValueError,
        match=(
            r"2000 neurons do not interpolate the 48 inputs.*f\* linear in h, such as the uniform "
            r"one"
        ),
    ):
        with_least_norm_head(attentive(4, 2000, rng), *masked_support(4, "random"))
    support = masked_support(4, "fixed")
    assert squared_loss(with_least_norm_head(attentive(4, 64, rng), *support), *support) < 1e-16


@pytest.mark.parametrize("T", [4, 6, 8])
@pytest.mark.parametrize("tilt", [-2.0, -0.5, 0.3, 1.5])
def test_tilted_attention_has_no_loss_and_a_larger_trace(T, tilt):
    found = tilted_attention(T, tilt)
    for mask_sign in SIGNS:
        inputs, targets = masked_support(T, mask_sign)
        assert squared_loss(found, inputs, targets) < 1e-24
        assert residuals(found, inputs).uniformity > 0.01
    inputs = masked_support(T, "random")[0]
    assert squared_gradient_norm(found, inputs) > 1.05 * lower_bound(T)
    assert found.u @ found.W_V @ forward(found, inputs).h.T == pytest.approx(
        2 * predict(found, inputs)
    )


def test_attention_without_tilt_is_uniform():
    inputs = masked_support(6, "random")[0]
    assert squared_gradient_norm(tilted_attention(6, 0.0), inputs) == pytest.approx(lower_bound(6))
    assert np.abs(tilted_attention(6, 1e-3).W_V) == pytest.approx(
        np.abs(transferable(6).W_V), rel=0.02
    )


def test_random_neurons_fit_under_tilted_attention(rng):
    support, tilted = masked_support(4, "random"), tilted_attention(4, 0.7)
    found = with_least_norm_head(
        Parameters(tilted.W_Q, tilted.W_K, rng.standard_normal((40, 8)), np.zeros(40)), *support
    )
    assert squared_loss(found, *support) < 1e-16
    assert squared_gradient_norm(found, support[0]) > 2 * lower_bound(4)
