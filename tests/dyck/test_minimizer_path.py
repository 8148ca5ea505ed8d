import numpy as np
import pytest

from ntpcompanion.dyck.bound import lower_bound, squared_gradient_norm
from ntpcompanion.dyck.bracket_counting import downstream_features
from ntpcompanion.dyck.bracket_transformer import squared_loss
from ntpcompanion.dyck.minimizer_path import (
    follow_label_noise,
    follow_regularized_adam,
    follow_trace_flow,
)
from ntpcompanion.dyck.sentences import masked_support
from ntpcompanion.dyck.solutions import transferable
from ntpcompanion.dyck.value_layer import ValueLayer
from tests.dyck.cases import balanced_features


def rng(seed=0):
    return np.random.default_rng(seed)


PATHS = {
    "flow": lambda start: follow_trace_flow(start, 20.0, snapshots=5),
    "label noise": lambda start: follow_label_noise(
        start, 0.05, 2000, rng(), label_noise=0.5, snapshots=5
    ),
    "adam": lambda start: follow_regularized_adam(start, 0.003, 400, snapshots=5),
    "plain": lambda start: follow_label_noise(
        start, 0.05, 2000, rng(), label_noise=0.0, snapshots=5
    ),
}


@pytest.fixture(scope="module")
def start():
    return balanced_features(4, 64)


@pytest.mark.parametrize("name", PATHS)
def test_every_kept_state_has_zero_loss_and_its_own_numbers(name, start):
    path, support = PATHS[name](start), masked_support(4, "random")
    assert path.steps[0] == 0
    assert path.W_V.shape == (5, 64, 8)
    for i in range(5):
        parameters = path.parameters(i)
        assert squared_loss(parameters, *support) <= 2e-20
        assert path.squared_gradient[i] == pytest.approx(
            squared_gradient_norm(parameters, support[0]), rel=1e-12
        )
    assert path.squared_gradient.min() > lower_bound(4)
    assert path.W_V[0] == pytest.approx(start.W_V)
    assert path.loss[0] < 1e-20
    assert np.isnan(path.times).all() == (name == "adam")


@pytest.mark.parametrize("name", ["flow", "label noise", "adam"])
def test_what_lowers_the_trace_turns_the_neurons(name, start):
    path = PATHS[name](start)
    assert (np.diff(path.squared_gradient) < 0).all()
    assert path.alignment[-1] > path.alignment[0] + 0.05
    assert (path.loss[2] > 1e-10) == (name != "flow")


def test_plain_sgd_stays_where_it_is(start):
    """Every gradient vanishes on a noiseless loss: no drift, and the flow whose time it follows has
    not begun.
    """
    path = PATHS["plain"](start)
    assert np.abs(path.W_V[-1] - path.W_V[0]).max() < 1e-12
    assert path.squared_gradient == pytest.approx(path.squared_gradient[0], rel=1e-12)
    assert path.loss.max() < 1e-25
    assert not path.times.any()
    assert path.steps[-1] == 2000


def test_steps_of_the_flow_are_those_of_its_differential_equation(start):
    """First order in the step: the error falls by two when the step does; and it starts with minus
    the square of the projected slope.
    """
    ends = [
        follow_trace_flow(start, 4.0, rate=rate, snapshots=2).squared_gradient[-1]
        for rate in (0.2, 0.1, 0.05)
    ]
    assert (ends[0] - ends[1]) / (ends[1] - ends[2]) == pytest.approx(2, rel=0.3)
    assert ends[0] - ends[1] < 0.02


def test_the_flow_is_downhill_by_its_slope(start):
    layer = ValueLayer(start, "random")
    along = layer.along_valley(layer.theta, layer.slope(layer.theta))
    path = follow_trace_flow(start, 1e-4, snapshots=2)
    assert path.times.tolist() == [0, 1e-4]
    assert np.concatenate([path.W_V[1].ravel(), path.u[1]]) - layer.theta == pytest.approx(
        -1e-4 * along, abs=1e-8
    )
    assert (path.squared_gradient[1] - path.squared_gradient[0]) / 1e-4 == pytest.approx(
        -along @ along, rel=1e-3
    )


def test_label_noise_follows_the_flow_as_the_learning_rate_falls(start):
    """Its time is η² σ² / B a step; the distance is of first order in η, and extrapolated to η = 0
    it is gone.
    """
    flow = follow_trace_flow(start, 0.5, rate=0.01, snapshots=2).squared_gradient
    ends = []
    for eta in (0.05, 0.025):
        paths = [
            follow_label_noise(
                start, eta, round(0.5 / (0.3 * eta) ** 2), rng(i), label_noise=0.3, snapshots=2
            )
            for i in range(2)
        ]
        assert paths[0].times[-1] == pytest.approx(0.5, rel=1e-3)
        ends.append(np.mean([path.squared_gradient[-1] for path in paths]))
    assert ends[0] < ends[1] < flow[1]
    assert abs(2 * ends[1] - ends[0] - flow[1]) < 0.15 * (flow[0] - flow[1])


def test_a_batch_divides_the_noise(start):
    path = follow_label_noise(start, 0.1, 400, rng(), label_noise=0.5, batch_size=16, snapshots=2)
    assert path.times[-1] == pytest.approx(400 * 0.01 * 0.25 / 16)


def test_regularized_adam_reaches_the_bound_and_counts_strings(start):
    path = follow_regularized_adam(start, 0.005, 2000, snapshots=3)
    assert path.squared_gradient[-1] == pytest.approx(lower_bound(4), rel=1e-3)
    assert path.loss[-1] < 1e-8
    assert path.alignment[-1] > 0.999
    features, targets = downstream_features(path.parameters())
    assert np.abs(features @ path.u[-1] - targets).max() < 0.2


def test_the_flattest_solution_does_not_move():
    start = transferable(4)
    path = follow_trace_flow(start, 5.0, rate=0.5, snapshots=3)
    assert path.W_V[-1] == pytest.approx(start.W_V, abs=1e-8)
    assert path.squared_gradient == pytest.approx(lower_bound(4), rel=1e-8)


def test_noise_that_is_too_large_is_told(start):
    with (
        np.errstate(all="ignore"),
        pytest.raises(RuntimeError, match="no point of zero loss was reached"),
    ):
        follow_label_noise(start, 5.0, 50, rng(), label_noise=5.0)
