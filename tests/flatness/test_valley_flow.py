import numpy as np
import pytest
import torch
from torch.func import jacrev

from ntpcompanion.flatness import valley_flow
from ntpcompanion.flatness.ensemble import follow_adam, follow_sgd
from ntpcompanion.flatness.hessian import full_hessian
from ntpcompanion.flatness.manifold import tangent_basis
from ntpcompanion.flatness.model import ConditionalModel
from ntpcompanion.flatness.toy_models import bernoulli, imbalance, sparse_linear
from ntpcompanion.flatness.valley_flow import follow_adam_ode, follow_ode
from tests.flatness.cases import TOY_MODELS

HORIZON = {"bernoulli": 5.0, "softmax": 2.0, "network": 0.5, "linear": 1.0}


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_flow_of_one_bernoulli_is_its_closed_form(batch_size):
    """On ab = c, tr ∇²L = s(a² + b²) with s = p(1 − p); D decays like e^{−st/B}, and a² + b² = √(D²
    + 4c²).
    """
    toy = bernoulli(0.8, 2.0)
    path = follow_ode(toy.model, toy.start, 5.0, batch_size=batch_size, points=11)
    D = imbalance(toy.start) * torch.exp(-0.16 * path.times / batch_size)
    S = (D**2 + 4 * np.log(4) ** 2).sqrt()
    assert torch.allclose(
        path.thetas, torch.stack([((S + D) / 2).sqrt(), ((S - D) / 2).sqrt()], 1), rtol=1e-10
    )
    assert torch.allclose(path.trace, 0.16 * S, rtol=1e-10)
    assert path.times.tolist() == pytest.approx(np.linspace(0, 5, 11))


@pytest.mark.parametrize("name", TOY_MODELS)
def test_the_flow_stays_on_the_floor_and_lowers_the_trace(name):
    toy = TOY_MODELS[name]()
    path = follow_ode(toy.model, toy.start, HORIZON[name], points=4)
    assert float(toy.model.excess(path.thetas).max()) < 1e-8
    assert float(path.residual.max()) < 1e-10
    assert float(path.corrected.max()) < 1e-6
    assert (path.trace.diff() < 0).all()
    assert float(path.trace[-1]) == pytest.approx(
        float(full_hessian(toy.model.loss, path.thetas[-1]).trace()), rel=1e-8
    )
    assert torch.equal(path.thetas[0], toy.start)


def test_the_velocity_is_minus_a_quarter_of_the_projected_gradient_of_the_trace():
    """Against the trace of the full Hessian, differentiated by autograd."""
    toy = TOY_MODELS["linear"]()
    path = follow_ode(toy.model, toy.start, 2e-4, batch_size=2, points=3)
    slope = torch.func.grad(lambda t: jacrev(jacrev(toy.model.loss))(t).trace())(path.thetas[1])
    basis = tangent_basis(toy.model, path.thetas[1]).basis
    expected = -basis @ (basis.T @ slope) / 8
    assert torch.allclose((path.thetas[2] - path.thetas[0]) / 2e-4, expected, atol=1e-5)
    assert expected.norm() > 0.1


def test_the_flow_of_adam_for_one_bernoulli_is_its_closed_form():
    """On ab = c > 0 the ratio r = log(a / b) obeys r' = −tanh(r/2) / c: sinh(r/2) decays like
    e^{−t/2c}, whatever p is else.
    """
    toy, c = bernoulli(0.8, 2.0), np.log(4)
    path = follow_adam_ode(toy.model, toy.start, 3.0, points=7)
    a, b = path.thetas.T
    assert torch.allclose(a * b, torch.full_like(a, c), rtol=1e-12)
    decayed = np.sinh(np.log(4 / c) / 2) * torch.exp(-path.times / (2 * c))
    assert torch.allclose(torch.sinh((a / b).log() / 2), decayed, rtol=1e-9)


