"""The toy models with minimizers, small networks, and a transformer whose layers all have rules."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from ntpcompanion.flatness.toy_models import (
    bernoulli,
    linear_product,
    masked_network,
    softmax_product,
)
from ntpcompanion.languages.enumeration import sentence_table
from ntpcompanion.languages.random_hmms import random_hmm


def hmm_network(rng, *, states=2, vocab=3, length=3, width=16):
    """A network with the masked conditionals of a random hidden Markov model."""
    language = random_hmm(rng, states=states, vocab=vocab, length=length)
    return masked_network(rng, sentence_table(language, length), width=width)


TOY_MODELS = {
    "bernoulli": lambda: bernoulli(0.8, 2.0),
    "softmax": lambda: softmax_product([0.1, 0.2, 0.3, 0.4], [2.0, 1.0, -1.5, 0.5]),
    "network": lambda: hmm_network(np.random.default_rng(0)),
    "linear": lambda: linear_product(np.random.default_rng(0)),
}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


class Transformer(nn.Module):
    """Pre-norm, one attention head, logits at the mask (token 0); positions are looked up for every
    input.
    """

    def __init__(self, vocab=7, width=8, length=5, layers=2):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab + 1, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, vocab)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(
            torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        )
        for block in self.blocks:
            x = block(x)
        return self.out((self.norm(x) * (tokens == 0)[..., None]).sum(1))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.mix = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.before(x)
        attention = (self.query(y) @ self.key(y).mT / y.shape[-1] ** 0.5).softmax(-1)
        x = x + self.mix(attention @ self.value(y))
        return x + self.down(F.gelu(self.up(self.between(x))))


def masked_sentences(count, vocab, length, seed=0):
    tokens = torch.randint(1, vocab + 1, (count, length), generator=seeded(seed))
    tokens[torch.arange(count), torch.randint(length, (count,), generator=seeded(seed + 1))] = 0
    return tokens


def initialized(build, seed=0):
    """A module whose initial parameters do not depend on what ran before."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()
