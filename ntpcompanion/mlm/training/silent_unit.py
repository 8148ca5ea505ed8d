"""One hidden unit that no masked sentence of a sample activates: there equal loss, gradient and
Hessian, and other features of sentences without a mask.
"""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from sklearn.svm import LinearSVC
from torch import Tensor

from ntpcompanion.checks import Positive, checked
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.transformer import Transformer

# gelu(u) is exactly 0 in double precision for u ≤ −OFF, and u to rounding for u ≥ OFF
OFF = 40.0


@dataclass(frozen=True, eq=False)
class Gate:
    """A hyperplane beyond all masked positions, as the last MLP sees them: w·x ≤ `offset` −
    `margin` there, with `normal` w of length 1.
    """

    normal: Float[Tensor, " d"]
    offset: float
    margin: float


@checked
def separating_gate(
    network: Transformer,
    masked: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
    unmasked: Int[Tensor, "m positions"],
) -> Gate:
    """Find a hyperplane in what enters the MLP of the last layer with the masked positions below
    it: a quarter of the way from the highest mask to the median word.

    Its direction is that of a linear support vector machine, to which a mask on the wrong side is a
    hundred times as bad as a word. Raises ValueError where the median word is not above all masks.
    """
    at_masks = _mlp_inputs(network, masked)[torch.arange(len(masked)), positions[:, 0] + 1]
    at_words = _mlp_inputs(network, unmasked)[:, 1:].flatten(0, 1)
    rows = torch.cat([at_masks, at_words])
    kinds = np.repeat([0, 1], [len(at_masks), len(at_words)])
    machine = LinearSVC(dual=False, class_weight={0: 100, 1: 1}).fit(rows.cpu().numpy(), kinds)
    normal = torch.from_numpy(machine.coef_[0]).to(rows)
    normal = normal / normal.norm()
    highest, heights = float((at_masks @ normal).max()), at_words @ normal
    margin = (float(heights.median()) - highest) / 4
    if not margin > 0:  # nor NaN, where nothing differs
        raise ValueError(
            "`network` must tell masks from words in its last layer, but the median word is "
            f"{4 * margin:.3g} above the highest mask. Train it longer."
        )
    return Gate(normal, highest + margin, margin)


@checked
def above_gate(
    network: Transformer, gate: Gate, tokens: Int[Tensor, "n positions"]
) -> Bool[Tensor, "n positions"]:
    """Which positions of sentences the unit of a gate is on at."""
    return _mlp_inputs(network, tokens)[:, 1:] @ gate.normal > gate.offset


@checked
def with_silent_unit(
    network: Transformer,
    gate: Gate,
    output: Float[Tensor, " d"],
    strength: Positive = 1e9,
) -> Transformer:
    """The network with one more hidden unit in its last MLP, which is off at every masked position
    and adds `strength` times the vector `output` at the words above the gate.

    Predictions at masks, their gradients and second derivatives stay what they were, and those of
    the new parameters are 0. Features of words above the gate tend to one vector as `strength`
    grows.
    """
    wider = build_model(replace(network.plan, inner=network.plan.inner + 1), 0, network.bias.device)
    wider = wider.to(network.bias.dtype)
    factor, state = OFF / gate.margin, network.state_dict()
    silent = {"up.weight": factor * gate.normal[None], "down.weight": strength * output[:, None]}
    silent["up.bias"] = torch.full_like(gate.normal[:1], -factor * gate.offset)
    for layer, (name, unit) in product(range(network.plan.layers), silent.items()):
        key = f"blocks.{layer}.{name}"
        if layer < network.plan.layers - 1:  # all layers have one width: a unit that is always off
            unit = torch.full_like(unit, -OFF) if name == "up.bias" else torch.zeros_like(unit)
        state[key] = torch.cat([state[key], unit], int(name == "down.weight"))
    wider.load_state_dict(state)
    return wider


@torch.no_grad()
def _mlp_inputs(network: Transformer, tokens: Tensor) -> Float[Tensor, "n vectors d"]:
    """What enters the MLP of the last layer at every position."""
    inputs: list[Tensor] = []
    hook = network.blocks[-1].up.register_forward_pre_hook(lambda _, x: inputs.append(x[0]))
    try:
        network.features(tokens)
    finally:
        hook.remove()
    return inputs[0]
