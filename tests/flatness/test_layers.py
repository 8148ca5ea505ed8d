import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.layers import has_layer_rules, recorded, squared_norms
from tests.flatness.cases import Transformer, initialized, masked_sentences, seeded


def weigh(log_probabilities):
    """Two labels an input, with unequal shares."""
    n, classes = log_probabilities.shape
    labels = torch.stack([torch.arange(n) % classes, (torch.arange(n) + 1) % classes], 1)
    return labels, torch.tensor([0.25, 0.75]).to(log_probabilities).expand(n, 2)


def plain(flat, inputs):
    """Gradient by gradient."""
    sums = []
    for i, x in enumerate(inputs):
        leaf = flat.theta.requires_grad_()
        log_f = flat(leaf, x[None]).log_softmax(1)[0]
        labels = [i % len(log_f), (i + 1) % len(log_f)]
        norms = [
            torch.autograd.grad(log_f[v], leaf, retain_graph=True)[0].square().sum() for v in labels
        ]
        sums.append(0.25 * norms[0] + 0.75 * norms[1])
    return torch.stack(sums)


class Mean(nn.Module):
    """Tokens → embedding → mean → linear."""

    def __init__(self, **kwargs):
        super().__init__()
        self.token, self.out = nn.Embedding(8, 3, **kwargs), nn.Linear(3, 5, bias=False)

    def forward(self, tokens):
        return self.out(self.token(tokens).mean(1))


class Wide(Mean):
    """Positions outnumber the entries of the weight, so that its gradient is the smaller matrix; no
    biases.
    """

    def forward(self, tokens):
        return F.layer_norm(self.out(self.token(tokens)).tanh(), (5,)).sum(1)


class Parts(nn.Module):
    """Layer norm over two axes, and none of the affine parts on another."""

    def __init__(self):
        super().__init__()
        self.norm, self.bare, self.plain = (
            nn.LayerNorm((2, 3)),
            nn.LayerNorm(6, elementwise_affine=False),
            nn.LayerNorm(6, bias=False),
        )
        self.out = nn.Linear(6, 4)

    def forward(self, x):
        return self.out(self.plain(self.bare(self.norm(x.view(-1, 2, 3)).flatten(1))))


class Unused(Mean):
    def __init__(self):
        super().__init__()
        self.spare = nn.Linear(2, 2)


class Tied(Mean):
    def forward(self, tokens):
        return (
            self.out(self.token(tokens).mean(1))
            + F.linear(self.token(tokens).sum(1), self.token.weight)[:, :5]
        )


class Bare(Mean):
    def __init__(self):
        super().__init__()
        self.shift = nn.Parameter(torch.ones(5))


class Twice(Mean):
    def forward(self, tokens):
        return self.out(self.token(tokens).mean(1)) + self.out(self.token(tokens).tanh().mean(1))


class Overwrites(Mean):
    def forward(self, tokens):
        return self.out(self.token(tokens).relu_().mean(1))


class OverwritesWhatEntered(Mean):
    def forward(self, tokens):
        x = self.token(tokens).mean(1)
        y = self.out(x)
        x.mul_(2)
        return y


class SequenceFirst(Mean):
    def forward(self, tokens):
        return self.out(self.token(tokens.T).mean(0))


TOKENS = masked_sentences(6, 7, 5)
FITTING = {
    "transformer": (Transformer, TOKENS),
    "mean": (Mean, TOKENS),
    "padding": (lambda: Mean(padding_idx=0), TOKENS),
    "wide": (Wide, masked_sentences(6, 7, 30)),
    "parts": (Parts, torch.randn(6, 6, generator=seeded(), dtype=torch.float64)),
    "unused": (Unused, TOKENS),
}


@pytest.mark.parametrize(("build", "inputs"), FITTING.values(), ids=FITTING)
def test_norms_are_those_of_plain_gradients(build, inputs):
    flat = FlatModule(initialized(lambda: build().double()))
    assert has_layer_rules(flat, flat.theta, inputs)
    assert torch.allclose(
        squared_norms(flat, flat.theta, inputs, weigh), plain(flat, inputs), rtol=1e-9
    )


@pytest.mark.parametrize(
    "build",
    [
        Tied,
        Bare,
        Twice,
        Overwrites,
        OverwritesWhatEntered,
        SequenceFirst,
        lambda: nn.Bilinear(2, 2, 2),
    ],
)
def test_modules_that_the_rules_do_not_cover_are_told(build):
    flat = FlatModule(initialized(lambda: build().double()))
    for tokens in (TOKENS, TOKENS[:, :2]):
        assert not has_layer_rules(flat, flat.theta, tokens)


def test_a_parameter_of_two_layers_is_told():
    module = initialized(lambda: nn.Sequential(nn.Linear(5, 5), nn.Linear(5, 5)))
    module[1].weight = module[0].weight
    flat = FlatModule(module)
    assert not has_layer_rules(flat, flat.theta, torch.randn(4, 5, generator=seeded()))


def test_hooks_are_removed_also_after_an_error():
    module = initialized(Mean)
    with pytest.raises(RuntimeError, match="stop"), recorded(module):
        raise RuntimeError("stop")
    assert not module.token._forward_hooks
    assert not module.out._forward_hooks
