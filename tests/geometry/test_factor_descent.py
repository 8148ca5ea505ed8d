import numpy as np
import pytest
import torch

from ntpcompanion.geometry import train_factors
from tests.geometry.cases import drawn_table

RIDGE = 0.01


def start(m=6, V=5, d=5):
    rng = np.random.default_rng(0)
    return rng.standard_normal((m, d)), rng.standard_normal((V, d))


@pytest.mark.parametrize("method", ["gd", "adam"])
def test_steps_are_those_of_torch(method):
    laws, weight = drawn_table(6, 5, 2, 0)
    H, W = (torch.tensor(one, requires_grad=True) for one in start())
    optimizer = {"gd": torch.optim.SGD, "adam": torch.optim.Adam}[method]([H, W], lr=0.05)
    p, pi = torch.tensor(laws), torch.tensor(weight)
    for _ in range(20):
        optimizer.zero_grad()
        loss = -(pi @ (p * torch.log_softmax(H @ W.T, dim=1)).sum(dim=1))
        (loss + RIDGE / 2 * (H.square().sum() + W.square().sum())).backward()
        optimizer.step()
    run = train_factors(
        laws, weight, *start(), step_size=0.05, keep=[0, 20], ridge=RIDGE, method=method
    )
    np.testing.assert_allclose(run.contexts[1], H.detach(), atol=1e-9)
    np.testing.assert_allclose(run.words[1], W.detach(), atol=1e-9)
    np.testing.assert_array_equal(run.contexts[0], start()[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step_size": 0.0}, "`step_size`"),
        ({"keep": [5, 3]}, "`keep`"),
        ({"keep": []}, "`keep`"),
        ({"ridge": -1.0}, "`ridge`"),
        ({"method": "sgd"}, "`method`"),
        ({"words": np.ones((5, 4))}, "`words`"),
        ({"step_size": 1e300, "keep": [50]}, "`step_size` = 1e\\+300 is too large"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_wrong_arguments_are_named(change, words):
    laws, weight = drawn_table(6, 5, 2, 0)
    H, W = start()
    given = {"contexts": H, "words": W, "step_size": 0.1, "keep": [1]}
    with pytest.raises(ValueError, match=words), np.errstate(all="ignore"):
        train_factors(laws, weight, **{**given, **change})
