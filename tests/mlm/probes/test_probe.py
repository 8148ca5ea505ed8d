import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from ntpcompanion.mlm.data.labelled_examples import (
    LabelledExamples,
)
from ntpcompanion.mlm.probes.probe import FINE_TUNING, ProbePlan, linear_probe
from tests.mlm.cases import generator

QUICK = ProbePlan(learning_rate=3e-2, epochs=20, batch_size=64)


def planted(n, dims, classes, seed=0, noise=0.0):
    """Features N(0, 1), and labels that a linear map of them decides, with Gumbel noise; the same
    map for each seed.
    """
    weight = torch.randn(dims, classes, generator=generator(99))
    features = torch.randn(n, dims, generator=generator(seed))
    gumbel = -torch.empty(n, classes).exponential_(generator=generator(seed + 50)).log()
    return LabelledExamples(features, (features @ weight + noise * gumbel).argmax(1), classes)


def test_the_minimum_is_that_of_scikit_learn():
    train, test = planted(300, 3, 3, noise=2.0), planted(2000, 3, 3, seed=1, noise=2.0)
    exact = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        train.inputs.double().numpy(), train.labels.numpy()
    )
    law = exact.predict_log_proba(train.inputs.double().numpy())
    plan = ProbePlan(learning_rate=0.03, epochs=600, batch_size=300, weight_decay=0.0)
    found = linear_probe(train, test, plan, generator())
    assert found.training_loss == pytest.approx(
        -law[np.arange(300), train.labels.numpy()].mean(), abs=1e-6
    )
    assert found.training_accuracy == pytest.approx(
        exact.score(train.inputs.double().numpy(), train.labels.numpy()), abs=2 / 300
    )
    assert found.accuracy.value == pytest.approx(
        exact.score(test.inputs.double().numpy(), test.labels.numpy()), abs=2 / 2000
    )


def test_training_takes_the_steps_of_a_plain_loop():
    plan = ProbePlan(
        learning_rate=0.05, epochs=2, batch_size=16, warmup=4, weight_decay=0.3, scaling="none"
    )
    train, seeded = planted(40, 3, 3), generator(2)
    weight, bias = 0.02 * torch.randn(3, 3, generator=seeded), torch.zeros(3)
    moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in (weight, bias)]
    orders = [torch.randperm(40, generator=seeded) for _ in range(2)]
    for t, rows in enumerate([part for order in orders for part in order.split(16)], 1):
        law = (train.inputs[rows] @ weight.T + bias).softmax(1)
        off = (law - torch.eye(3)[train.labels[rows]]) / len(rows)
        rate = 0.05 * min(1, t / 4)
        for p, g, (m, v) in zip(
            (weight, bias), (off.T @ train.inputs[rows], off.sum(0)), moments, strict=True
        ):
            m.lerp_(g, 0.1)
            v.lerp_(g * g, 0.001)
            p *= 1 - rate * 0.3
            p -= rate * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    exact = torch.nn.functional.cross_entropy(train.inputs @ weight.T + bias, train.labels)
    assert linear_probe(train, train, plan, generator(2)).training_loss == pytest.approx(
        float(exact), rel=1e-5
    )


def test_standardizing_makes_the_probe_indifferent_to_scale_and_shift():
    train, test = planted(1000, 6, 3), planted(500, 6, 3, seed=1)
    scale, shift = (
        torch.tensor([1e-3, 1.0, 50.0, 1e-2, 1.0, 8.0]),
        torch.tensor([0.0, 4.0, 3.0, 1.0, 0.0, -2.0]),
    )
    moved = [
        LabelledExamples(
            torch.cat([x.inputs * scale + shift, torch.full((len(x.labels), 1), 0.1)], 1),
            x.labels,
            3,
        )
        for x in (train, test)
    ]
    plain, other = (
        linear_probe(train, test, QUICK, generator()),
        linear_probe(*moved, QUICK, generator()),
    )
    assert other.accuracy.value == pytest.approx(plain.accuracy.value, abs=0.02)
    raw = linear_probe(
        *moved, ProbePlan(learning_rate=3e-2, epochs=20, batch_size=64, scaling="none"), generator()
    )
    assert raw.accuracy.value < plain.accuracy.value - 0.02


def test_the_generator_decides_the_result():
    train, test = planted(200, 5, 3, noise=3.0), planted(200, 5, 3, seed=1, noise=3.0)
    first, again, other = (linear_probe(train, test, QUICK, generator(seed)) for seed in (3, 3, 4))
    assert first == again
    assert first.training_loss != other.training_loss


def test_the_rate_rises_linearly_and_stays():
    rising = ProbePlan(learning_rate=0.5, warmup=4)
    assert [rising.rate_at(step) for step in (1, 2, 4, 9)] == [0.125, 0.25, 0.5, 0.5]
    assert ProbePlan(learning_rate=0.5).rate_at(1) == 0.5
    assert (FINE_TUNING.learning_rate, FINE_TUNING.epochs, FINE_TUNING.warmup) == (1e-4, 10, 200)


def test_what_cannot_be_probed_is_refused():
    train, test = planted(50, 5, 3), planted(20, 5, 3, seed=1)
    with pytest.raises(
        ValueError,
        match=("`test`"),
    ):
        linear_probe(train, planted(20, 4, 3), ProbePlan(), generator())
    with pytest.raises(ValueError, match="`test`"):
        linear_probe(train, planted(20, 5, 4), ProbePlan(), generator())
    one = LabelledExamples(train.inputs, torch.full((50,), 2), 3)
    with pytest.raises(ValueError, match="`train`"):
        linear_probe(one, test, ProbePlan(), generator())
    words = LabelledExamples(torch.randint(6, (50, 4), generator=generator()), train.labels, 3)
    with pytest.raises(
        ValueError,
        match="`inputs`",
    ):
        linear_probe(words, words, ProbePlan(), generator())
    with pytest.raises(
        FloatingPointError,
        match=r"The training loss of the head is (nan|inf). Lower `learning_rate`",
    ):
        linear_probe(train, test, ProbePlan(learning_rate=1e38, epochs=3), generator())
