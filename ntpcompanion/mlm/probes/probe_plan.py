"""How heads are trained on the features of a masked language model."""

from dataclasses import dataclass

from ntpcompanion.checks import Count, NotNegative, Positive, Size, checked
from ntpcompanion.mlm.probes.feature_scaling import Scaling


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
