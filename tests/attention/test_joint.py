import mpmath
import numpy as np
import pytest
import torch

from ntpcompanion.attention import plant_tokens, stack_sequences, train_jointly
from ntpcompanion.attention.joint import log_loss
from tests.attention.test_steps import loss_of


@pytest.mark.parametrize(("method", "decay"), [("gd", 0.0), ("ngd", 0.0), ("ngd", 0.5)])
def test_paths_are_those_of_autograd(rng, method, decay):
    data = plant_tokens(rng, count=4, length=3, dim=5).sequences
    steps, rate = 9, 0.3
    path = train_jointly(data, method=method, learning_rate=rate, decay=decay, keep=[0, steps])
    W = torch.zeros((5, 5), dtype=torch.float64, requires_grad=True)
    u = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    for t in range(steps):
        X, q = torch.tensor(data.tokens), torch.tensor(data.queries)
        attention = torch.softmax(torch.einsum("ntd,dk,nk->nt", X, W, q), dim=1)
        margins = torch.tensor(data.labels) * torch.einsum("nt,ntd,d->n", attention, X, u)
        loss = torch.nn.functional.softplus(-margins).mean()
        pulls = torch.autograd.grad(loss, (W, u))
        eta = rate * (t + 1) ** -decay
        lengths = [max(float(pull.norm()), 1e-300) if method == "ngd" else 1.0 for pull in pulls]
        W, u = (
            (one - eta * pull / length).detach().requires_grad_()
            for one, pull, length in zip((W, u), pulls, lengths, strict=True)
        )
    np.testing.assert_allclose(path.decoder[1], u.detach().numpy(), atol=1e-10)
    np.testing.assert_allclose(data.weights(path.coefficients[1]), W.detach().numpy(), atol=1e-10)
    last = loss_of(data, u.detach().numpy(), W.detach())
    assert path.log_loss.tolist() == pytest.approx([np.log(np.log(2)), np.log(float(last))])


def test_losses_keep_their_digits():
    logits, scores = np.zeros((2, 2)), np.array([[800.0, 800.0], [900.0, 1000.0]])
    with mpmath.workdps(500):
        margins = [mpmath.mpf(800), mpmath.mpf(950)]
        wanted = mpmath.log(sum(mpmath.log(1 + mpmath.exp(-m)) for m in margins) / 2)
    assert log_loss(logits, scores) == pytest.approx(float(wanted), rel=1e-14)
    assert log_loss(logits, -scores) == pytest.approx(np.log(875.0))
    assert log_loss(logits, np.zeros((2, 2))) == pytest.approx(np.log(np.log(2)))


def test_data_sets_side_by_side_are_those_alone(rng):
    drawn = [plant_tokens(rng, count=4, length=3, dim=6).sequences for _ in range(2)]
    how = {"method": "ngd", "learning_rate": 0.2, "keep": [5, 30]}
    both = train_jointly(stack_sequences(drawn), **how)
    for k, one in enumerate(drawn):
        alone = train_jointly(one, **how)
        np.testing.assert_allclose(both.log_loss[:, k], alone.log_loss)
        np.testing.assert_allclose(both.decoder[:, k], alone.decoder)


@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_refused(rng):
    data = plant_tokens(rng, count=4, length=3, dim=6).sequences
    with pytest.raises(ValueError, match="`keep` must be increasing"):
        train_jointly(data, method="gd", learning_rate=1.0, keep=[2, 1])
