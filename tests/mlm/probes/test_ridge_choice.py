import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from ntpcompanion.mlm.probes.logistic import fit_logistic
from ntpcompanion.mlm.probes.ridge_choice import choose_ridge, grouped_logits
from tests.mlm.cases import generator

RIDGES = (3.0, 0.03, 1e-3)  # of equal ones the first is the largest


def clusters(stack, n, seed):
    """Stacks of features with clusters of three classes at distances that grow along the stack."""
    labels = torch.randint(3, (n,), generator=generator(seed))
    means = (
        torch.randn(3, 10, generator=generator(99))
        * torch.linspace(0.05, 1.0, stack)[:, None, None]
    )
    noise = torch.randn(stack, n, 10, generator=generator(seed + 1))
    return (noise + means[:, labels]).double(), labels


def held_out_score(features, labels, others, labels_of_others, ridge, criterion):
    model = LogisticRegression(C=1 / (len(labels) * ridge), tol=1e-9, max_iter=10_000)
    model.fit(features.numpy(), labels.numpy())
    logs = log_softmax(others.numpy() @ model.coef_.T + model.intercept_, axis=1)
    if criterion == "accuracy":
        return (logs.argmax(1) == labels_of_others.numpy()).mean()
    return logs[np.arange(len(others)), labels_of_others.numpy()].mean()


@pytest.mark.parametrize(("shared", "criterion"), [(True, "accuracy"), (False, "loss")])
def test_each_model_gets_the_ridge_that_is_best_over_its_fits(shared, criterion):
    # seeds with which the best ridge of each model leads by three guesses or more
    features, labels = clusters(6, 60, 6)
    others, labels_of_others = clusters(6, 200, 36)
    others = others[::2] if shared else others
    choice = choose_ridge(
        features,
        labels,
        others,
        labels_of_others,
        3,
        RIDGES,
        models=3,
        criterion=criterion,
        tolerance=1e-8,
    )
    each = others.repeat_interleave(2, 0) if shared else others
    direct = np.array(
        [
            [held_out_score(x, labels, o, labels_of_others, ridge, criterion) for ridge in RIDGES]
            for x, o in zip(features, each, strict=True)
        ]
    )
    by_model = direct.reshape(3, 2, 3).mean(1)
    assert choice.ridge.tolist() == [RIDGES[best] for best in by_model.argmax(1)]
    assert len(set(choice.ridge.tolist())) > 1
    assert choice.score.numpy() == pytest.approx(by_model.max(1), abs=1e-5)
    alone = fit_logistic(features, labels, 3, choice.ridge.repeat_interleave(2), tolerance=1e-8)
    assert torch.allclose(choice.fit.weights, alone.weights, atol=1e-4)
    assert torch.allclose(choice.fit.loss, alone.loss, atol=1e-9)
    assert choice.fit.converged.all()


def test_logits_are_those_of_each_fit_on_its_features():
    features, labels = clusters(6, 30, 1)
    fit = fit_logistic(features, labels, 3, torch.full((6,), 0.1))
    own = grouped_logits(fit, features, 3)
    common = grouped_logits(fit, features[:3], 3)
    assert own.shape == common.shape == (3, 2, 30, 3)
    for k in range(3):
        for j in range(2):
            weights, bias = fit.weights[2 * k + j], fit.bias[2 * k + j]
            assert torch.allclose(own[k, j], features[2 * k + j] @ weights + bias)
            assert torch.allclose(common[k, j], features[k] @ weights + bias)


def test_no_candidates_are_refused():
    features, labels = clusters(2, 30, 1)
    with pytest.raises(ValueError, match="`ridges` must hold at least 1 of numbers"):
        choose_ridge(features, labels, features, labels, 3, (), models=2)


def test_an_unknown_criterion_is_refused():
    features, labels = clusters(2, 30, 1)
    with pytest.raises(ValueError, match="`criterion` must be one of 'accuracy', 'loss', got 'f1'"):
        choose_ridge(features, labels, features, labels, 3, (1.0,), models=2, criterion="f1")


def test_of_equally_good_ridges_the_largest_is_taken():
    features, labels = clusters(1, 60, 1)
    far = features + 50 * torch.nn.functional.one_hot(labels, 10)  # every ridge is always right
    choice = choose_ridge(far, labels, far, labels, 3, (1e-3, 1e-2, 1e-4), models=1)
    assert choice.ridge.tolist() == [1e-2]
    assert choice.score.tolist() == [1.0]
