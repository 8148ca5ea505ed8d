"""A small transformer, its rescalings and its traces, for the tests of both."""

import torch
from torch import nn
from torch.func import functional_call

from ntpcompanion.mlm.curvature.example_gradients import squared_gradients
from ntpcompanion.mlm.curvature.rescaling import scale_names
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import TRANSFORMER
from tests.networks.cases import AT, TOKENS, double

LABELS = torch.tensor([3, 0, 5])
NAMES = scale_names(TRANSFORMER.layers)


def network(epsilon=1e-5):
    shape = build_model(TRANSFORMER, 0, "meta")
    for layer in shape.modules():
        if isinstance(layer, nn.LayerNorm):
            layer.eps = epsilon
    return shape


def parameters_of(model):
    return {name: p.detach() for name, p in model.named_parameters()}


def logits(parameters, epsilon=1e-5):
    return functional_call(network(epsilon), parameters, (TOKENS, AT))


def traces(parameters, epsilon=1e-5):
    """The trace with given labels: any fixed examples do."""
    squares = squared_gradients(network(epsilon), parameters, TOKENS, AT, LABELS)
    return {name: s.mean() for name, s in squares.items()}


def total(of_groups):
    return float(sum(of_groups.values()))


def scales_of(**values):
    """Scales by the last part of their names, in all layers."""
    return torch.tensor(
        [values.get(name.split(".")[-1].split(" ")[0], 0.0) for name in NAMES], dtype=torch.float64
    )


PARAMETERS = parameters_of(double(TRANSFORMER))
