import pytest
import torch
from torch import nn

from ntpcompanion.flatness import hessian
from ntpcompanion.flatness.hessian import FlatModule, check_loss, full_hessian, hessian_products
from tests.flatness.cases import initialized, seeded

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
    ),
]


def curved(theta):
    return (
        (theta[0] * theta[1]).exp() + (theta**4).sum() / 12 + (theta[1:] * theta[:-1]).sin().sum()
    )


def point(d=5, device="cpu"):
    return torch.randn(d, generator=seeded(), dtype=torch.float64).to(device)


@pytest.mark.parametrize("device", DEVICES)
def test_the_full_hessian_is_that_of_autograd(device):
    theta = point(device=device)
    expected = torch.autograd.functional.hessian(curved, theta)
    assert torch.allclose(full_hessian(curved, theta), expected, rtol=1e-12, atol=1e-12)


def test_products_are_products_with_that_matrix_whatever_the_batch(monkeypatch):
    theta, vectors = point(), torch.randn(7, 5, generator=seeded(1), dtype=torch.float64)
    expected = vectors @ torch.autograd.functional.hessian(curved, theta)
    for entries in (1, 11, 2**16):
        monkeypatch.setattr(hessian, "BATCH_ENTRIES", entries)
        assert torch.allclose(
            hessian_products(curved, theta, vectors), expected, rtol=1e-12, atol=1e-12
        )


def test_a_linear_loss_has_no_curvature():
    theta = point()
    assert torch.equal(
        full_hessian(lambda t: t.sum(), theta), torch.zeros(5, 5, dtype=torch.float64)
    )


def test_float32_is_kept():
    theta = point().float()
    assert full_hessian(curved, theta).dtype == torch.float32


def test_a_module_becomes_a_function_of_its_parameters():
    module = initialized(
        lambda: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    )
    flat, x = FlatModule(module), torch.randn(6, 3, generator=seeded(), dtype=torch.float64)
    assert torch.equal(flat(flat.theta, x), module(x))
    before = flat.theta
    doubled = flat(2 * before, x)
    assert torch.equal(flat.theta, before)
    assert {name: tuple(part.shape) for name, part in flat.parameters(before).items()} == {
        "0.weight": (4, 3), "0.bias": (4,), "2.weight": (2, 4), "2.bias": (2,),
    }  # fmt: skip
    with torch.no_grad():
        for parameter in module.parameters():
            parameter *= 2
    assert torch.equal(doubled, module(x))


def test_a_parameter_in_two_places_counts_once():
    module = initialized(lambda: nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)))
    module[1].weight = module[0].weight
    assert FlatModule(module).theta.shape == (3 * 3 + 3 + 3,)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (lambda t: t, r"`loss` must return a scalar tensor, got shape \(5,\)"),
        (lambda t: (t.sum() * 0).log(), r"`loss` is -inf at `theta`"),
        (lambda t: t.detach().sum(), "`loss`"),
        (lambda t: torch.ones((), requires_grad=True) * 2, "`loss` does not depend on `theta`"),
    ],
)
def test_a_loss_that_is_no_loss_is_refused(loss, words):
    with pytest.raises(ValueError, match=words):
        full_hessian(loss, point())


def test_a_loss_that_changes_is_refused_with_both_values():
    values = iter([1.5, 2.25])
    with pytest.raises(
        ValueError,
        match=("`loss`"),
    ):
        check_loss(lambda t: 0 * t.sum() + next(values), point())


def test_dropout_is_refused():
    flat = FlatModule(initialized(lambda: nn.Sequential(nn.Linear(9, 9), nn.Dropout(0.5))))
    with pytest.raises(ValueError, match="not deterministic"):
        full_hessian(lambda t: flat(t, torch.ones(4, 9)).square().mean(), flat.theta)


def test_rounding_in_another_order_is_let_through():
    values = iter([1.0, 1.0 + 1e-15])
    assert check_loss(lambda t: 0 * t.sum() + next(values), point()) is None


def test_modules_without_one_kind_of_parameters_are_refused():
    with pytest.raises(ValueError, match="got none at all"):
        FlatModule(nn.Tanh())
    with pytest.raises(
        ValueError,
        match=r"one dtype on one device, got torch\.float32 on cpu, torch\.float64 on cpu",
    ):
        FlatModule(nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1).double()))


def test_a_vector_of_another_length_is_refused():
    flat = FlatModule(initialized(lambda: nn.Linear(3, 4)))
    with pytest.raises(ValueError, match="`theta`"):
        flat(torch.zeros(15), torch.zeros(1, 3))
