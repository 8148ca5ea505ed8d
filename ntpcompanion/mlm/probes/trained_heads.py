"""Linear heads trained by AdamW on the features of many models, as one program."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import checked
from ntpcompanion.mlm.probes.feature_scaling import scaled_stack
from ntpcompanion.mlm.probes.probe_inputs import (
    Posterior,
    TestFeatures,
    TrainFeatures,
    TrainLabels,
    accuracy_by_posterior,
)
from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.mlm.training.cuda_graph import as_cuda_graph
from ntpcompanion.networks.build_network import INITIAL_DEVIATION

Gradients = Callable[[Tensor], Sequence[Tensor]]


@dataclass(frozen=True, eq=False)
class Heads:
    """Linear maps from the features of k models to classes."""

    weight: Float[Tensor, "k d classes"]
    bias: Float[Tensor, "k classes"]

    def logits(self, features: Float[Tensor, "k n d"]) -> Float[Tensor, "k n classes"]:
        """What each head says of the features of its model."""
        return torch.baddbmm(self.bias[:, None], features, self.weight)


@torch.no_grad()
@checked
def trained_heads(
    train: TrainFeatures,
    labels: TrainLabels,
    test: TestFeatures,
    posterior: Posterior,
    plan: ProbePlan,
    generator: torch.Generator,
) -> Float[Tensor, "k"]:
    """Accuracy of linear heads trained on the features of k models for the same number of epochs;
    an incomplete last batch is left out. Raises ValueError for shapes that do not fit or a single
    class, FloatingPointError for a head that is not finite.
    """
    train, test = scaled_stack(train, test, plan.scaling)
    heads = fit_heads(train, labels, posterior.shape[1], plan, generator)
    return accuracy_by_posterior(heads.logits(test), posterior)


@torch.no_grad()
def fit_heads(
    features: Float[Tensor, "k n d"],
    labels: Int[Tensor, "n"],
    classes: int,
    plan: ProbePlan,
    generator: torch.Generator,
) -> Heads:
    """The heads of `trained_heads`, on features as they are.

    Raises FloatingPointError for a head that is not finite.
    """
    models, examples, dims = features.shape
    heads = new_heads(models, dims, classes, generator, features)
    targets = F.one_hot(labels, classes).to(features)
    gradients = partial(_gradients, heads, features, targets)
    for _ in train_epochs([heads.weight, heads.bias], gradients, examples, plan, generator):
        pass
    finite = heads.weight.isfinite().all((1, 2))
    if not finite.all():
        raise FloatingPointError(
            f"The head of model {int((~finite).nonzero()[0])} is not finite. Lower `learning_rate` "
            f"= {plan.learning_rate}."
        )
    return heads


def new_heads(
    models: int, dims: int, classes: int, generator: torch.Generator, reference: Tensor
) -> Heads:
    """The same head for each model, of the type and on the device of `reference`: N(0, 0.02²)
    weights and bias 0.
    """
    first = torch.randn(classes, dims, generator=generator, device=generator.device)
    weight = (INITIAL_DEVIATION * first.T).to(reference).repeat(models, 1, 1)
    return Heads(weight, torch.zeros(models, classes).to(reference))


def train_epochs(
    parameters: Sequence[Tensor],
    gradients: Gradients,
    examples: int,
    plan: ProbePlan,
    generator: torch.Generator,
) -> Iterator[int]:
    """Change the parameters, all on one device, by AdamW, and yield the number of epochs done after
    each.

    `gradients` returns contiguous gradients at the rows of a batch, fit for `as_cuda_graph`. The
    rows have a new order in each epoch, and its incomplete last batch is left out, as a captured
    computation has one shape.
    """
    device = parameters[0].device
    gradients = as_cuda_graph(gradients, device)
    optimizer = torch.optim.AdamW(
        parameters, plan.learning_rate, weight_decay=plan.weight_decay, fused=True
    )
    size, step = min(plan.batch_size, examples), 0
    for epoch in range(plan.epochs):
        order = torch.randperm(examples, generator=generator, device=generator.device).to(device)
        for rows in order.split(size)[: examples // size]:
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = plan.rate_at(step)
            for p, gradient in zip(parameters, gradients(rows), strict=True):
                p.grad = gradient
            optimizer.step()
        yield epoch + 1


def _gradients(
    heads: Heads, features: Tensor, targets: Tensor, rows: Tensor
) -> tuple[Tensor, Tensor]:
    """Of the mean cross-entropy: hᵀ (p − y) / batch and the mean of p − y."""
    inputs = features[:, rows]
    errors = (heads.logits(inputs).softmax(-1) - targets[rows]) / len(rows)
    return torch.bmm(inputs.transpose(1, 2), errors).contiguous(), errors.sum(1)
