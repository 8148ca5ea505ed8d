"""Downstream accuracy of a masked language model by a linear probe on its features."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ntpcompanion.checks import Count, NotNegative, Positive, Size, checked, need
from ntpcompanion.mlm.data.labelled_examples import Accuracy, LabelledExamples, accuracy_of
from ntpcompanion.mlm.probes.feature_scaling import Scaling, scaled
from ntpcompanion.networks.build_network import INITIAL_DEVIATION

ROWS = 1024  # at a time where nothing is learned
Forward = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
@checked
class ProbePlan:
    """How a head is trained: cross-entropy, AdamW, each epoch in a new order.

    Fields
    ------
    learning_rate, warmup
        rate, and over how many steps it rises linearly from 0; constant afterwards.
    epochs, batch_size
        passes over the examples, and how many make a step.
    weight_decay
        of all trained parameters.
    scaling
        coordinates of the features of a probe, "none", "standardized" or "whitened" (see `scaled`).
        AdamW is not indifferent to them: without a scaling, conditionals of 1/200 learn more slowly
        than outputs of a LayerNorm.

    Raises
    ------
    ValueError
        a number out of its range, or an unknown scaling.

    Notes
    -----
    Liu et al. 2023, appendix A.3: rate 1e-3 and 100 epochs for a probe (the defaults); 1e-4, 10
    epochs and 200 steps of warm-up for fine-tuning (FINE_TUNING). It says nothing of the rest:
    batches of 512 and 128 are those of its code, 0.01 the default of PyTorch, standardizing and the
    constant rate are our choice.
    """

    learning_rate: Positive = 1e-3
    epochs: Size = 100
    batch_size: Size = 512
    warmup: Count = 0
    weight_decay: NotNegative = 0.01
    scaling: Scaling = "standardized"

    def rate_at(self, step: int) -> float:
        """The learning rate of step 1, 2, …."""
        return self.learning_rate * min(1.0, step / max(1, self.warmup))


FINE_TUNING = ProbePlan(learning_rate=1e-4, epochs=10, batch_size=128, warmup=200, scaling="none")


@dataclass(frozen=True)
class ProbeResult:
    """What a trained head does: accuracy on the examples kept for the test; accuracy and loss in
    nats on those it was trained on.
    """

    accuracy: Accuracy
    training_accuracy: float
    training_loss: float


@checked(
    need("train", "train.inputs.is_floating_point()", "have features for `inputs`"),
    need(
        "test",
        "(train.classes, train.inputs.shape[1:]) == (test.classes, test.inputs.shape[1:])",
        "have the classes and the columns of `train`",
    ),
    need("train", "(train.labels != train.labels[0]).any()", "have examples of several classes"),
)
def linear_probe(
    train: LabelledExamples, test: LabelledExamples, plan: ProbePlan, generator: torch.Generator
) -> ProbeResult:
    """Train a linear head on features and measure it on others.

    Parameters
    ----------
    train, test
        features (n, d) with labels, as `Task.with_inputs` makes them.
    plan
        how the head is trained.
    generator
        draws the first weights and the order.

    Returns
    -------
    ProbeResult
        accuracy on `test` with its standard error; accuracy and loss on `train`.

    Raises
    ------
    ValueError
        examples of different sizes, training labels of one class only, or an argument of another
        kind.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import linear_probe
    >>> from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
    >>> from ntpcompanion.mlm.probes.probe import ProbePlan
    >>> features = torch.tensor([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 6.0]]).repeat(10, 1)
    >>> examples = LabelledExamples(features, torch.tensor([0, 0, 1, 1]).repeat(10), classes=2)
    >>> plan, generator = ProbePlan(learning_rate=0.1), torch.Generator().manual_seed(0)
    >>> linear_probe(examples, examples, plan, generator).accuracy
    Accuracy(value=1.0, stderr=0.0)
    """
    train, test = _in_coordinates(train, test, plan.scaling)
    head = _new_head(train.inputs.shape[1], train, generator, train.inputs.dtype)

    def forward(rows: Tensor) -> Tensor:
        return F.linear(rows, *head)

    _fit(forward, head, train, plan, generator)
    return _measured(forward, train, test)


def _in_coordinates(
    train: LabelledExamples, test: LabelledExamples, scaling: Scaling
) -> list[LabelledExamples]:
    both = scaled(train.inputs, test.inputs, scaling)
    return [
        replace(examples, inputs=inputs)
        for examples, inputs in zip((train, test), both, strict=True)
    ]


def _new_head(
    columns: int, train: LabelledExamples, generator: torch.Generator, dtype: torch.dtype
) -> list[Tensor]:
    """Weight N(0, 0.02²) and bias 0 of a linear map to the classes, beside the inputs."""
    weight = INITIAL_DEVIATION * torch.randn(
        train.classes, columns, generator=generator, device=generator.device
    )
    where = {"device": train.inputs.device, "dtype": dtype}
    return [
        weight.to(**where).requires_grad_(),
        torch.zeros(train.classes, **where, requires_grad=True),
    ]


def _fit(
    forward: Forward,
    parameters: list[Tensor],
    train: LabelledExamples,
    plan: ProbePlan,
    generator: torch.Generator,
) -> None:
    optimizer = torch.optim.AdamW(
        parameters, plan.learning_rate, weight_decay=plan.weight_decay, fused=True
    )
    step = 0
    for _ in range(plan.epochs):
        order = torch.randperm(len(train.labels), generator=generator, device=generator.device).to(
            train.labels.device
        )
        for rows in order.split(plan.batch_size):
            step += 1
            for group in optimizer.param_groups:
                group["lr"] = plan.rate_at(step)
            optimizer.zero_grad()
            F.cross_entropy(forward(train.inputs[rows]), train.labels[rows]).backward()
            optimizer.step()


@torch.no_grad()
def _guesses(forward: Forward, examples: LabelledExamples) -> tuple[Tensor, float]:
    """Which guesses are right, and the mean loss."""
    parts = []
    for inputs, labels in zip(
        examples.inputs.split(ROWS), examples.labels.split(ROWS), strict=True
    ):
        logits = forward(inputs)
        parts.append(
            (logits.argmax(1) == labels, F.cross_entropy(logits, labels, reduction="none"))
        )
    right, losses = (torch.cat(column) for column in zip(*parts, strict=True))
    return right, float(losses.double().mean())


def _measured(forward: Forward, train: LabelledExamples, test: LabelledExamples) -> ProbeResult:
    right, loss = _guesses(forward, train)
    if not math.isfinite(loss):
        raise FloatingPointError(f"The training loss of the head is {loss}. Lower `learning_rate`.")
    return ProbeResult(accuracy_of(_guesses(forward, test)[0]), float(right.double().mean()), loss)
