"""The sentences that every model of a study is measured on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.mlm.data.downstream_tasks import PosteriorTask, draw_task, with_posteriors
from ntpcompanion.mlm.data.mlm_checks import as_integers
from ntpcompanion.mlm.evaluation.evaluate import TestSet, draw_test_set
from ntpcompanion.mlm.probes.converged_probe import ConvergedProbe
from ntpcompanion.mlm.probes.probe_plan import ProbePlan
from ntpcompanion.randomness import torch_stream
from ntpcompanion.validation import as_integer, check_instance

# models that are measured together, and examples of each whose gradients are: a GPU has the memory
# and waits for fewer calls, the caches of a CPU hold no more
MODELS_PER_BATCH = {"cpu": (4, 128), "cuda": (80, 1024)}


@dataclass(frozen=True)
class SuitePlan:
    """How much is drawn for each measurement.

    Fields
    ------
    places, examples
        positions of the tasks, see `draw_task`; how many of each to train on and to test on.
    sentences
        for the distance from the floor.
    inputs, labels
        of the traces: so many of these sentences, and labels drawn for each.
    probe
        how features are probed.
    heads
        linear heads as in Liu et al. 2023, trained for a number of epochs; None leaves them out.
    tuning
        fine-tuning on the first task; None leaves it out.

    Raises
    ------
    ValueError
        a number out of its range, more inputs of the traces than sentences, a probe of another
        kind.

    Examples
    --------
    >>> from ntpcompanion.experiments import SuitePlan
    >>> SuitePlan(places=(2, 5), sentences=1000).examples
    Traceback (most recent call last):
    ValueError: `inputs` must be at most the 1000 `sentences`, got 2000.
    >>> SuitePlan(places=(2, 5), sentences=1000, inputs=500).examples
    (8000, 8000)
    """

    places: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    examples: tuple[Annotated[int, Field(ge=20)], Annotated[int, Field(ge=20)]] = (8000, 8000)
    sentences: Annotated[int, Field(ge=100)] = 10_000
    inputs: Annotated[int, Field(ge=2)] = 2000
    labels: Annotated[int, Field(ge=1)] = 2
    probe: ConvergedProbe = field(default_factory=ConvergedProbe)
    heads: ProbePlan | None = None
    tuning: ProbePlan | None = None

    def __post_init__(self) -> None:
        if not as_integers("places", self.places, 1):
            raise ValueError(f"`places` must hold at least one position, got {self.places}.")
        if len(as_integers("examples", self.examples, 20)) != 2:
            raise ValueError(
                "`examples` must be two numbers, to train on and to test on, got "
                f"{len(self.examples)}."
            )
        for name, minimum in (("sentences", 100), ("inputs", 2), ("labels", 1)):
            as_integer(name, getattr(self, name), minimum)
        check_instance("probe", self.probe, ConvergedProbe)
        for name in ("heads", "tuning"):
            if getattr(self, name) is not None:
                check_instance(name, getattr(self, name), ProbePlan)
        if self.inputs > self.sentences:
            raise ValueError(
                f"`inputs` must be at most the {self.sentences} `sentences`, got {self.inputs}."
            )


@dataclass(frozen=True, eq=False)
class StudySuite:
    """The sentences that all models of a study share."""

    plan: SuitePlan
    positions: int
    test: TestSet
    uniforms: Float[Tensor, "inputs labels"]
    tasks: Mapping[int, PosteriorTask]
    seed: int

    @property
    def traced(self) -> tuple[Tensor, Tensor]:
        """The sentences of the traces, and their masked positions."""
        return self.test.tokens[: self.plan.inputs], self.test.positions[: self.plan.inputs]


def draw_study_suite(
    language: HMM | PCFG, positions: int, plan: SuitePlan, seed: int, device: torch.device
) -> StudySuite:
    """Draw the test set and the tasks, on `device`. Raises ValueError as `draw_task`."""
    tasks = {}
    for position in plan.places:
        generator = torch_stream(seed, f"task {position}", device)
        drawn = draw_task(language, position, *plan.examples, positions, generator)
        tasks[position] = with_posteriors(drawn, language, position)
    generator = torch_stream(seed, "labels of traces", device)
    return StudySuite(
        plan,
        positions,
        draw_test_set(language, plan.sentences, positions, seed, device),
        torch.rand(plan.inputs, plan.labels, generator=generator, device=device),
        tasks,
        seed,
    )
