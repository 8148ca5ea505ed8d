import numpy as np
import pytest
import torch
from torch.func import functional_call

from ntpcompanion.flatness.causal_traces import fisher_squares, hessian_forms
from ntpcompanion.flatness.hessian import FlatModule, full_hessian
from tests.flatness.cases import seeded
from tests.languages.llama import small_llama, texts


def exact_squares(model, row):
    """E (∂ log f(v | x) / ∂ θ)² by trying every token v after every beginning x, on average."""
    named = dict(model.named_parameters())
    total = {name: torch.zeros_like(value) for name, value in named.items()}
    for end in range(1, len(row)):
        log_p = model(input_ids=row[None, :end]).logits[0, -1].log_softmax(-1)
        for chance in log_p:
            parts = torch.autograd.grad(chance, list(named.values()), retain_graph=True)
            for name, part in zip(named, parts, strict=True):
                total[name] += float(chance.detach().exp()) * part.square() / (len(row) - 1)
    return total


def test_squared_gradients_have_the_mean_of_an_enumeration():
    model, row = small_llama(num_hidden_layers=1), texts(1, length=3)[0]
    expected = exact_squares(model, row)
    draws = [fisher_squares(model, row[None], seeded(seed)) for seed in range(300)]
    for name, exact in expected.items():
        sums = np.array([float(draw[name].sum()) for draw in draws])
        assert abs(sums.mean() - float(exact.sum())) < 4 * sums.std(ddof=1) / len(sums) ** 0.5


def test_squares_of_rows_are_averages_over_their_tokens():
    model, rows = small_llama(num_hidden_layers=1), texts(2)
    together = fisher_squares(model, rows, seeded(0))
    generator = seeded(0)
    apart = [fisher_squares(model, row[None], generator) for row in rows]
    for name, square in together.items():
        assert torch.allclose(square, (apart[0][name] + apart[1][name]) / 2)


@pytest.mark.parametrize("trace", [fisher_squares, hessian_forms])
@pytest.mark.parametrize("shape", [(0, 3), (2, 1)])
def test_rows_without_a_second_token_are_named(trace, shape):
    with pytest.raises(ValueError, match="`rows` must"):
        trace(small_llama(num_hidden_layers=1), torch.zeros(shape, dtype=torch.long), seeded(0))


def test_forms_are_those_of_the_whole_hessian():
    model, row = small_llama(num_hidden_layers=1), texts(1)[0]
    flat = FlatModule(model.model)

    def loss(theta):
        parameters = flat.parameters(theta)
        states = functional_call(model.model, parameters, (row[None],)).last_hidden_state[0, :-1]
        logits = states @ parameters["embed_tokens.weight"].T
        return torch.nn.functional.cross_entropy(logits, row[1:])

    hessian, theta = full_hessian(loss, flat.theta), flat.theta
    generator = seeded(3)
    forms = hessian_forms(model, row[None], seeded(3))[0]
    signs = {
        name: 2.0 * torch.randint(2, value.shape, generator=generator) - 1
        for name, value in model.named_parameters()
    }
    vector = torch.cat([sign.flatten() for sign in signs.values()]).to(theta)
    products = flat.parameters(hessian @ vector)
    for name, sign in signs.items():
        part = products[name.removeprefix("model.")]
        assert forms[name] == pytest.approx(float((part * sign).sum()), rel=1e-5, abs=1e-6)
