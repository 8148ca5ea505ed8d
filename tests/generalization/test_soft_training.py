import numpy as np
import pytest
import torch

from ntpcompanion.generalization.soft_training import (
    _initial,
    confidence_shift,
    train_on_probabilities,
)

RULE = {"width": 4, "steps": 5, "learning_rate": 0.01}


@pytest.fixture
def data():
    draws = torch.Generator().manual_seed(0)
    inputs = torch.randn(2, 6, 3, generator=draws)
    return inputs, torch.randn(2, 6, 4, generator=draws).softmax(-1)


def draws(seed=1):
    return torch.Generator().manual_seed(seed)


def test_a_stack_is_its_networks_trained_one_by_one(data):
    inputs, targets = data
    together = train_on_probabilities(inputs, targets, **RULE, generator=draws()).logits(inputs)
    start = _initial(inputs, 4, 4, draws())
    for i, (rows, wanted) in enumerate(zip(inputs, targets, strict=True)):
        network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
        inner, outer, inner_bias, outer_bias = (p[i] for p in (*start.weights, *start.biases))
        with torch.no_grad():
            network[0].weight.copy_(inner.T)
            network[0].bias.copy_(inner_bias[0])
            network[2].weight.copy_(outer.T)
            network[2].bias.copy_(outer_bias[0])
        optimizer = torch.optim.Adam(network.parameters(), 0.01)
        for _ in range(5):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(rows), wanted).backward()
            optimizer.step()
        np.testing.assert_allclose(network(rows).detach(), together[i], atol=1e-5)


def test_training_lowers_the_loss_to_the_entropy_of_the_targets(data):
    inputs, targets = data
    rule = RULE | {"width": 64, "steps": 200, "learning_rate": 0.03}
    networks = train_on_probabilities(inputs, targets, **rule, generator=draws())
    logits = networks.logits(inputs)
    assert not logits.requires_grad
    np.testing.assert_allclose(logits.softmax(-1), targets, atol=0.02)


def test_the_shift_counts_log_odds_of_the_teachers_class():
    rng = np.random.default_rng(2)
    teacher, student = rng.standard_normal((2, 11, 3))
    p, q = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (teacher, student))
    top = p.argmax(axis=1)
    own, other = (np.array([row[k] for row, k in zip(x, top, strict=True)]) for x in (p, q))
    own, other = np.log(own / (1 - own)), np.log(other / (1 - other))
    found = confidence_shift(teacher, student, groups=2)
    assert found.slope == pytest.approx(np.polyfit(own, other, 1)[0])
    low = np.argsort(own)[:6]
    assert found.groups[0] == pytest.approx((other - own)[low].mean())
    assert 6 * found.groups[0] + 5 * found.groups[1] == pytest.approx((other - own).sum())


def test_confident_predictions_do_not_overflow():
    sure = np.array([[0.0, 900.0], [0.0, 1000.0]])
    assert confidence_shift(sure, 2 * sure, groups=1).slope == pytest.approx(2)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_logits_are_named():
    with pytest.raises(ValueError, match="`groups` must be at most 3, the points, got 5"):
        confidence_shift(np.ones((3, 2)), np.ones((3, 2)))
    with pytest.raises(ValueError, match="`student_logits` must be a matrix"):
        confidence_shift(np.ones((5, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="must differ in confidence between points, got log-odds"):
        confidence_shift(np.ones((5, 2)), np.ones((5, 2)))
