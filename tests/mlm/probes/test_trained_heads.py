from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression

from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.mlm.probes.trained_heads import fit_heads, trained_heads
from tests.mlm.cases import generator

MODELS, EXAMPLES, DIMS, CLASSES = 3, 50, 5, 4
PLAN = ProbePlan(
    learning_rate=0.02, epochs=4, batch_size=8, warmup=5, weight_decay=0.3, scaling="none"
)
LONG = ProbePlan(learning_rate=0.05, epochs=40, batch_size=16)


def features(models=MODELS, examples=EXAMPLES, seed=0):
    return torch.randn(models, examples, DIMS, generator=generator(seed))


def classes(examples=EXAMPLES, seed=1):
    return torch.randint(CLASSES, (examples,), generator=generator(seed))


def posteriors(examples, seed=2):
    return torch.rand(examples, CLASSES, generator=generator(seed)).softmax(1)


def trained_alone(rows, labels, plan, seed):
    """Weight and bias of the head of one model, by a plain loop."""
    source = generator(seed)
    head = torch.nn.Linear(DIMS, CLASSES)
    with torch.no_grad():
        head.weight.copy_(0.02 * torch.randn(CLASSES, DIMS, generator=source))
        head.bias.zero_()
    steps = torch.optim.AdamW(head.parameters(), weight_decay=plan.weight_decay)
    step = 0
    for _ in range(plan.epochs):
        order = torch.randperm(len(rows), generator=source)
        for first in range(0, len(rows) - plan.batch_size + 1, plan.batch_size):
            batch = order[first : first + plan.batch_size]
            step += 1
            steps.param_groups[0]["lr"] = plan.learning_rate * min(1, step / plan.warmup)
            steps.zero_grad()
            F.cross_entropy(head(rows[batch]), labels[batch]).backward()
            steps.step()
    return head.weight.detach(), head.bias.detach()


def test_the_head_of_each_model_is_that_of_a_plain_loop():
    rows, labels = features(), classes()
    found = fit_heads(rows, labels, CLASSES, PLAN, generator(7))
    for model in range(MODELS):
        weight, bias = trained_alone(rows[model], labels, PLAN, 7)
        assert float((found.weight[model] - weight.T).abs().max()) < 1e-5
        assert float((found.bias[model] - bias).abs().max()) < 1e-5


def test_the_minimum_is_that_of_scikit_learn():
    rows, labels = features(1, 300), classes(300)
    inputs, targets = rows[0].double().numpy(), labels.numpy()
    exact = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(inputs, targets)
    expected = -exact.predict_log_proba(inputs)[np.arange(300), targets].mean()
    plan = ProbePlan(learning_rate=0.03, epochs=600, batch_size=300, weight_decay=0.0)
    found = fit_heads(rows, labels, CLASSES, plan, generator()).logits(rows)[0]
    assert float(F.cross_entropy(found, labels)) == pytest.approx(expected, abs=1e-6)


def test_the_rate_rises_linearly_and_stays():
    rising = ProbePlan(learning_rate=0.5, warmup=4)
    assert [rising.rate_at(step) for step in (1, 2, 4, 9)] == [0.125, 0.25, 0.5, 0.5]


def separable(labels, seed):
    """Features of two models: the first ones say the class, the second ones nothing."""
    told = F.one_hot(labels, DIMS) + 0.01 * features(1, len(labels), seed)[0]
    return torch.stack([told, torch.zeros_like(told)])


@pytest.mark.parametrize("scaling", ["standardized", "whitened", "none"])
def test_accuracy_is_the_mean_posterior_of_the_guessed_class(scaling):
    labels = torch.cat([classes(), torch.full((20,), 2)])  # the commonest class is 2
    others, posterior = classes(30, 5), posteriors(30)
    plan = replace(LONG, scaling=scaling)
    found = trained_heads(
        separable(labels, 3), labels, separable(others, 4), posterior, plan, generator()
    )
    told = posterior[torch.arange(30), others].mean()
    assert found.tolist() == pytest.approx([float(told), float(posterior[:, 2].mean())], abs=1e-6)


def test_standardized_features_are_learned_whatever_their_unit():
    labels, others = torch.cat([classes(), torch.full((20,), 2)]), classes(30, 5)
    train, test = (7 + 1e-3 * separable(x, seed) for x, seed in ((labels, 3), (others, 4)))
    posterior = F.one_hot(others, CLASSES).double()
    standardized = trained_heads(train, labels, test, posterior, LONG, generator())
    plain = trained_heads(
        train, labels, test, posterior, replace(LONG, scaling="none"), generator()
    )
    assert float(standardized[0]) == 1
    assert float(plain[0]) < 0.6


@pytest.mark.usefixtures("unchecked_shapes")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": features(2)}, r"`test` must .* to agree with `train`, .*, got .*"),
        (
            {"labels": torch.full((EXAMPLES,), 2)},
            "`labels` must hold several classes, got .* Draw more",
        ),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    given = {
        "train": features(),
        "labels": classes(),
        "test": features(),
        "posterior": posteriors(EXAMPLES),
    }
    with pytest.raises(ValueError, match=message):
        trained_heads(**given | change, plan=PLAN, generator=generator())


def test_a_head_that_is_not_finite_is_refused():
    rows = features()
    rows[1, 3] = torch.inf
    with pytest.raises(FloatingPointError, match="head of model 1"):
        fit_heads(rows, classes(), CLASSES, PLAN, generator())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_finds_the_same_heads():
    rows, labels = features(), classes()
    found, expected = (
        fit_heads(rows.to(device), labels.to(device), CLASSES, PLAN, generator(7))
        for device in ("cuda", "cpu")
    )
    assert float((found.weight.cpu() - expected.weight).abs().max()) < 1e-4
