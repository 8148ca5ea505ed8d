import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from ntpcompanion.mlm.probes.logistic import LogisticFit, fit_logistic, logistic_problems
from tests.mlm.cases import generator


def clusters(n, dims, classes, distance, seed=0, dtype=torch.float64):
    """Gaussian clusters of unit variance about N(0, distance²/dims) means, and their labels."""
    g = generator(seed)
    labels = torch.randint(classes, (n,), generator=g)
    means = distance * torch.randn(classes, dims, generator=g) / dims**0.5
    return (torch.randn(n, dims, generator=g) + means[labels]).to(dtype), labels


def ridges(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


def of_scikit_learn(features, labels, ridge):
    """Probabilities and the objective at the solution of scikit-learn."""
    n = len(labels)
    model = LogisticRegression(C=1 / (n * ridge), tol=1e-10, max_iter=10_000, solver="newton-cg")
    model.fit(features.numpy(), labels.numpy())
    logs = log_softmax(features.numpy() @ model.coef_.T + model.intercept_, axis=1)
    loss = -logs[np.arange(n), labels.numpy()].mean() + ridge / 2 * np.square(model.coef_).sum()
    return model.coef_.T, np.exp(logs), loss


@pytest.mark.parametrize("classes", [3, 6])
def test_solutions_are_those_of_scikit_learn(classes):
    values = (1.0, 0.03, 1e-3)
    data = [clusters(300, 8, classes, 2.0, seed) for seed in range(3)]
    features, labels = (torch.stack(part) for part in zip(*data, strict=True))
    fit = fit_logistic(features, labels, classes, ridges(*values), tolerance=1e-7)
    assert fit.converged.all()
    for k, ridge in enumerate(values):
        weights, probabilities, loss = of_scikit_learn(features[k], labels[k], ridge)
        found = (features[k] @ fit.weights[k] + fit.bias[k]).softmax(1)
        assert found.numpy() == pytest.approx(probabilities, abs=1e-4)
        # a shift of all classes alike is free for the bias only: the ridge sets it to 0 in W
        assert fit.weights[k].numpy() == pytest.approx(weights, abs=1e-4)
        assert float(fit.loss[k]) == pytest.approx(loss, abs=1e-8)


def test_single_precision_reaches_the_tolerance_at_size():
    features, labels = clusters(4000, 64, 8, 2.0, dtype=torch.float32)
    fit = fit_logistic(features[None], labels, 8, ridges(1e-3))
    double = fit_logistic(features[None].double(), labels, 8, ridges(1e-3))
    assert fit.weights.dtype == torch.float32
    assert fit.converged.all()
    assert double.converged.all()
    assert torch.allclose(fit.weights.double(), double.weights, atol=1e-3)
    assert float(fit.loss) == pytest.approx(float(double.loss), abs=1e-7)


def gradient_by_autograd(fit, features, labels, ridge):
    weights, bias = fit.weights.clone().requires_grad_(), fit.bias.clone().requires_grad_()
    losses = [
        F.cross_entropy(x @ w + b, y) + r / 2 * w.square().sum()
        for x, y, w, b, r in zip(features, labels, weights, bias, ridge, strict=True)
    ]
    parts = torch.autograd.grad(sum(losses), (weights, bias))
    return sum(part.flatten(1).square().sum(1) for part in parts).sqrt()


def test_the_certificate_is_the_norm_of_the_gradient_by_autograd():
    features, labels = clusters(200, 5, 3, 2.0)
    features, labels, ridge = features.expand(2, -1, -1), labels.expand(2, -1), ridges(0.1, 1e-4)
    for steps in (1, 3, 500):
        fit = fit_logistic(features, labels, 3, ridge, max_iterations=steps)
        exact = gradient_by_autograd(fit, features, labels, ridge)
        assert torch.allclose(fit.gradient_norm, exact, rtol=1e-6, atol=1e-12)
        assert fit.converged.tolist() == [steps == 500] * 2
        assert fit.iterations <= steps


def test_a_stack_is_solved_as_one_problem_at_a_time():
    data = [clusters(150, 6, 4, distance, seed=9) for distance in (0.5, 2.0, 8.0)]
    features, labels = (torch.stack(part) for part in zip(*data, strict=True))
    ridge = ridges(1.0, 1e-4, 1e-2)
    together = fit_logistic(features, labels, 4, ridge, tolerance=1e-9)
    for k in range(3):
        alone = fit_logistic(features[k : k + 1], labels[k], 4, ridge[k : k + 1], tolerance=1e-9)
        assert torch.allclose(together.weights[k], alone.weights[0], atol=1e-5)
        assert alone.iterations <= together.iterations


def test_separable_classes_without_a_ridge_end_with_a_small_gradient():
    features, labels = clusters(60, 40, 3, 20.0)
    fit = fit_logistic(features[None], labels, 3, ridges(0.0))
    assert fit.converged.all()
    assert float(fit.loss) < 1e-4
    assert fit.weights.isfinite().all()


def test_soft_labels_are_matched_where_they_are_softmax_of_a_linear_map():
    features, _ = clusters(300, 3, 4, 1.0)
    weights = torch.randn(3, 4, generator=generator(2)).double()
    targets = (features @ weights).softmax(1)
    fit = fit_logistic(features[None], targets, 4, ridges(0.0), tolerance=1e-9)
    assert torch.allclose((features @ fit.weights[0] + fit.bias[0]).softmax(1), targets, atol=1e-6)


def test_a_start_at_the_solution_takes_no_step():
    features, labels = clusters(200, 5, 3, 2.0)
    first = fit_logistic(features[None], labels, 3, ridges(0.1), tolerance=1e-6)
    again = fit_logistic(features[None], labels, 3, ridges(0.1), start=first)
    assert first.iterations > 3
    assert again.iterations == 0
    assert torch.equal(again.weights, first.weights)


def test_wrong_arguments_are_refused():
    features, labels = clusters(20, 5, 3, 2.0)
    start = LogisticFit(torch.zeros(1, 4, 3), torch.zeros(1, 3), ridges(0.0), ridges(0.0), 0, 1e-5)
    with pytest.raises(
        ValueError,
        match=r"`start` must be a fit of 1 problems with 5 features and 3 classes, got .*\(1, 4, 3",
    ):
        fit_logistic(features[None], labels, 3, ridges(0.1), start=start)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


RIDGE = torch.tensor([0.3, 0.0], dtype=torch.float64)
LABELS = torch.randint(4, (2, 9), generator=generator(5))


@pytest.mark.parametrize("labels", [LABELS, LABELS[0], random(2, 9, 4, seed=6).softmax(-1)])
def test_loss_and_gradient_are_those_of_autograd(labels):
    features, points = random(2, 9, 3), random(2, 4, 4, seed=1).requires_grad_()
    problems = logistic_problems(features, labels, 4, RIDGE)
    targets = labels if labels.dim() == 3 or labels.dtype == torch.float64 else labels.expand(2, 9)
    weights, bias = points[..., :-1], points[..., -1]
    direct = torch.stack(
        [
            F.cross_entropy(features[k] @ weights[k].T + bias[k], targets[k])
            + RIDGE[k] / 2 * weights[k].square().sum()
            for k in range(2)
        ]
    )
    loss, residual = problems.loss_and_residual(points, problems.logits(points))
    assert torch.allclose(loss, direct, rtol=1e-12)
    (by_autograd,) = torch.autograd.grad(direct.sum(), points)
    assert torch.allclose(problems.gradient(points, residual), by_autograd, rtol=0, atol=1e-13)


FEATURES = random(2, 9, 3)
WRONG = [
    ({"features": FEATURES.log()}, r"`features` holds nan \(\d+ entries are not finite\)"),
    ({"ridge": RIDGE[:1]}, r"`ridge` must .*\(2\) to agree with `features`, got .*\(1,\)"),
    ({"labels": LABELS[0, :8]}, r"`labels` must have shape \(9,\) or \(2, 9\).*got \(8,\)"),
    ({"classes": 3}, r"`labels` must lie in 0 … 2, got 0 … 3"),
    ({"labels": LABELS - 1}, r"`labels` must lie in 0 … 3, got -1 … 2"),
    ({"labels": random(9, 4).exp()}, "`labels` in floating point must be distributions"),
    ({"labels": random(9, 3)}, r"`labels` must have shape \(9, 4\) or \(2, 9, 4\)"),
]


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(("changed", "sentence"), WRONG)
def test_what_is_no_problem_is_refused(changed, sentence):
    usual = {"features": FEATURES, "labels": LABELS, "classes": 4, "ridge": RIDGE}
    with pytest.raises(ValueError, match=sentence):
        logistic_problems(**(usual | changed))
