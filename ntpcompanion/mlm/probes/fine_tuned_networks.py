"""Fine-tuning of several networks as one program."""

from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.func import vmap

from ntpcompanion.checks import checked, need
from ntpcompanion.mlm.data.special_tokens import padded_to
from ntpcompanion.mlm.probes.probe_inputs import Posterior, TrainLabels, accuracy_by_posterior
from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.mlm.probes.trained_heads import Heads, new_heads, train_epochs
from ntpcompanion.mlm.training.optimizer import contiguous_gradients
from ntpcompanion.networks.stack import Stack, functional_features

ROWS = 512  # at a time where nothing is learned
DECODER_BIAS = "bias"  # the features do not depend on it


@dataclass(frozen=True, eq=False)
class FineTuned:
    """Mean probability of the guessed class by the exact posterior after half of the epochs,
    rounded down, and after all: their difference says whether the training has converged.
    `training_loss` is in nats.
    """

    halfway: Float[Tensor, " models"]
    final: Float[Tensor, " models"]
    training_loss: Float[Tensor, " models"]


@dataclass(frozen=True, eq=False)
class _Tuned:
    """Networks with a head each, both changed in place."""

    stack: Stack
    heads: Heads

    @property
    def parameters(self) -> list[Tensor]:
        """Those that are trained."""
        named = self.stack.parameters.items()
        trainable = [p for name, p in named if name != DECODER_BIAS]
        return [*trainable, self.heads.weight, self.heads.bias]

    def logits(self, tokens: Int[Tensor, "n positions"]) -> Float[Tensor, "models n classes"]:
        mapped = vmap(partial(functional_features, self.stack.network), (0, None))
        return self.heads.logits(mapped(self.stack.parameters, tokens)[:, :, 0])

    @torch.no_grad()
    def all_logits(self, tokens: Int[Tensor, "n positions"]) -> Float[Tensor, "models n classes"]:
        """The same for many sentences, some at a time."""
        return torch.cat([self.logits(part) for part in tokens.split(ROWS)], 1)


@checked(
    need(
        "stack",
        "stack.plan.kind == 'transformer'",
        "hold transformers, not kind {stack.plan.kind!r}: it has no CLS vector",
        "Use `trained_heads`.",
    ),
    need("plan", "plan.epochs > 1", "have 2 `epochs` or more, one to compare, not {plan.epochs}"),
)
def fine_tuned_stack(
    stack: Stack,
    train: Int[Tensor, "n length"],
    labels: TrainLabels,
    test: Int[Tensor, "m columns"],
    posterior: Posterior,
    plan: ProbePlan,
    generator: torch.Generator,
) -> FineTuned:
    """Fine-tune copies of transformers, each with a new linear head on its CLS vector, and measure
    them on other sentences (Liu et al. 2023, appendix A.3). `plan.scaling` does not apply; an
    incomplete last batch is left out. Memory: four copies of the parameters. Raises ValueError for
    an LSTM, one epoch, shapes that do not fit, too long a sentence or a single class;
    FloatingPointError for a loss that is not finite.
    """
    device = stack.device
    train, test = (padded_to(t, stack.plan.positions).to(device) for t in (train, test))
    labels, posterior = labels.to(device), posterior.to(device)
    tuned = _with_heads(stack, posterior.shape[1], generator)
    gradients = partial(_gradients, tuned, train, labels)
    accuracies = {
        epoch: accuracy_by_posterior(tuned.all_logits(test), posterior)
        for epoch in train_epochs(tuned.parameters, gradients, len(train), plan, generator)
        if epoch in (plan.epochs // 2, plan.epochs)
    }
    loss = _losses(tuned.all_logits(train), labels)
    _check_finite_loss(loss, plan)
    return FineTuned(accuracies[plan.epochs // 2], accuracies[plan.epochs], loss)


def _check_finite_loss(loss: Tensor, plan: ProbePlan) -> None:
    if not loss.isfinite().all():
        row = int((~loss.isfinite()).nonzero()[0])
        raise FloatingPointError(
            f"The training loss of network {row} is {float(loss[row])}. Lower `learning_rate` = "
            f"{plan.learning_rate}."
        )


def _with_heads(stack: Stack, classes: int, generator: torch.Generator) -> _Tuned:
    copies = {
        name: p.detach().clone(memory_format=torch.contiguous_format)
        for name, p in stack.parameters.items()
    }
    heads = new_heads(len(stack), stack.plan.width, classes, generator, copies["bias"])
    tuned = _Tuned(Stack(stack.plan, copies), heads)
    for p in tuned.parameters:
        p.requires_grad_()
    return tuned


def _gradients(tuned: _Tuned, tokens: Tensor, labels: Tensor, rows: Tensor) -> tuple[Tensor, ...]:
    with torch.enable_grad():
        total = _losses(tuned.logits(tokens[rows]), labels[rows]).sum()
        return contiguous_gradients(total, tuned.parameters)


def _losses(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of each network, in nats."""
    each = F.cross_entropy(logits.flatten(0, 1), labels.repeat(len(logits)), reduction="none")
    return each.view(len(logits), -1).mean(1)
