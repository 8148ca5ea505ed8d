import numpy as np
import pytest
import torch
from torch import nn

from ntpcompanion.flatness import hessian, trace_estimators
from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.trace_estimators import (
    TraceEstimate,
    exact_trace,
    fisher_trace,
    hutchinson_trace,
    norms_by_vmap,
)
from tests.flatness.cases import (
    TOY_MODELS,
    Transformer,
    hmm_network,
    initialized,
    masked_sentences,
    seeded,
)
from tests.flatness.test_layers import Mean, plain, weigh

QUADRATIC = torch.randn(6, 6, generator=seeded(3), dtype=torch.float64)
QUADRATIC = QUADRATIC + QUADRATIC.T


def quadratic(theta):
    return theta @ QUADRATIC @ theta / 2


def linear_logits(theta, inputs):
    return inputs @ theta.view(4, -1).T


def linear_case(n=40):
    inputs = torch.randn(n, 3, generator=seeded(1), dtype=torch.float64)
    return torch.randn(12, generator=seeded(2), dtype=torch.float64), inputs


def per_input_fisher(theta, inputs):
    f = linear_logits(theta, inputs).softmax(1)
    return ((f * (1 - f)).sum(1) * inputs.square().sum(1)).numpy()


def enumerated_fisher(logits, theta, inputs):
    """For every input, Σ_v f_v ‖∇ log f_v‖², gradient by gradient."""
    values = []
    for x in inputs:
        leaf = theta.clone().requires_grad_()
        log_f = logits(leaf, x[None])[0].log_softmax(0)
        norms = [
            float(torch.autograd.grad(term, leaf, retain_graph=True)[0].square().sum())
            for term in log_f
        ]
        values.append(float(log_f.detach().exp() @ torch.tensor(norms, dtype=log_f.dtype)))
    return np.array(values)


@pytest.mark.parametrize("toy", TOY_MODELS.values(), ids=TOY_MODELS)
def test_the_exact_trace_is_that_of_the_matrix_of_autograd(toy):
    model, start = toy().model, toy().start
    expected = float(torch.autograd.functional.hessian(model.loss, start, vectorize=True).trace())
    got = exact_trace(model.loss, start)
    assert got == TraceEstimate(got.value, 0.0, 0)
    assert got.value == pytest.approx(expected, rel=1e-12)


def test_the_exact_trace_does_not_depend_on_the_batches(monkeypatch):
    for entries in (1, 7, 13, 36, 2**16):
        monkeypatch.setattr(hessian, "BATCH_ENTRIES", entries)
        monkeypatch.setattr(trace_estimators, "BATCH_ENTRIES", entries)
        assert exact_trace(quadratic, torch.ones(6, dtype=torch.float64)).value == pytest.approx(
            float(QUADRATIC.trace())
        )


def test_random_signs_meet_a_diagonal_exactly():
    scales = torch.arange(1.0, 6.0, dtype=torch.float64)
    got = hutchinson_trace(
        lambda t: (scales * t**2).sum() / 2,
        torch.ones(5, dtype=torch.float64),
        probes=3,
        generator=seeded(),
    )
    assert (got.value, got.stderr, got.samples) == (
        pytest.approx(15, abs=1e-12),
        pytest.approx(0, abs=1e-12),
        3,
    )


def test_hutchinson_is_within_its_error_and_the_error_is_the_formula():
    got = hutchinson_trace(
        quadratic, torch.ones(6, dtype=torch.float64), probes=4000, generator=seeded()
    )
    off_diagonal = float(QUADRATIC.square().sum() - QUADRATIC.diagonal().square().sum())
    assert abs(got.value - float(QUADRATIC.trace())) < 4 * got.stderr
    assert got.stderr == pytest.approx((2 * off_diagonal / 4000) ** 0.5, rel=0.05)
    assert got.samples == 4000


