import pytest
import torch
import torch.nn.functional as F

from ntpcompanion.mlm.probes.logistic_loss import logistic_problems
from tests.mlm.cases import generator


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


def test_some_of_the_problems_are_the_same_problems():
    problems = logistic_problems(random(2, 9, 3), LABELS, 4, RIDGE)
    points = random(2, 4, 4, seed=1)
    second = problems.only(torch.tensor([False, True]))
    loss, _ = problems.loss_and_residual(points, problems.logits(points))
    alone, _ = second.loss_and_residual(points[1:], second.logits(points[1:]))
    assert torch.allclose(alone, loss[1:], rtol=1e-14)


FEATURES = random(2, 9, 3)
WRONG = [
    ({"features": FEATURES[0]}, r"`features` must be a stack \(k, n, d\).*got shape \(9, 3\)"),
    ({"features": FEATURES.long()}, "`features` must be a stack .* torch.int64"),
    ({"features": FEATURES.log()}, r"`features` must be finite, got \d+ entries that are NaN"),
    ({"ridge": RIDGE[:1]}, r"`ridge` must be 2 finite numbers of at least 0, .*got \[0.3\]"),
    ({"ridge": -RIDGE}, "`ridge` must be 2 finite numbers of at least 0"),
    ({"ridge": RIDGE / 0}, "`ridge` must be 2 finite numbers of at least 0"),
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
