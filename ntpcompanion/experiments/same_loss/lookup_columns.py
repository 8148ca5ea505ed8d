"""Which columns a lookup table would need: probes on exact probabilities, on their logarithms, and
with the words of the sentence beside them.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated

import pandas as pd
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor
from torch.nn.functional import one_hot

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.same_loss.plan_fields import NamedLanguage
from ntpcompanion.experiments.same_loss.study_suite import StudySuite, SuitePlan, draw_study_suite
from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.data.special_tokens import padded_to
from ntpcompanion.mlm.evaluation.lookup_table import lookup_features
from ntpcompanion.mlm.probes.converged_probe import full_probe
from ntpcompanion.randomness import torch_stream
from ntpcompanion.recorded import Run
from ntpcompanion.validation import check_instance

MIN_PROBABILITY = 1e-12  # a probability of 0, as of padding, has no logarithm
# from the lookup table of the paper to what a probe on a network reads
PARTS = {
    "words": ("words",),
    "Pr": ("Pr",),
    "log Pr": ("log Pr",),
    "Pr, words": ("Pr", "words"),
    "log Pr, words": ("log Pr", "words"),
}


class Plan(experiment.Plan):
    """The examples of a study's first task, and the probe that reads all columns."""

    language: Annotated[
        NamedLanguage, Field(description="a key of LANGUAGE_PLANS, or the fields of one plan")
    ]
    suite: Annotated[SuitePlan, Field(description="as of the study; its first place is probed")]
    suite_seed: Annotated[int, Field(ge=0, description="of the examples and the split")] = 0


class Result(experiment.Result):
    """Mean exact posterior of the state that a converged probe names, between 0 and 1."""

    accuracy: Annotated[dict[str, float], Field(description="by the names of PARTS")]
    bayes: Annotated[float, Field(description="of the exact posterior")]


def run(plan: Plan) -> Result:
    """Probe the exact conditional distributions, their logarithms and the words on all columns.

    A softmax model whose decoder is the identity has the features log Pr, and the same least loss
    as one whose features are Pr; what a network reads of an unmasked sentence also holds its words.

    Returns accuracies on the test examples, all with the same split of the training examples. With
    the suite and seed of a study, `accuracy["Pr"]` and `accuracy["words"]` are the references of
    that study. Cost 45 s on one core at the sizes of the records.

    Raises
    ------
    ValueError
        a plan of another experiment, or of a task that the language does not have.

    Examples
    --------
    >>> from ntpcompanion.experiments import SuitePlan
    >>> from ntpcompanion.experiments.same_loss import lookup_columns
    >>> from ntpcompanion.mlm import ConvergedProbe, HMMPlan
    >>> probe = ConvergedProbe(dims=4, draws=1, shots=20, subsets=1, ridges=(0.01,))
    >>> suite = SuitePlan((1,), (200, 200), sentences=100, inputs=20, labels=1, probe=probe)
    >>> language = HMMPlan(states=2, words=6, length=4, emission=0.1)
    >>> found = lookup_columns.run(lookup_columns.Plan(language=language, suite=suite))
    >>> max(found.accuracy.values()) <= found.bayes + 0.01
    True
    """
    check_instance("plan", plan, Plan)
    language = plan.language.build()
    suite = draw_study_suite(
        language, plan.language.length, plan.suite, plan.suite_seed, torch.device("cpu")
    )
    return Result(
        accuracy=probed_columns(language, suite),
        bayes=suite.tasks[plan.suite.places[0]].bayes.value,
    )


def probed_columns(language: Language, suite: StudySuite) -> dict[str, float]:
    """Accuracies on the first task of a suite, by the names of PARTS."""
    return {name: _probed(_columns(language, name, suite.positions), suite) for name in PARTS}


def _probed(columns: Callable[[Tensor], Tensor], suite: StudySuite) -> float:
    position = suite.plan.places[0]
    task = suite.tasks[position]
    train, test = (columns(part.inputs)[None] for part in (task.train, task.test))
    inputs = train, task.train.labels, test, task.test_posterior
    split = torch_stream(suite.seed, f"probes {position}")  # that of the study
    return float(full_probe(*inputs, suite.plan.probe, split))


def _columns(
    language: Language, name: str, positions: int
) -> Callable[[Tensor], Float[Tensor, "n columns"]]:
    kinds: dict[str, Callable[[Tensor], Tensor]] = {
        "Pr": partial(lookup_features, language, positions=positions),
        "log Pr": lambda x: (
            lookup_features(language, x, positions).clamp_min(MIN_PROBABILITY).log()
        ),
        "words": lambda x: (
            one_hot(padded_to(x, positions) + 1, language.vocab_size + 1).flatten(1).float()
        ),
    }
    return lambda tokens: torch.cat([kinds[part](tokens) for part in PARTS[name]], 1)


def accuracy_table(tasks: Iterable[Run[Plan, Result]]) -> pd.DataFrame:
    """Recorded accuracies in per cent, a row for each task under the `states` of its language, a
    column for each of PARTS and one for the "exact posterior".
    """
    rows = []
    for task in tasks:
        states = getattr(task.plan.language, "states", None)  # None: a grammar
        accuracy, bayes = task.result.accuracy, task.result.bayes
        rows.append({"states": states, **accuracy, "exact posterior": bayes})
    return 100 * pd.DataFrame(rows).set_index("states")
