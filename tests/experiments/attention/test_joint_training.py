import numpy as np
import pytest
import torch

from ntpcompanion.experiments.attention import joint_training
from ntpcompanion.experiments.attention.planted_sets import draw_sets
from tests.experiments.cases import small_run

RIGHT = {"data_sets": 2, "steps": 300, "seed": 0}
found, test_a_result_repeats_and_is_plain = small_run(joint_training, RIGHT)


def test_losses_and_margins_are_those_of_automatic_differentiation(found):
    data = draw_sets(0, 1, dim=50, count=10, length=5).drawn[0]
    X, q, y = map(
        torch.tensor, (data.sequences.tokens, data.sequences.queries, data.sequences.labels)
    )
    for arm, steps in (("GD", 30), ("constant", 300)):
        W, u = torch.zeros(50, 50, dtype=float), torch.zeros(50, dtype=float)
        for _ in range(steps + 1):
            W, u = W.requires_grad_(), u.requires_grad_()
            attention = torch.softmax(torch.einsum("ntd,dk,nk->nt", X, W, q), dim=1)
            margins = y * torch.einsum("nt,ntd,d->n", attention, X, u)
            loss, before = torch.log1p(torch.exp(-margins)).mean(), u.detach()
            dW, du = torch.autograd.grad(loss, (W, u))
            if arm == "constant":
                dW, du = 0.1 * dW / max(dW.norm(), 1e-300), 0.1 * du / du.norm()
            W, u = (W - dW).detach(), (u - du).detach()
        row = found.table.loc[arm, steps]
        assert row[0] == pytest.approx(-float(loss.log().detach()), rel=1e-3)
    best = X.numpy()[np.arange(10), data.best] @ before.numpy() * y.numpy()
    largest = np.linalg.norm(before.numpy()) / 2**0.5  # of u along μ₊ − μ₋
    assert found.margins[0] == pytest.approx(best.min() / largest, rel=1e-3)
    assert found.margin.mean <= 1


def test_exponents_are_slopes_of_the_table(found):
    for arm in joint_training.ARMS:
        losses = found.table.loc[arm]
        slopes = np.polyfit(np.log(losses.index), np.log(losses), 1)[0]
        assert found.exponents[arm] == pytest.approx(slopes)
        assert found.exponent(arm).mean == pytest.approx(slopes.mean())
    t = found.plan.last_decade
    sums = [sum(k ** (-2 / 3) for k in range(1, last + 1)) for last in t]
    assert found.length_exponent == pytest.approx(np.polyfit(np.log(t), np.log(sums), 1)[0])
