from dataclasses import replace
from itertools import product

import pytest
import torch
import torch.nn.functional as F

from ntpcompanion.mlm.training.enlarge import GRADIENT_POWERS, enlarge, parameter_groups
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import TransformerSize
from tests.mlm.cases import LSTM, TRANSFORMER, same
from tests.networks.cases import AT, TOKENS, double

TARGETS = torch.tensor([[3], [1], [5]])


def large(plan, k, layers=0):
    return replace(
        plan,
        width=k * plan.width,
        heads=k * plan.heads,
        inner=k * plan.inner,
        layers=plan.layers + layers,
    )


def squared_gradients(model):
    """Of the loss of a small batch, summed over the parameters of each group."""
    model.zero_grad()
    F.cross_entropy(model(TOKENS, AT)[:, 0], TARGETS[:, 0]).backward()
    return {
        name: sum(float(p.grad.square().sum()) for p in group)
        for name, group in parameter_groups(model).items()
    }


@pytest.mark.parametrize(("scaling", "zeros"), [*product(GRADIENT_POWERS, ["all", "outputs"])])
@pytest.mark.parametrize(("k", "layers"), [*product([1, 2, 3], [0, 1, 2])])
@pytest.mark.parametrize("heads", [1, 2])
def test_the_function_is_kept(heads, k, layers, scaling, zeros):
    plan = replace(TRANSFORMER, heads=heads)
    for model, tolerance in ((double(plan, seed=k), 1e-11), (build_model(plan, k), 1e-6)):
        before = {name: value.clone() for name, value in model.state_dict().items()}
        grown = enlarge(model, large(plan, k, layers), scaling, zeros=zeros)
        assert grown.plan == large(plan, k, layers)
        assert torch.allclose(grown(TOKENS, AT), model(TOKENS, AT), rtol=0, atol=tolerance)
        with torch.no_grad():
            for parameter in grown.parameters():
                parameter.fill_(0.5)
        assert same(before, model.state_dict())


@pytest.mark.parametrize(("scaling", "k"), [*product(GRADIENT_POWERS, [2, 3])])
def test_squared_gradients_change_by_the_stated_powers(scaling, k):
    model = double(TRANSFORMER)
    small, grown = (
        squared_gradients(model),
        squared_gradients(enlarge(model, large(TRANSFORMER, k), scaling)),
    )
    assert min(small.values()) > 1e-6
    assert {name: grown[name] / small[name] for name in small} == pytest.approx(
        {name: float(k) ** power for name, power in GRADIENT_POWERS[scaling].items()}, rel=1e-9
    )


def test_layers_with_zero_outputs_only_add_to_the_gradients_of_weights():
    model = double(TRANSFORMER)
    every, some = (
        squared_gradients(enlarge(model, large(TRANSFORMER, 2, 1), "balanced", zeros=z))
        for z in ("all", "outputs")
    )
    assert some["weights"] > 1.05 * every["weights"]
    assert {name: value for name, value in some.items() if name != "weights"} == pytest.approx(
        {name: value for name, value in every.items() if name != "weights"}, rel=1e-9
    )


def test_groups_hold_every_parameter_once():
    model = build_model(TRANSFORMER, 0)
    groups = parameter_groups(model)
    every = [id(parameter) for group in groups.values() for parameter in group]
    assert sorted(every) == sorted(id(parameter) for parameter in model.parameters())
    assert [len(group) for group in groups.values()] == [1, 1, 10, 10, 10, 2, 1]
    assert set(groups) == set(GRADIENT_POWERS["released"]) == set(GRADIENT_POWERS["balanced"])


def test_without_its_own_epsilon_the_first_norm_would_change_the_function():
    model = build_model(TRANSFORMER, 0)
    grown = enlarge(model, large(TRANSFORMER, 2), "released")
    hidden = grown.first_norm(grown.words.weight)[:, :8]
    assert torch.allclose(hidden, model.first_norm(model.words.weight), rtol=1e-5, atol=1e-6)
    grown.first_norm.eps = 1e-5
    assert not torch.allclose(
        grown.first_norm(grown.words.weight)[:, :8], model.first_norm(model.words.weight), rtol=1e-2
    )


WRONG = [
    ({"width": 20}, r"`width` of the plan must be a multiple of 8, that of the model, got 20"),
    (
        {"heads": 2},
        r"`heads` of the plan must be 4, 2 times that of the model, got 2",
    ),
    (
        {"inner": 64},
        r"`inner` of the plan must be 32, 2 times that of the model, got 64",
    ),
    ({"layers": 1}, r"`layers` of the plan must be at least 2, those of the model, got 1"),
    ({"words": 7}, r"`words` of the plan must be 6, 1 times that of the model, got 7"),
]


@pytest.mark.parametrize(("change", "words"), WRONG)
def test_sizes_that_do_not_fit_are_refused_by_name(change, words):
    with pytest.raises(ValueError, match=words):
        enlarge(build_model(TRANSFORMER, 0), replace(large(TRANSFORMER, 2), **change), "released")


@pytest.mark.usefixtures("unchecked_shapes")
def test_a_size_without_a_vocabulary_is_refused_by_name():
    words = "`plan` must be a ModelPlan, got a ntpcompanion.TransformerSize"
    with pytest.raises(ValueError, match=words):
        enlarge(build_model(TRANSFORMER, 0), TransformerSize(16, 2, 2), "released")


@pytest.mark.usefixtures("unchecked_shapes")
def test_lstms_are_rejected():
    recurrent, model = build_model(LSTM, 0), build_model(TRANSFORMER, 0)
    with pytest.raises(
        ValueError, match=r"`model` must be a Transformer, got a ntpcompanion\.BidirectionalLSTM"
    ):
        enlarge(recurrent, LSTM, "released")
    with pytest.raises(
        ValueError, match=r"`model` must be a Transformer, got a ntpcompanion\.BidirectionalLSTM"
    ):
        parameter_groups(recurrent)
    with pytest.raises(ValueError, match="`plan` must be of the kind transformer, got lstm"):
        enlarge(model, replace(LSTM, width=16), "released")
