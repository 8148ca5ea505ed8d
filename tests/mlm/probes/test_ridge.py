import pytest
import torch
from sklearn.linear_model import Ridge

from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.evaluation.features import gaussian_projection, token_features
from ntpcompanion.mlm.probes.ridge import ridge_head, validation_loss
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import LSTM, TRANSFORMER, generator
from tests.networks.cases import double


def random(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def sentences(n, seed=0):
    """Random words with random labels of 3 classes."""
    g = generator(seed)
    return LabelledExamples(
        torch.randint(6, (n, 4), generator=g), torch.randint(3, (n,), generator=g), 3
    )


@pytest.mark.parametrize(("n", "d"), [(20, 5), (5, 20), (7, 7), (1, 3)])
@pytest.mark.parametrize("ridge", [0.01, 3.0])
def test_the_head_is_that_of_scikit_learn(n, d, ridge):
    features, targets = random(n, d), random(n, 3, seed=1)
    theirs = (
        Ridge(alpha=ridge, fit_intercept=False, solver="svd")
        .fit(features.numpy(), targets.numpy())
        .coef_.T
    )
    assert ridge_head(features, targets, ridge).numpy() == pytest.approx(theirs, abs=1e-10)


@pytest.mark.parametrize(("n", "d"), [(6, 3), (3, 6)])
def test_the_derivative_through_the_head_is_that_of_finite_differences(n, d):
    features, targets = random(n, d).requires_grad_(), random(n, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda h, y: ridge_head(h, y, 0.3), (features, targets))


@pytest.mark.parametrize("plan", [TRANSFORMER, LSTM])
@pytest.mark.parametrize("projected", [False, True])
def test_the_validation_loss_and_its_gradient(plan, projected):
    model, first, second = double(plan), sentences(9, 1), sentences(5, 2)
    projection = random(32, 4) if projected else None

    def by_hand():
        fitted, kept = (token_features(model, x.inputs).detach() for x in (first, second))
        if projected:
            fitted, kept = fitted @ projection, kept @ projection
        head = Ridge(alpha=0.7, fit_intercept=False, solver="svd").fit(
            fitted.numpy(), torch.eye(3).numpy()[first.labels.numpy()]
        )
        return float(
            (torch.from_numpy(head.predict(kept.numpy())) - torch.eye(3)[second.labels])
            .square()
            .sum(1)
            .mean()
        )

    loss = validation_loss(model, first, second, 0.7, projection)
    assert float(loss.detach()) == pytest.approx(by_hand(), rel=1e-9)
    loss.backward()
    directions = {p: random(*p.shape, seed=i) for i, p in enumerate(model.parameters())}
    slope = sum(float((p.grad * way).sum()) for p, way in directions.items() if p.grad is not None)
    moved = []
    for step in (1e-5, -1e-5):
        with torch.no_grad():
            for p, way in directions.items():
                p += step * way
        moved.append(by_hand())
        with torch.no_grad():
            for p, way in directions.items():
                p -= step * way
    assert abs(slope) > 1e-3
    assert slope == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-5)


def test_a_large_ridge_predicts_nothing():
    model = build_model(TRANSFORMER, 0)
    assert float(
        validation_loss(model, sentences(9, 1), sentences(5, 2), 1e12).detach()
    ) == pytest.approx(1, abs=1e-9)
    assert (
        float(
            validation_loss(
                model,
                sentences(9, 1),
                sentences(9, 1),
                1e-6,
                gaussian_projection(32, 9, generator()),
            ).detach()
        )
        < 0.9
    )


def test_what_has_no_head_is_refused():
    features, targets = torch.ones(6, 3), torch.ones(6, 2)
    for ridge in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=rf"`ridge` must be positive and finite, got {ridge}"):
            ridge_head(features, targets, ridge)
    with pytest.raises(
        FloatingPointError,
        match=r"cannot be solved for in torch.float32: `ridge` = 1e-12 is too small",
    ):
        ridge_head(1e6 * features, targets, 1e-12)