def test_the_velocity_of_adam_is_that_of_sgd_in_the_coordinates_of_its_steps():
    """Against the full Hessian in φ = D^{1/4} θ, D its frozen diagonal: a quarter of the projected
    slope of its trace there.
    """
    toy = TOY_MODELS["linear"]()
    path = follow_adam_ode(toy.model, toy.start, 2e-5, points=3)
    at = path.thetas[1]
    root = full_hessian(toy.model.loss, at).diagonal() ** -0.25
    frozen = lambda phi: toy.model.loss(root * phi)  # noqa: E731
    slope = torch.func.grad(lambda phi: jacrev(jacrev(frozen))(phi).trace())(at / root)
    values, vectors = torch.linalg.eigh(full_hessian(frozen, at / root))
    kernel = vectors[:, values < 1e-10]
    expected = -root * (kernel @ (kernel.T @ slope)) / 4
    assert torch.allclose((path.thetas[2] - path.thetas[0]) / 2e-5, expected, atol=1e-4)
    assert expected.norm() > 1


@pytest.mark.parametrize("name", ["bernoulli", "softmax", "linear"])
def test_the_flow_of_adam_stays_on_the_floor_and_lowers_the_sum_of_roots(name):
    toy = TOY_MODELS[name]()
    path = follow_adam_ode(toy.model, toy.start, 0.2, points=4)
    assert float(path.residual.max()) < 1e-10
    roots = torch.stack([toy.model.scores(at).square().sum(0).sqrt().sum() for at in path.thetas])
    assert (roots.diff() < 0).all()


def test_a_parameter_without_curvature_has_no_flow_of_adam():
    """b = 0 takes the curvature of a with it."""
    toy = bernoulli(0.5, 2.0)
    with pytest.raises(
        RuntimeError,
        match=r"H_ii of parameter 0 vanishes at t = 0: the steps of Adam have no limit there",
    ):
        follow_adam_ode(toy.model, toy.start, 1.0)


def test_what_the_integrator_leaves_is_corrected_and_reported(monkeypatch):
    toy = TOY_MODELS["softmax"]()
    monkeypatch.setattr(valley_flow, "TOLERANCE", 1e-2)
    path = follow_ode(toy.model, toy.start, 20.0, points=2)
    assert 1e-10 < float(path.corrected[-1]) < 1e-2
    assert float(path.residual.max()) < 1e-12


def test_a_start_off_the_manifold_is_moved_to_it():
    toy = bernoulli(0.8, 2.0)
    path = follow_ode(toy.model, toy.start + 0.1, 1.0, points=2)
    assert float(path.thetas[0] @ torch.tensor([0.5, 0.0]).double()) == pytest.approx(
        1.05, abs=0.05
    )
    assert float(path.residual.max()) < 1e-12


def test_a_rank_that_changes_along_the_path_is_told():
    """Two fair coins with logits a·b = 0: both a shrink, that of the more frequent input faster,
    until its part does not count.
    """

    def logits(theta):
        z = theta[..., :2] * theta[..., 2:]
        return torch.stack([torch.zeros_like(z), z], -1)

    model = ConditionalModel(
        logits, torch.full((2, 2), 0.5).double(), torch.tensor([0.9, 0.1], dtype=torch.float64)
    )
    start = torch.tensor([1.0, 1.0, 0.0, 0.0]).double()
    path = follow_ode(model, start, 20.0, points=2)
    assert path.thetas[-1].tolist() == pytest.approx(
        [np.exp(-0.9 * 20 / 8), np.exp(-0.1 * 20 / 8), 0, 0], rel=1e-7
    )
    with pytest.raises(
        RuntimeError,
        match=(
            r"the rank of the Hessian changes from 2 to 1 at t = 1[89]\d.*assumption 4\.1 fails "
            r"there"
        ),
    ):
        follow_ode(model, start, 300.0, points=2)


