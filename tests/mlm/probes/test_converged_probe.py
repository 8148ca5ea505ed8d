from dataclasses import replace

import pytest
import torch

from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe, gaussian_projection, probe_stack
from tests.mlm.cases import generator

PLAN = ConvergedProbe(dims=4, draws=2, shots=40, subsets=4, ridges=(1e-4, 1e-2, 1.0))
# the choice by the loss has no near ties that rounding could decide
SMOOTH = replace(PLAN, criterion="loss", tolerance=1e-7, ridges=(1e-2, 1.0))
DIMS, CLASSES = 10, 4


def gaussian_classes(stack=3, n=800, m=600, dtype=torch.float64):
    """Features N(μ_y, 1) of each class, with another rotation for each model, as train, labels,
    test, posterior.

    The posterior is the softmax of a linear map of them: a logistic probe can be as good as Bayes.
    """
    g = generator(3)
    means = torch.randn(CLASSES, DIMS, generator=g) * 0.7
    labels = torch.randint(CLASSES, (n + m,), generator=g)
    rows = torch.randn(n + m, DIMS, generator=g) + means[labels]
    posterior = (rows @ means.T - means.square().sum(1) / 2).softmax(1)
    rotations = torch.linalg.qr(torch.randn(stack, DIMS, DIMS, generator=g)).Q
    features = (rows @ rotations).to(dtype)
    return features[:, :n], labels[:n], features[:, n:], posterior[n:].double()


def test_full_features_come_near_bayes_and_less_information_stays_below():
    data = gaussian_classes(n=2000)
    bayes = float(data[3].amax(1).mean())
    found = probe_stack(*data, PLAN, generator())
    assert (found.full <= bayes).all()  # the guess of Bayes is best on each sentence
    assert (found.full > bayes - 0.01).all()
    assert (found.few_shot < found.full - 0.02).all()
    assert (found.projected < found.full - 0.05).all()
    assert (found.few_shot > 2 / CLASSES).all()
    assert (found.projected > 1.4 / CLASSES).all()
    assert found.gradient_norm.shape == found.ridge.shape == (3, 3)
    assert found.gradient_norm.max() <= PLAN.tolerance
    assert set(found.ridge.flatten().tolist()) <= set(PLAN.ridges)


def test_a_stack_is_probed_as_one_model_at_a_time():
    data = gaussian_classes()
    together = probe_stack(*data, SMOOTH, generator())
    for found in (
        probe_stack(*data, SMOOTH, generator(), models=2),
        probe_stack(data[0][1:2], data[1], data[2][1:2], data[3], SMOOTH, generator()),
    ):
        kept = slice(None) if len(found.full) == 3 else slice(1, 2)
        assert torch.allclose(found.ridge, together.ridge[kept])
        for name in ("full", "projected", "few_shot"):
            assert torch.allclose(getattr(found, name), getattr(together, name)[kept], atol=1e-4)


def test_all_models_get_the_same_draws_and_the_generator_decides_them():
    train, labels, test, posterior = gaussian_classes(1)
    twice = probe_stack(
        train.expand(2, -1, -1), labels, test.expand(2, -1, -1), posterior, SMOOTH, generator()
    )
    other = probe_stack(train, labels, test, posterior, SMOOTH, generator(8))
    for name in ("projected", "few_shot"):
        first, second = getattr(twice, name)
        assert float(first) == pytest.approx(float(second), abs=1e-4)
        assert abs(float(getattr(other, name)) - float(first)) > 1e-3


def test_full_and_few_shot_do_not_change_under_an_invertible_linear_map():
    train, labels, test, posterior = gaussian_classes(1)
    mixing = torch.randn(DIMS, DIMS, generator=generator(4)).double()
    mixing = mixing * torch.logspace(-2, 2, DIMS).double()
    shift = torch.linspace(-3, 3, DIMS).double()
    plain = probe_stack(train, labels, test, posterior, SMOOTH, generator())
    mapped = [rows @ mixing + shift for rows in (train, test)]
    found = probe_stack(mapped[0], labels, mapped[1], posterior, SMOOTH, generator())
    assert found.full.tolist() == pytest.approx(plain.full.tolist(), abs=1e-3)
    assert found.few_shot.tolist() == pytest.approx(plain.few_shot.tolist(), abs=1e-3)


def test_redundant_features_and_single_precision_change_nothing():
    train, labels, test, posterior = gaussian_classes(1)
    plan = replace(PLAN, criterion="loss")
    plain = probe_stack(train, labels, test, posterior, plan, generator())
    wider = [
        torch.cat([rows, rows[..., :3], torch.full_like(rows[..., :1], 0.5)], 2).float()
        for rows in (train, test)
    ]
    found = probe_stack(wider[0], labels, wider[1], posterior, plan, generator())
    assert found.full.tolist() == pytest.approx(plain.full.tolist(), abs=1e-3)
    assert found.gradient_norm.max() <= plan.tolerance


@pytest.mark.usefixtures("unchecked_shapes")
def test_what_does_not_fit_is_refused():
    train, labels, test, posterior = gaussian_classes(2, n=60, m=30)
    plan = replace(PLAN, shots=10, subsets=4)
    with pytest.raises(
        ValueError,
        match=r"`test` must .* shape \(2, 30, 10\) to agree with `train`.*, got .*\(2, 30, 9\)",
    ):
        probe_stack(train, labels, test[..., :9], posterior, plan, generator())
    with pytest.raises(
        ValueError,
        match=r"`train` must have 5 · 10 examples beside .*got .*\(2, 60, \d+\). Take fewer",
    ):
        probe_stack(train, labels, test, posterior, replace(plan, subsets=5), generator())


def test_a_projection_keeps_lengths_and_is_fixed_by_its_generator():
    assert torch.equal(
        gaussian_projection(9, 4, generator(1)), gaussian_projection(9, 4, generator(1))
    )
    rows = torch.randn(50, 300, generator=generator())
    ratio = (rows @ gaussian_projection(300, 400, generator(1))).square().sum(
        1
    ) / rows.square().sum(1)
    assert float((ratio - 1).abs().max()) < 6 * (2 / 400) ** 0.5
