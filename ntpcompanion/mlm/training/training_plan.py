"""How a masked language model is trained, as plain values that a record can hold."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from ntpcompanion.checks import Count, Fraction, NotNegative, Positive, Size, checked, need
from ntpcompanion.mlm.data.mlm_checks import as_integers


@dataclass(frozen=True)
@checked(
    need(
        "micro_batch",
        "batch_size % (micro_batch or batch_size) == 0",
        "divide `batch_size` = {batch_size}, or be 0 for all of it",
    )
)
class TrainingPlan:
    """How a model is trained: every step sees sentences that no other step has seen.

    Fields
    ------
    steps, batch_size
        number of updates, and of sentences in each.
    micro_batch
        sentences that one process takes at a time, 0 for all of them: gradients are summed over
        micro-batches (and over processes) before each update. It must divide `batch_size`. The
        sentences of a run depend on it.
    optimizer, learning_rate, betas, epsilon, weight_decay
        "adamw" (weight matrices decay, biases, gains and embeddings of positions do not) or "sgd"
        (without momentum or decay); the largest rate.
    warmup, schedule
        share of the steps in which the rate rises linearly from 0; what follows: "linear" to 0, or
        "constant".
    mask_share
        share of the words that is masked, rounded, at least one a sentence; 0 is the one mask of
        Liu et al. 2023, section 3.1. A masked word is always replaced by the mask symbol.
    precision
        "float32" or "bfloat16" (autocast: parameters and their updates stay in float32).
    compile
        whether torch.compile translates the model, which takes a minute and pays on a GPU.
    seed
        of the parameters, the sentences and the masks.

    Raises
    ------
    ValueError
        a number out of its range, named with its value.

    Notes
    -----
    Liu et al. 2023, appendix A.3: AdamW, batch 4096, more than 30,000 steps, rate 1e-3, warm-up
    0.06. Neither decay is stated: linear, 0.01 and β₂ = 0.98, ε = 1e-6 are those of its released
    example. Its SGD (B.2): warm-up 0.12, then a constant rate of 1e-3.

    Examples
    --------
    >>> from ntpcompanion.mlm import TrainingPlan
    >>> plan = TrainingPlan(steps=1000, batch_size=256, learning_rate=0.01)
    >>> [plan.rate_at(step) for step in (29, 59, 530)]  # rises for 60 steps, then falls to 0
    [0.005, 0.01, 0.005]
    """

    steps: Size
    batch_size: Size
    micro_batch: Count = 0
    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: Positive = 1e-3
    betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    epsilon: NotNegative = 1e-6
    weight_decay: NotNegative = 0.01
    warmup: Fraction = 0.06
    schedule: Literal["linear", "constant"] = "linear"
    mask_share: Fraction = 0.0
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    seed: Count = 0

    @property
    def micro_batches(self) -> int:
        """How many micro-batches make a batch."""
        return self.batch_size // (self.micro_batch or self.batch_size)

    def with_last(self, eval_steps: Collection[int]) -> set[int]:
        """The numbers of updates at which a run is evaluated, the last one included. Raises
        ValueError for one outside of the run, or what is not an integer.
        """
        eval_steps = as_integers("eval_steps", eval_steps)
        if outside := [stop for stop in eval_steps if not 0 <= stop <= self.steps]:
            raise ValueError(
                f"`eval_steps` must lie in 0 … {self.steps}, the `steps` of the plan, "
                f"got {outside}."
            )
        return {*eval_steps, self.steps}

    def rate_at(self, step: int) -> float:
        """The learning rate of update number `step` = 0, 1, … steps − 1."""
        rising = max(1, round(self.warmup * self.steps)) if self.warmup else 0
        if step < rising:
            return self.learning_rate * (step + 1) / rising
        if self.schedule == "constant":
            return self.learning_rate
        return self.learning_rate * (self.steps - step) / (self.steps - rising)
