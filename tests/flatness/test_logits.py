import pytest
import torch
from torch import nn

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.logits import check_logits
from ntpcompanion.flatness.trace_estimators import fisher_trace


def generator():
    return torch.Generator().manual_seed(0)


def network(*layers):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), *layers, nn.Linear(4, 5)).double()


def inputs(n=6):
    return torch.randn(n, 3, generator=generator(), dtype=torch.float64)


def estimate(flat, given=None):
    return fisher_trace(
        flat,
        flat.theta if isinstance(flat, FlatModule) else torch.ones(3).double(),
        inputs() if given is None else given,
        labels_per_input=5,
        generator=generator(),
    )


@pytest.mark.parametrize(
    ("layer", "kind"), [(nn.Dropout(0.5), "Dropout"), (nn.BatchNorm1d(4), "BatchNorm1d")]
)
def test_a_module_in_training_mode_is_named_and_works_in_evaluation_mode(layer, kind):
    module = network(layer).train()
    words = rf"`logits` is a module in training mode: {kind} at '1'\. Call `module\.eval\(\)`"
    with pytest.raises(ValueError, match=words):
        estimate(FlatModule(module))
    assert estimate(FlatModule(module.eval())).value > 0


def test_a_dropout_that_drops_nothing_is_let_through():
    flat = FlatModule(network(nn.Dropout(0.0)).train())
    assert estimate(flat) == estimate(FlatModule(network().eval()))


@pytest.mark.parametrize(
    ("logits", "words"),
    [
        (lambda t, x: (x * t)[:, None], "`logits`"),
        (lambda t, x: (x @ t)[:, None], "`logits`"),
        (lambda t, x: x * t * torch.rand(()), "`logits` is not deterministic"),
        (lambda t, x: x * t - (x * t).mean(0), "`logits` of an input depends on the inputs beside"),
        (lambda t, x: 1.0, r"`logits\(theta, inputs\)` must be a torch.Tensor, got 1.0"),
        (lambda t, x: (x * t)[:1], "`logits`"),
    ],
)
@pytest.mark.usefixtures("unchecked_shapes")
def test_what_gives_no_rows_of_single_inputs_is_refused(logits, words):
    with pytest.raises(ValueError, match=words):
        estimate(logits)


def test_logits_of_sequences_are_refused_before_any_gradient():
    flat = FlatModule(nn.Linear(3, 5).double())
    with pytest.raises(ValueError, match="`logits`"):
        estimate(flat, torch.ones(4, 7, 3, dtype=torch.float64))


def test_rows_that_differ_by_rounding_pass():
    theta, pair = torch.ones(3).double(), inputs(2)
    check_logits(lambda t, x: x * t * (1 + 1e-10 * (len(x) - 1)), theta, pair)


def test_frozen_layers_are_constants():
    """The trace is that of the trained layer alone, which sees the frozen one's output as data."""
    module = network(nn.Tanh())
    whole = estimate(FlatModule(module)).value
    module[0].requires_grad_(False)
    flat = FlatModule(module)
    assert len(flat.theta) == 4 * 5 + 5
    with torch.no_grad():
        hidden = module[:2](inputs())
    alone = estimate(FlatModule(module[2]), hidden)
    assert estimate(flat).value == pytest.approx(alone.value, rel=1e-12)
    assert alone.value < whole
    module.requires_grad_(False)
    with pytest.raises(ValueError, match="got none at all"):
        FlatModule(module)
