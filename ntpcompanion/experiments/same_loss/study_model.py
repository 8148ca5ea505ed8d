"""What a study keeps of each model, and of each task."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskAccuracies:
    """Accuracies of converged probes on one task: the mean exact posterior of the guessed class.

    Fields
    ------
    full, projected, few_shot
        on the features of the sentence, see `ProbeAccuracies`.
    masked
        as `full`, on the vectors that the network computes at each position when the word there is
        masked. This and what follows is None where it was not measured.
    gradient_norm
        the largest at the end of a fit behind `full`, `projected` and `few_shot`.
    heads
        of a linear head trained for a number of epochs, as in Liu et al. 2023.
    halfway, tuned
        after half of the epochs of fine-tuning, and after all of them.
    """

    full: float
    projected: float
    few_shot: float
    gradient_norm: float
    masked: float | None = None
    heads: float | None = None
    halfway: float | None = None
    tuned: float | None = None


@dataclass(frozen=True)
class StudyModel:
    """Measurements of one model.

    Fields
    ------
    kind, strength
        what was done to it, and how much of it.
    seed, width
        of the pre-training; width of its vectors.
    excess, excess_stderr
        loss above the floor in nats, E KL(Pr ‖ f), and its standard error over sentences.
    trace, balanced
        T of the Hessian, estimated by labels that the model draws; and at its minimum over
        rescalings that do not change the function, see `balanced_trace`.
    slope, slope_stderr
        ‖∇_θ T‖² without bias, and its standard error; None where it was not measured.
    tasks
        accuracies by position; empty where none was measured.
    """

    kind: str
    strength: float
    seed: int
    width: int
    excess: float
    excess_stderr: float
    trace: float
    balanced: float
    tasks: dict[int, TaskAccuracies]
    slope: float | None = None
    slope_stderr: float | None = None


@dataclass(frozen=True)
class TaskReferences:
    """What the accuracies on one task are compared with.

    Fields
    ------
    chance, bayes
        of the best constant guess, and of the exact posterior.
    lookup, words
        of the same probes on the exact conditional distributions and on the words.
    """

    chance: float
    bayes: float
    lookup: TaskAccuracies
    words: TaskAccuracies
