"""Fisher traces against a loop over samples and one batched pass; Hutchinson's variance per second;
an ensemble of SGD runs.
"""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from ntpcompanion.flatness.ensemble import follow_sgd
from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.toy_models import softmax_product
from ntpcompanion.flatness.trace import fisher_trace, hutchinson_trace
from ntpcompanion.workflow.base.provenance import hardware, hardware_line
from tests.benchmarks.timing import seconds
from tests.flatness.cases import Transformer, initialized, masked_sentences, seeded
from tests.threads import one_thread  # noqa: F401 (a fixture of all tests here)


@pytest.fixture(scope="module")
def transformer():
    """Two layers of width 64, 114,000 parameters, float32, and 256 sentences of length 16 with a
    mask each.
    """
    return initialized(lambda: Transformer(vocab=100, width=64, length=16)), masked_sentences(
        256, 100, 16
    )


@pytest.mark.benchmark
def test_a_fisher_trace_costs_little_more_than_one_batched_pass(transformer):
    module, tokens = transformer
    flat = FlatModule(module)
    theta, labels = flat.theta, torch.randint(100, (256,), generator=seeded())

    def batched(rows=slice(None)):
        module.zero_grad()
        cross_entropy(module(tokens[rows]), labels[rows]).backward()

    def loop():
        for i in range(32):
            batched(slice(i, i + 1))
            sum(p.grad.square().sum() for p in module.parameters())

    def fisher(logits):
        return fisher_trace(logits, theta, tokens, labels_per_input=1, generator=seeded())

    ours, one_pass, some, vmap = seconds(
        lambda: fisher(flat), batched, loop, lambda: fisher(lambda t, x: flat(t, x))
    )
    print(
        f"\n{ours:.3f} s; pass {one_pass:.3f} s, loop {8 * some:.3f} s, vmap {vmap:.3f} s; "
        f"{hardware_line(hardware())}"
    )
    assert ours <= 1.6 * one_pass
    assert ours <= 8 * some / 5


@pytest.mark.benchmark
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_variance_times_seconds_against_hutchinson(transformer):
    """At a start the two traces differ; what is compared is the relative variance that a second
    buys. The error of the peer is ours.
    """
    import curvlinops

    module, tokens = transformer
    flat = FlatModule(module)
    theta, labels, probes = flat.theta, torch.randint(100, (256,), generator=seeded()), 8
    peer = curvlinops.HessianLinearOperator(
        module,
        torch.nn.CrossEntropyLoss(),
        list(module.parameters()),
        [(tokens, labels)],
        check_deterministic=False,
    )
    found = {}

    def fisher():
        found["fisher"] = fisher_trace(flat, theta, tokens, labels_per_input=1, generator=seeded())

    def hutchinson():
        loss = lambda t: cross_entropy(flat(t, tokens), labels)  # noqa: E731
        found["hutchinson"] = hutchinson_trace(loss, theta, probes=probes, generator=seeded())

    took = dict(zip(("fisher", "hutchinson"), seconds(fisher, hutchinson, repeats=2), strict=True))
    (took["curvlinops"],) = seconds(lambda: curvlinops.hutchinson_trace(peer, probes), repeats=2)
    found["curvlinops"] = found["hutchinson"]  # as many probes of the same distribution
    cost = {name: (found[name].stderr / found[name].value) ** 2 * took[name] for name in found}
    print(
        f"\n{ {name: (found[name], round(took[name], 3), cost[name]) for name in found} }; "
        f"{hardware_line(hardware())}"
    )
    assert cost["fisher"] < cost["hutchinson"]
    assert cost["fisher"] < cost["curvlinops"]


@pytest.mark.benchmark
def test_four_hundred_runs_of_ten_thousand_steps_take_at_most_three_seconds():
    toy = softmax_product([0.1, 0.2, 0.3, 0.4], [2.0, 1.0, -1.5, 0.5])
    (took,) = seconds(
        lambda: follow_sgd(toy.model, toy.start, 0.05, 10_000, 1, 400, np.random.default_rng(0)),
        repeats=2,
    )
    print(f"\n{took:.2f} s; {hardware_line(hardware())}")
    assert took <= 3
