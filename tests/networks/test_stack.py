import pytest
import torch
from torch.func import grad

from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import ModelPlan
from ntpcompanion.networks.stack import Stack, functional_logits, initial_stack, stack_models
from tests.networks.cases import AT, TOKENS, double

PLAN = ModelPlan("transformer", 8, 2, 2, 16, words=6, positions=4)
MODELS = [double(PLAN, seed) for seed in range(3)]


@pytest.mark.parametrize("batch", [1, 2, 1024])
def test_each_network_of_a_stack_says_what_it_says_alone(batch):
    alone = [model(TOKENS, AT) for model in MODELS]
    found = stack_models(MODELS).logits(TOKENS, AT, batch=batch)
    torch.testing.assert_close(found, torch.stack(alone))


@pytest.mark.parametrize("batch", [1, 2, 1024])
def test_features_are_those_of_each_network(batch):
    alone = [model.features(TOKENS) for model in MODELS]
    found = stack_models(MODELS).features(TOKENS, batch=batch)
    torch.testing.assert_close(found, torch.stack(alone))


def test_a_network_comes_back_from_a_stack():
    model = initial_stack(PLAN, [5, 7]).model(1)
    for found, built in zip(model.parameters(), build_model(PLAN, 7).parameters(), strict=True):
        assert torch.equal(found, built)


def test_the_initial_deviation_scales_what_is_drawn():
    wide, usual = (initial_stack(PLAN, [3], deviation=d).parameters for d in (0.1, 0.02))
    name = "blocks.0.query.weight"
    torch.testing.assert_close(wide[name], 5 * usual[name])


def test_taken_networks_are_copies():
    stack = stack_models(MODELS)
    taken = stack.take([2, 0, 2])
    assert len(taken) == 3
    assert torch.equal(taken.parameters["bias"], stack.parameters["bias"][[2, 0, 2]])
    taken.parameters["bias"].zero_()
    assert stack.parameters["bias"].abs().min() > 0


def test_logits_have_second_derivatives():
    stack = stack_models(MODELS[:1])
    own = {name: p[0] for name, p in stack.parameters.items()}

    def slope(x):
        def value(b):
            moved = own | {"blocks.1.query.bias": b}
            return functional_logits(stack.network, moved, TOKENS, AT).square().sum()

        return grad(value)(x)[0]

    at, step = own["blocks.1.query.bias"], 1e-5 * torch.eye(8, dtype=torch.float64)[0]
    difference = (slope(at + step) - slope(at - step)) / 2e-5
    torch.testing.assert_close(grad(slope)(at)[0], difference, rtol=1e-5, atol=1e-8)


def test_a_stack_knows_its_size_and_device():
    stack = Stack(PLAN, stack_models(MODELS).parameters)
    assert (len(stack), stack.device.type) == (3, "cpu")
