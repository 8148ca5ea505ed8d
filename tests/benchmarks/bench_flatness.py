"""Traces of Hessians, and ensembles of SGD runs."""

import curvlinops
import numpy as np
import torch
from torch.nn.functional import cross_entropy

from ntpcompanion.flatness.ensemble import follow_sgd
from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.toy_models import softmax_product
from ntpcompanion.flatness.trace_estimators import fisher_trace, hutchinson_trace
from tests.benchmarks.timing import about, clocked
from tests.flatness.cases import Transformer, initialized, masked_sentences, seeded

PART = "Flatness"
INPUTS = 256


class Traced:
    """Two layers of width 64, 114,000 parameters, float32, and 256 sentences of length 16 with a
    mask each.
    """

    def __init__(self):
        self.module = initialized(lambda: Transformer(vocab=100, width=64, length=16))
        self.tokens = masked_sentences(INPUTS, 100, 16)
        self.flat = FlatModule(self.module)
        self.labels = torch.randint(100, (INPUTS,), generator=seeded())

    def fisher(self, logits=None):
        return fisher_trace(
            logits or self.flat, self.flat.theta, self.tokens, labels_per_input=1,
            generator=seeded(),
        )  # fmt: skip

    def loss(self, theta):
        return cross_entropy(self.flat(theta, self.tokens), self.labels)

    def peer(self):
        """The Hessian as an operator of curvlinops."""
        parameters, data = list(self.module.parameters()), [(self.tokens, self.labels)]
        function = torch.nn.CrossEntropyLoss()
        return curvlinops.HessianLinearOperator(
            self.module, function, parameters, data, check_deterministic=False
        )

    def batched(self, rows=slice(None)):
        self.module.zero_grad()
        cross_entropy(self.module(self.tokens[rows]), self.labels[rows]).backward()

    def loop(self, inputs):
        for i in range(inputs):
            self.batched(slice(i, i + 1))
            sum(p.grad.square().sum() for p in self.module.parameters())


@about("Fisher trace of a transformer, 256 inputs", PART)
def test_fisher_pass(timing):
    traced = Traced()
    timing.pair(
        ("fisher_trace", traced.fisher),
        ("one batched pass", traced.batched),
        at_least=1 / 1.6,
        note="A batched forward and backward pass is the limit: it gives one gradient of all.",
    )


@about("Fisher trace of a transformer, 256 inputs", PART, busy=False)
def test_fisher_vmap(timing):
    traced = Traced()
    timing.pair(
        ("fisher_trace", traced.fisher),
        ("torch.func.vmap", lambda: traced.fisher(lambda theta, x: traced.flat(theta, x))),
        at_least=1.0,
    )


@about("Fisher trace of a transformer, 256 inputs", PART, busy=False)
def test_fisher_loop(timing):
    traced = Traced()
    timing.pair(
        ("fisher_trace", traced.fisher),
        ("a loop over inputs", lambda: traced.loop(32)),
        times=INPUTS / 32,
        at_least=5.0,
        note="The loop takes 32 of the inputs.",
    )


@about("Hutchinson's estimate with 8 probes, 256 inputs", PART, busy=False)
def test_hutchinson(timing):
    traced, probes = Traced(), 8
    peer = traced.peer()
    theta = traced.flat.theta
    timing.pair(
        (
            "hutchinson_trace",
            lambda: hutchinson_trace(traced.loss, theta, probes=probes, generator=seeded()),
        ),
        ("curvlinops", lambda: curvlinops.hutchinson_trace(peer, probes)),
    )


@about("400 runs of SGD with 10,000 steps each", PART)
def test_sgd_ensemble(timing):
    toy = softmax_product([0.1, 0.2, 0.3, 0.4], [2.0, 1.0, -1.5, 0.5])

    def once():
        follow_sgd(toy.model, toy.start, 0.05, 10_000, 1, 400, np.random.default_rng(0))

    timing.amount("s", [clocked(once) for _ in range(3)], at_most=3.0)
