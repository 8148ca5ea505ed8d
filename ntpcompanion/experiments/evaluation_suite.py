"""What every pre-trained model of one language is measured with: distance from the exact
conditionals, flatness, accuracy downstream.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
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
from ntpcompanion.mlm.one_mask import OneMask, population_loss
from ntpcompanion.mlm.probe import ProbePlan, extract_features, fine_tune, probe_over_seeds
from ntpcompanion.mlm.ridge import ridge_accuracy
from ntpcompanion.mlm.tasks import Task, draw_task
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.randomness import torch_stream

RIDGE = 1e-9  # of the ridge probes


@dataclass(frozen=True)
class EvaluationPlan:
    """How much is drawn for each measurement.

    Fields
    ------
    inputs, labels
        of the Fisher trace: so many of the test sentences, so many labels for each (Liu et al.
        2023: 10,000 and 50).
    probes
        random vectors of Hutchinson's estimate; 0 leaves it out.
    probe_seeds
        with which trained heads are repeated, two or more.
    """

    inputs: Annotated[int, Field(ge=1)] = 1000
    labels: Annotated[int, Field(ge=1)] = 5
    probes: Annotated[int, Field(ge=0)] = 0
    probe_seeds: Annotated[tuple[int, ...], Field(min_length=2)] = (0, 1)


@dataclass(frozen=True, eq=False)
class EvaluationSuite:
    """What models of one language are measured with, all of them with the same.

    Fields
    ------
    test
        for the distance from the exact conditionals, and for the traces.
    tasks
        the downstream tasks by place.
    probe
        how linear heads are trained.
    plan
        how much is drawn.
    seed
        of the labels and random vectors of the traces, the same for every model: differences
        between models then have less noise.

    Raises
    ------
    ValueError
        more inputs than there are test sentences.
    """

    test: TestSet
    tasks: Mapping[int, Task]
    probe: ProbePlan
    plan: EvaluationPlan
    seed: int

    def __post_init__(self) -> None:
        if self.plan.inputs > (sentences := len(self.test.tokens)):
            raise ValueError(
                f"`inputs` must be at most the {sentences} test sentences, got "
                f"{self.plan.inputs}. Draw more sentences."
            )


@dataclass(frozen=True)
class Heads:
    """What linear heads make of features on one task: trained as the plan of the probe says, over
    its seeds, and in closed form.
    """

    trained: SeedsResult
    closed_form: Accuracy


@dataclass(frozen=True, kw_only=True)
class Measurements:
    """What a suite finds of one model.

    Fields
    ------
    entropy, kl, kl_stderr, saturated
        in nats, see `Evaluation`.
    fisher, fisher_stderr
        trace of the Hessian by labels that the model draws, and its standard error over sentences.
    hutchinson, hutchinson_stderr
        the same by random vectors, and its standard error over these; None if it was left out.
    accuracies
        of trained linear heads by place, one for each seed.
    closed_form
        of ridge probes by place.
    """

    entropy: float
    kl: float
    kl_stderr: float
    saturated: bool
    fisher: float
    fisher_stderr: float
    accuracies: dict[int, tuple[float, ...]]
    closed_form: dict[int, float]
    hutchinson: float | None = None
    hutchinson_stderr: float | None = None


@dataclass(frozen=True)
class ReferenceAccuracies:
    """What accuracies on one task are compared with.

    Fields
    ------
    chance, bayes
        of the most common label, and what no guess can exceed.
    lookup, words
        of trained heads on the exact conditionals and on the words themselves, one for each seed.
    lookup_closed_form, words_closed_form
        of ridge probes on the same.
    """

    chance: float
    bayes: float
    lookup: tuple[float, ...]
    words: tuple[float, ...]
    lookup_closed_form: float
    words_closed_form: float


def draw_suite(
    language: HMM | PCFG,
    positions: int,
    places: Sequence[int],
    examples: Sequence[int],
    sentences: int,
    probe: ProbePlan,
    plan: EvaluationPlan,
    seed: int,
    device: torch.device | str = "cpu",
) -> EvaluationSuite:
    """Draw the tasks and the test sentences of a suite.

    Parameters
    ----------
    language
        with its tables on `device`.
    positions
        columns to which sentences are padded.
    places, examples
        of the tasks, see `draw_task`; how many examples each has to train on, and to test on.
    sentences
        of the test set.
    probe, plan
        see `EvaluationSuite`.
    seed
        of everything that is drawn.

    Raises
    ------
    ValueError
        as `draw_task`, `draw_test_set` and `EvaluationSuite`.
    """
    train, test = examples
    tasks = {
        place: draw_task(
            language, place, train, test, positions, torch_stream(seed, f"task {place}", device)
        )
        for place in places
    }
    drawn = draw_test_set(language, sentences, positions, seed, device)
    return EvaluationSuite(drawn, tasks, probe, plan, seed)


def measure_heads(
    suite: EvaluationSuite, features_of: Callable[[Tensor], Tensor]
) -> dict[int, Heads]:
    """Linear heads on `features_of(tokens)`, for every task by its place."""
    found = {}
    for place, task in suite.tasks.items():
        pair = task.with_inputs(features_of(task.train.inputs), features_of(task.test.inputs))
        found[place] = Heads(
            probe_over_seeds(*pair, suite.probe, suite.plan.probe_seeds),
            ridge_accuracy(*pair, RIDGE),
        )
    return found


def fisher_of(
    model: LanguageModel, suite: EvaluationSuite, generator: torch.Generator
) -> TraceEstimate:
    """The Fisher trace of a model on the first `inputs` test sentences (Liu et al. 2023, appendix
    B.1); the generator draws labels.
    """
    flat, tokens = FlatModule(OneMask(model)), suite.test.tokens[: suite.plan.inputs]
    labels = suite.plan.labels
    return fisher_trace(flat, flat.theta, tokens, labels_per_input=labels, generator=generator)


def hutchinson_of(
    model: LanguageModel, suite: EvaluationSuite, generator: torch.Generator
) -> TraceEstimate:
    """Hutchinson's estimate of tr ∇²L on the sentences of `fisher_of`, with the exact conditionals
    as labels; the generator draws random vectors.

    Its standard error is that of the random vectors alone: the sentences are the same. The
    difference of the two is what f ≠ Pr adds, beside the errors of both.
    """
    flat, test, n = FlatModule(OneMask(model)), suite.test, suite.plan.inputs
    some = TestSet(test.tokens[:n], test.at[:n], test.conditional[:n])

    def loss(theta: Tensor) -> Tensor:
        return population_loss(flat(theta, some.tokens), some)

    return hutchinson_trace(loss, flat.theta, probes=suite.plan.probes, generator=generator)


def labels_of(suite: EvaluationSuite) -> torch.Generator:
    """A new generator for the labels of a Fisher trace, the same for every model."""
    return torch_stream(suite.seed, "labels of the Fisher trace")


def measure_model(model: LanguageModel, suite: EvaluationSuite) -> Measurements:
    """Everything that a suite measures of a model."""
    evaluation = evaluate(model, suite.test)
    fisher = fisher_of(model, suite, labels_of(suite))
    hutchinson = None
    if suite.plan.probes:
        vectors = torch_stream(suite.seed, "vectors of Hutchinson's estimate")
        hutchinson = hutchinson_of(model, suite, vectors)
    heads = measure_heads(suite, lambda tokens: extract_features(model, tokens))
    return Measurements(
        entropy=evaluation.entropy,
        kl=evaluation.kl,
        kl_stderr=evaluation.kl_stderr,
        saturated=evaluation.saturated,
        fisher=fisher.value,
        fisher_stderr=fisher.stderr,
        hutchinson=hutchinson.value if hutchinson else None,
        hutchinson_stderr=hutchinson.stderr if hutchinson else None,
        accuracies={place: own.trained.accuracies for place, own in heads.items()},
        closed_form={place: own.closed_form.value for place, own in heads.items()},
    )


def fine_tuned(
    model: LanguageModel, suite: EvaluationSuite, place: int, plan: ProbePlan
) -> SeedsResult:
    """The accuracy after fine-tuning copies of a transformer on a task, over the seeds of the
    probe.
    """
    task = suite.tasks[place]
    return over_seeds(
        lambda generator: fine_tune(model, task.train, task.test, plan, generator).accuracy.value,
        suite.plan.probe_seeds,
    )


def reference_accuracies(
    language: Language, suite: EvaluationSuite
) -> dict[int, ReferenceAccuracies]:
    """What accuracies are compared with, by place: chance, Bayes, and heads on the exact
    conditionals and on the words themselves.
    """
    positions, words = suite.test.tokens.shape[1], language.vocab_size
    lookup = measure_heads(suite, lambda tokens: lookup_features(language, tokens, positions))
    plain = measure_heads(suite, lambda tokens: one_hot(tokens + 1, words + 1).flatten(1).float())
    return {
        place: ReferenceAccuracies(
            chance=chance_accuracy(task.test).value,
            bayes=task.bayes.value,
            lookup=lookup[place].trained.accuracies,
            words=plain[place].trained.accuracies,
            lookup_closed_form=lookup[place].closed_form.value,
            words_closed_form=plain[place].closed_form.value,
        )
        for place, task in suite.tasks.items()
    }
