"""Checks of what the functions of this room share: plans that attend, logits beside their tokens,
graphs for each objective.
"""

import torch

from ntpcompanion.networks.plan import ModelPlan
from ntpcompanion.validation import check_tensor, described


def check_attends(name: str, plan: ModelPlan) -> None:
    """ValueError unless the plan is that of a transformer."""
    if plan.kind != "transformer":
        raise ValueError(
            f"`{name}` must be a plan of a transformer, which can be causal, got {plan}."
        )


def check_predictions(name: str, logits: object, tokens: torch.Tensor) -> None:
    """ValueError unless the value holds a row of floating-point logits for each token."""
    check_tensor(name, logits)
    if not isinstance(logits, torch.Tensor) or not logits.is_floating_point():
        raise ValueError(f"`{name}` must hold floating-point numbers, got {described(logits)}.")
    if logits.ndim != 3 or logits.shape[:2] != tokens.shape:
        raise ValueError(
            f"`{name}` must have shape ({', '.join(map(str, tokens.shape))}, words), a row for "
            f"each of `tokens`, got shape {tuple(logits.shape)}."
        )