def test_a_trial_step_of_the_integrator_that_is_too_long_ends_nothing():
    """Logits ±ab and ±scd: the second valley is s² times as steep, and first steps end far off."""
    s = 3000.0

    def logits(theta):
        z = theta[..., ::2] * theta[..., 1::2] * torch.tensor([1.0, s])
        return torch.stack([z, -z], -1)

    truth = torch.tensor([[0.8, 0.2], [0.7, 0.3]], dtype=torch.float64)
    model = ConditionalModel(logits, truth, torch.full((2,), 0.5).double())
    half, other = (0.5 * torch.log(truth[:, 0] / truth[:, 1])).tolist()
    start = torch.tensor([2.0, half / 2, 2.0, other / 2 / s]).double()
    path = follow_ode(model, start, 1e-4, points=3)
    assert (path.rank, float(path.residual.max()) < 1e-12) == (2, True)
    imbalance = (path.thetas[:, 2] - path.thetas[:, 3]).abs()
    assert imbalance[-1] < 0.02 < imbalance[0]


def test_sparse_supports_have_no_flow():
    toy = sparse_linear(rng())
    with pytest.raises(ValueError, match="`model`"):
        follow_ode(toy.model, toy.start, 1.0)


def test_an_integrator_that_never_ends_is_stopped(monkeypatch):
    toy = TOY_MODELS["softmax"]()
    monkeypatch.setattr(valley_flow, "EVALUATIONS", 5)
    with pytest.raises(RuntimeError, match=r"The flow stopped at t = .*: 5 evaluations are spent"):
        follow_ode(toy.model, toy.start, 1.0)


@pytest.mark.parametrize("batch_size", [1, 4])
def test_sgd_follows_the_flow_within_its_error(batch_size):
    """The imbalance decays by 1 − η²g² at every step, whatever the noise: its bias at η = .02 is
    far below the error of 300 runs.
    """
    toy, eta, horizon = bernoulli(0.8, 2.0), 0.04, 2.0
    path = follow_sgd(
        toy.model, toy.start, eta, round(horizon / eta**2), batch_size, 300, rng(), snapshots=3
    )
    flow = follow_ode(toy.model, toy.start, horizon, batch_size=batch_size, points=3)
    difference, error = path.thetas.mean(1) - flow.thetas, path.thetas.std(1) / 300**0.5
    assert path.times.tolist() == pytest.approx(flow.times.tolist())
    assert (difference[1:].abs() < 4 * error[1:]).all()
    moved = imbalance(flow.thetas[0]) - imbalance(path.thetas[-1]).mean()
    assert float(moved) == pytest.approx(
        float(imbalance(flow.thetas[0]) - imbalance(flow.thetas[-1])), rel=0.06
    )


@pytest.mark.parametrize("batch_size", [pytest.param(4, marks=pytest.mark.slow), 16])
def test_adam_follows_its_own_flow_whatever_the_batch_size(batch_size):
    """The share of the flow's way tends to 1 like 1 − const · η; SGD at batch size 16 would go 1/16
    of its way.
    """
    toy, horizon, replicas, rates = bernoulli(0.8, 2.0), 0.5, 200, (0.02, 0.01)
    flow = follow_adam_ode(toy.model, toy.start, horizon, points=2)
    way = flow.thetas[1] - flow.thetas[0]
    shares, errors = [], []
    for eta in rates:
        steps = round(horizon / eta**2)
        path = follow_adam(
            toy.model,
            toy.start,
            eta,
            steps,
            batch_size,
            replicas,
            rng(),
            betas=(0.9, 0.999),
            snapshots=2,
        )
        share = (path.thetas[1] - toy.start) @ way / (way @ way)
        shares.append(float(share.mean()))
        errors.append(float(share.std()) / replicas**0.5)
    limit, error = 2 * shares[1] - shares[0], np.hypot(2 * errors[1], errors[0])
    assert error < 0.08
    assert limit == pytest.approx(1, abs=3 * error)