def test_hutchinson_draws_the_same_in_batches_and_does_not_repeat_itself(monkeypatch):
    theta, generator = torch.ones(6, dtype=torch.float64), seeded()
    first = hutchinson_trace(quadratic, theta, probes=5, generator=generator)
    assert hutchinson_trace(quadratic, theta, probes=5, generator=generator) != first
    monkeypatch.setattr(trace_estimators, "BATCH_ENTRIES", 12)
    assert hutchinson_trace(quadratic, theta, probes=5, generator=seeded()).samples == 5


def test_linear_logits_have_the_closed_form_at_every_point():
    """Σ_v f_v (1 − f_v) ‖x‖²; log f has a second derivative that does not depend on v, so that
    Fisher and Hessian agree everywhere.
    """
    theta, inputs = linear_case()
    per_input = per_input_fisher(theta, inputs)
    assert enumerated_fisher(linear_logits, theta, inputs) == pytest.approx(per_input, rel=1e-12)
    got = fisher_trace(linear_logits, theta, inputs, labels_per_input=20_000, generator=seeded())
    assert got.value == pytest.approx(per_input.mean(), rel=0.01)
    assert got.stderr == pytest.approx(per_input.std(ddof=1) / 40**0.5, rel=0.02)
    assert got.samples == 40
    labels = torch.randint(4, (40,), generator=seeded())
    exact = exact_trace(
        lambda t: nn.functional.cross_entropy(linear_logits(t, inputs), labels), theta
    )
    assert exact.value == pytest.approx(per_input.mean(), rel=1e-12)


@pytest.mark.parametrize("labels", [1, 9])
def test_the_error_of_the_fisher_trace_is_right_over_repeats(labels):
    """Fresh inputs every time: within 4 errors of the truth, and the spread is the error, also
    where labels outnumber classes.
    """
    theta, population = linear_case(4000)
    truth = float(per_input_fisher(theta, population).mean())
    generator, estimates = seeded(5), []
    for _ in range(250):
        inputs = population[torch.randint(len(population), (100,), generator=generator)]
        estimates.append(
            fisher_trace(linear_logits, theta, inputs, labels_per_input=labels, generator=generator)
        )
    values = np.array([e.value for e in estimates])
    errors = np.array([e.stderr for e in estimates])
    assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.1)
    assert abs(values.mean() - truth) < 4 * values.std() / 250**0.5
    assert 0.9 < np.mean(np.abs(values - truth) < 2 * errors) < 0.98  # squared norms are skew


@pytest.mark.parametrize("labels", [2, 30])
@pytest.mark.parametrize("chunk_size", [1, 5, 64, None])
def test_memory_is_bounded_without_moving_the_estimate(labels, chunk_size):
    theta, inputs = linear_case()
    expected = enumerated_fisher(linear_logits, theta, inputs)
    got = fisher_trace(
        linear_logits,
        theta,
        inputs,
        labels_per_input=labels,
        generator=seeded(),
        chunk_size=chunk_size,
    )
    assert abs(got.value - expected.mean()) < 4 * got.stderr


def test_layers_and_vmap_give_one_number():
    flat, tokens = FlatModule(initialized(Transformer)), masked_sentences(12, 7, 5)
    for labels in (2, 20):
        by_layers = fisher_trace(
            flat, flat.theta, tokens, labels_per_input=labels, generator=seeded()
        )
        by_vmap = fisher_trace(
            lambda t, x: flat(t, x), flat.theta, tokens, labels_per_input=labels, generator=seeded()
        )
        assert by_layers.value == pytest.approx(by_vmap.value, rel=1e-5)
        assert by_layers.stderr == pytest.approx(by_vmap.stderr, rel=1e-4)


