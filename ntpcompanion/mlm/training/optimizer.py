"""The optimizers of a training plan, for one network or several at once."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ntpcompanion.mlm.training.training_plan import TrainingPlan


def optimizer_of(
    parameters: Mapping[str, Tensor], plan: TrainingPlan, *, leading: int = 0
) -> torch.optim.Optimizer:
    """The optimizer that a plan names, over parameters by name with so many `leading` axes of
    networks; matrices decay, but for the embeddings of positions.
    """
    if plan.optimizer == "sgd":
        return torch.optim.SGD(parameters.values(), plan.learning_rate, fused=True)
    decaying: list[Tensor] = []
    others: list[Tensor] = []
    for name, p in parameters.items():
        decays = p.ndim == leading + 2 and not name.startswith("places")
        (decaying if decays else others).append(p)
    groups = [{"params": decaying}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(
        groups, plan.learning_rate, plan.betas, plan.epsilon, plan.weight_decay, fused=True
    )


def contiguous_gradients(total: Tensor, parameters: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The gradients of a scalar, with their entries in memory in the order of their axes, as a
    fused optimizer reads them.
    """
    gradients = torch.autograd.grad(total, parameters)
    return tuple(gradient.contiguous() for gradient in gradients)
