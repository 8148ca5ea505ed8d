"""What a pre-trained model is measured with: distance from the exact conditionals, flatness,
accuracy downstream.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.trace import TraceEstimate, fisher_trace, hutchinson_trace
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.language import Language
from ntpcompanion.languages.pcfg import PCFG
from ntpcompanion.mlm.downstream import Accuracy, SeedsResult, chance_accuracy, over_seeds
from ntpcompanion.mlm.evaluate import TestSet, draw_test_set, evaluate
from ntpcompanion.mlm.lookup import lookup_features
from ntpcompanion.mlm.model import MaskedLM
from ntpcompanion.mlm.one_mask import OneMask, population_loss
from ntpcompanion.mlm.probe import ProbePlan, extract_features, fine_tune, probe_over_seeds
from ntpcompanion.mlm.ridge import ridge_accuracy
from ntpcompanion.mlm.tasks import Task, draw_task

RIDGE = 1e-9  # of the heads in closed form


@dataclass(frozen=True, eq=False)
class Yardstick:
    """What models of one language are measured with, all of them with the same.

    Fields
    ------
    test
        for the distance from the exact conditionals, and for the traces.
    tasks
        the downstream tasks by place.
    probe, probe_seeds
        how linear heads are trained, and with which seeds.
    inputs, labels
        of the Fisher trace: so many of the test sentences, so many labels for each (the paper:
        10,000 and 50).
    directions
        of Hutchinson's estimate; 0 leaves it out.

    Raises
    ------
    ValueError
        more inputs than there are test sentences.
    """

    test: TestSet
    tasks: Mapping[int, Task]
    probe: ProbePlan
    probe_seeds: Sequence[int] = (0, 1)
    inputs: int = 1000
    labels: int = 5
    directions: int = 0

    def __post_init__(self) -> None:
        if self.inputs > (sentences := len(self.test.tokens)):
            raise ValueError(
                f"`inputs` must be at most the {sentences} test sentences, got {self.inputs}. Draw "
                "more sentences."
            )


@dataclass(frozen=True)
class Heads:
    """What linear heads make of features on one task: trained as the plan of the probe says, over
    its seeds, and in closed form.
    """

    trained: SeedsResult
    closed_form: Accuracy


def draw_yardstick(
    language: HMM | PCFG,
    positions: int,
    places: Sequence[int],
    examples: Sequence[int],
    sentences: int,
    probe: ProbePlan,
    seed: int,
    device: torch.device | str = "cpu",
    **options: Any,
) -> Yardstick:
    """Tasks with `examples` to train on and to test on, and test sentences; `options` are the other
    fields of the Yardstick.

    Raises ValueError as `draw_task` and `draw_test_set`.
    """
    draws = {place: torch.Generator(device).manual_seed(1000 * seed + place) for place in places}
    tasks = {
        place: draw_task(language, place, *examples, positions, generator)
        for place, generator in draws.items()
    }
    return Yardstick(
        draw_test_set(language, sentences, positions, seed, device), tasks, probe, **options
    )


def probed(yardstick: Yardstick, features_of: Callable[[Tensor], Tensor]) -> dict[int, Heads]:
    """Linear heads on `features_of(tokens)`, for every task by its place."""
    found = {}
    for place, task in yardstick.tasks.items():
        pair = task.with_inputs(features_of(task.train.inputs), features_of(task.test.inputs))
        found[place] = Heads(
            probe_over_seeds(*pair, yardstick.probe, yardstick.probe_seeds),
            ridge_accuracy(*pair, RIDGE),
        )
    return found


def fisher_of(model: MaskedLM, yardstick: Yardstick) -> TraceEstimate:
    """The Fisher trace of a model on the first `inputs` test sentences (Liu et al. 2023, appendix
    B.1).
    """
    flat, draws = FlatModule(OneMask(model)), torch.Generator().manual_seed(0)
    tokens = yardstick.test.tokens[: yardstick.inputs]
    return fisher_trace(
        flat, flat.theta, tokens, labels_per_input=yardstick.labels, generator=draws
    )


def hutchinson_of(model: MaskedLM, yardstick: Yardstick) -> TraceEstimate:
    """Hutchinson's estimate of tr ∇²L on the sentences of `fisher_of`, with the exact conditionals
    as labels.

    Its standard error is that of the directions alone: the sentences are the same. The difference
    of the two is what f ≠ Pr adds, beside the errors of both.
    """
    flat, test, n = FlatModule(OneMask(model)), yardstick.test, yardstick.inputs
    some = TestSet(test.tokens[:n], test.at[:n], test.conditional[:n])

    def loss(theta: Tensor) -> Tensor:
        return population_loss(flat(theta, some.tokens), some)

    return hutchinson_trace(
        loss, flat.theta, probes=yardstick.directions, generator=torch.Generator().manual_seed(0)
    )


def measured(model: MaskedLM, yardstick: Yardstick) -> dict[str, Any]:
    """One row: distance from the exact conditionals, traces with standard errors, and by place what
    linear heads reach.

    `accuracies` has one for each seed of the probe, `closed_form` that of the head in closed form.
    """
    evaluation = evaluate(model, yardstick.test)
    row = {
        **asdict(evaluation),
        "saturated": evaluation.saturated,
        **value_and_error("fisher", fisher_of(model, yardstick)),
    }
    if yardstick.directions:
        row |= value_and_error("hutchinson", hutchinson_of(model, yardstick))
    found = probed(yardstick, lambda tokens: extract_features(model, tokens))
    accuracies = {str(place): list(heads.trained.accuracies) for place, heads in found.items()}
    return row | {
        "accuracies": accuracies,
        "closed_form": {str(place): heads.closed_form.value for place, heads in found.items()},
    }


def value_and_error(name: str, estimate: TraceEstimate) -> dict[str, float]:
    """An estimate as two columns of a row."""
    return {name: estimate.value, f"{name}_stderr": estimate.stderr}


def fine_tuned(model: MaskedLM, yardstick: Yardstick, place: int, plan: ProbePlan) -> SeedsResult:
    """The accuracy after fine-tuning copies of a transformer on a task, over the seeds of the
    probe.
    """
    task = yardstick.tasks[place]
    return over_seeds(
        lambda generator: fine_tune(model, task.train, task.test, plan, generator).accuracy.value,
        yardstick.probe_seeds,
    )


def reference_lines(language: Language, yardstick: Yardstick) -> dict[str, dict[str, Any]]:
    """What accuracies are compared with, by place: chance, Bayes, and heads on the exact
    conditionals and on the words themselves.

    Of the heads, `lookup` and `words` have an accuracy for each seed of the probe, `lookup, closed
    form` and `words, closed form` one.
    """
    positions, words = yardstick.test.tokens.shape[1], language.vocab_size
    features = {
        "lookup": lambda tokens: lookup_features(language, tokens, positions),
        "words": lambda tokens: one_hot(tokens + 1, words + 1).flatten(1).float(),
    }
    found = {name: probed(yardstick, features_of) for name, features_of in features.items()}
    return {
        str(place): {
            "chance": chance_accuracy(task.test).value,
            "bayes": task.bayes.value,
            **{name: list(heads[place].trained.accuracies) for name, heads in found.items()},
            **{
                f"{name}, closed form": heads[place].closed_form.value
                for name, heads in found.items()
            },
        }
        for place, task in yardstick.tasks.items()
    }