def test_fisher_equals_hessian_at_saturation_and_misses_it_elsewhere_by_what_the_docstring_says():
    rng = np.random.default_rng(1)
    toy = hmm_network(rng, vocab=2, length=2, width=4)
    model = toy.model
    for theta, saturated in (
        (toy.start, True),
        (toy.start + 0.2 * torch.tensor(rng.standard_normal(len(toy.start))), False),
    ):
        f, H = model.log_probabilities(theta).exp(), exact_trace(model.loss, theta).value
        per_input = [
            enumerated_fisher(
                lambda t, i: model.logits(t)[i.long()], theta, torch.tensor([float(i)])
            )[0]
            for i in range(len(f))
        ]
        difference = H - float(model.weight @ torch.tensor(per_input, dtype=torch.float64))
        laplacians = [[_laplacian(model, theta, i, v) for v in range(2)] for i in range(len(f))]
        curvatures = torch.tensor(laplacians, dtype=torch.float64)
        assert difference == pytest.approx(
            float((model.weight[:, None] * (f - model.distributions) * curvatures).sum()), abs=1e-10
        )
        assert (
            abs(difference)
            <= float((2 * model.excess(theta)).sqrt() * curvatures.abs().max()) + 1e-10
        )
        assert (abs(difference) < 1e-10) == saturated


def _laplacian(model, theta, i, v):
    return float(
        torch.autograd.functional.hessian(lambda t: model.log_probabilities(t)[i, v], theta).trace()
    )


def test_one_input_is_refused():
    theta, inputs = linear_case()
    with pytest.raises(ValueError, match="`inputs`"):
        fisher_trace(linear_logits, theta, inputs[:1], labels_per_input=1, generator=seeded())


def test_random_losses_are_refused_by_both_traces():
    theta = torch.ones(6, dtype=torch.float64)
    generator = seeded()
    for estimate in (
        exact_trace,
        lambda loss, t: hutchinson_trace(loss, t, probes=2, generator=seeded()),
    ):
        with pytest.raises(ValueError, match="`loss` is not deterministic"):
            estimate(lambda t: quadratic(t) * torch.rand((), generator=generator), theta)


def test_more_inputs_than_go_through_at_once():
    theta, inputs = linear_case(trace_estimators.CACHED_INPUTS + 60)
    got = fisher_trace(linear_logits, theta, inputs, labels_per_input=20_000, generator=seeded())
    assert got.samples == len(inputs)
    assert got.value == pytest.approx(per_input_fisher(theta, inputs).mean(), rel=0.01)


class Fused(nn.Module):
    """A layer of torch's own, whose attention is fused and whose parameters have no rule."""

    def __init__(self):
        super().__init__()
        self.token, self.layer = (
            nn.Embedding(8, 4),
            nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True),
        )
        self.out = nn.Linear(4, 7)

    def forward(self, tokens):
        return self.out(self.layer(self.token(tokens)).mean(1))


def test_fused_attention_is_taken_by_all_three():
    flat, tokens = FlatModule(initialized(lambda: Fused().double())), masked_sentences(6, 7, 5)
    labels = torch.arange(6)
    fisher = fisher_trace(flat, flat.theta, tokens, labels_per_input=2000, generator=seeded())
    assert fisher.value == pytest.approx(
        enumerated_fisher(flat, flat.theta, tokens).mean(), rel=0.02
    )
    exact = exact_trace(lambda t: nn.functional.cross_entropy(flat(t, tokens), labels), flat.theta)
    random = hutchinson_trace(
        lambda t: nn.functional.cross_entropy(flat(t, tokens), labels),
        flat.theta,
        probes=50,
        generator=seeded(),
    )
    assert abs(random.value - exact.value) < 4 * random.stderr


def test_norms_are_those_of_gradients_one_by_one():
    flat = FlatModule(initialized(Mean).double())
    inputs = torch.randint(8, (6, 4), generator=torch.Generator().manual_seed(1))
    found = norms_by_vmap(flat, flat.theta, inputs, weigh)
    torch.testing.assert_close(found, plain(flat, inputs))


def test_a_row_is_needed_for_each_input():
    theta = torch.zeros(3, dtype=torch.float64)
    words = "`logits`"
    with pytest.raises(ValueError, match=words):
        norms_by_vmap(lambda t, x: t[None], theta, torch.zeros(4, 2), weigh)
