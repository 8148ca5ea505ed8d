"""What changes the trace of a small trained network and not its outputs: rescalings, other
symmetries, and the copy of the network inside a larger one.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.experiments.same_loss.downstream import Seed
from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.trace_estimators import fisher_trace, hutchinson_trace
from ntpcompanion.mlm.curvature.function_trace import function_traces
from ntpcompanion.mlm.curvature.rescaling import rescale, scale_names
from ntpcompanion.mlm.curvature.squared_gradients import (
    OneMask,
    population_loss,
    squares_by_group,
)
from ntpcompanion.mlm.curvature.symmetries import identity, random_symmetry, transform
from ntpcompanion.mlm.curvature.traces import measured_traces
from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.mlm.evaluation.evaluate import TestSet, draw_test_set
from ntpcompanion.mlm.training.distributed import checked_device
from ntpcompanion.mlm.training.enlarge import enlarge
from ntpcompanion.mlm.training.stacked_training import trained_stack
from ntpcompanion.mlm.training.training_plan import TrainingPlan
from ntpcompanion.networks.language_model import LanguageModel
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.networks.stack import Stack, initial_stack
from ntpcompanion.randomness import torch_stream
from ntpcompanion.statistics.effects import Effect, mean_effect

SCALES = {  # ends of the names of free scales
    "query": "queries, keys",
    "value": "values, outputs",
    "attention_norm": "gains of attention",
    "mlp_norm": "gains of MLPs",
    "residual stream": "residual stream",
    "last_norm": "last gain, embeddings",
}
SYMMETRIES: dict[str, tuple[str, ...]] = {  # fields of a symmetry
    "none": (),
    "scales of stream, embeddings": ("stream", "embedding"),
    "gains of columns": ("gains",),
    "maps of heads": ("query_map", "value_map"),
    "shifts in layers": ("shifts", "value_shift"),
    "shift of last LayerNorm": ("last_shift",),
}
Scaling = Literal["released", "balanced"]  # of a network inside a larger one
SCALINGS: tuple[Scaling, ...] = ("released", "balanced")
FACTORS = 5  # of each kind of scale
SENTENCES = 20  # for squared gradients


class Plan(experiment.Plan):
    """Small networks trained to saturation, and what is done to them."""

    language: HMMPlan
    shape: TransformerSize
    training: TrainingPlan
    seeds: Annotated[
        tuple[Seed, ...],
        Field(min_length=2, description="of parameters and sentences; one network for each"),
    ]
    inputs: Annotated[int, Field(ge=20, description="sentences of a trace")]
    labels: Annotated[int, Field(ge=1, description="drawn for each of them")]
    probes: Annotated[int, Field(ge=2, description="random vectors of Hutchinson's estimate")]
    largest_scale: Annotated[float, Field(gt=1, description="of a rescaling")]
    factor: Annotated[int, Field(ge=2, description="how much wider the larger network is")]
    more_layers: Annotated[int, Field(ge=0, description="that it has besides")]
    seed: Annotated[int, Field(ge=0, description="of sentences, labels and symmetries")]
    device: Annotated[str, Field(description="as for torch")] = "cpu"


class Rescaled(experiment.Result):
    """Traces of the first network after a rescaling, over its plain trace before."""

    kind: Annotated[str, Field(description="key of SCALES")]
    factor: float
    plain: float
    balanced: float


class Transformed(experiment.Result):
    """The first network after a random symmetry; traces over those before."""

    symmetry: Annotated[str, Field(description="key of SYMMETRIES")]
    logit: Annotated[float, Field(description="largest change of a logit")]
    plain: float
    balanced: float
    function: float


class Embedded(experiment.Result):
    """Other estimates for a network, over its own trace with drawn labels."""

    released: Annotated[float, Field(description="inside a larger one, by the released code")]
    balanced: Annotated[float, Field(description="with gradients that do not depend on the width")]
    hutchinson: Annotated[float, Field(description="with exact conditionals, less 1")]


class Result(experiment.Result):
    """All traces."""

    rescaled: tuple[Rescaled, ...]
    transformed: tuple[Transformed, ...]
    embedded: tuple[Embedded, ...]
    weights_error: Annotated[
        float,
        Field(description="relative change of squared gradients of linear maps, released scaling"),
    ]

    def rescalings(self, trace: str) -> pd.DataFrame:
        """Multiples of a trace, a row for each kind of scale, a column for each factor."""
        table = table_of(self.rescaled)
        return table.pivot(index="kind", columns="factor", values=trace).loc[[*SCALES]]

    @property
    def symmetry_table(self) -> pd.DataFrame:
        """A row for each symmetry."""
        table = table_of(self.transformed).rename(columns={"logit": "change of a logit"})
        return table.rename(columns={name: f"{name}, times" for name in table.columns[2:]})

    def inside(self, estimate: str) -> Effect:
        """A field of `Embedded`, over networks."""
        return mean_effect([getattr(one, estimate) for one in self.embedded])


def run(plan: Plan) -> Result:
    """Train networks, and measure their traces in several descriptions of each.

    Returns multiples of traces. Cost 10 s for four networks of width 16 and 500 steps.

    Examples
    --------
    >>> import numpy as np
    >>> from ntpcompanion.experiments import network_traces
    >>> from ntpcompanion.mlm import HMMPlan, TrainingPlan
    >>> from ntpcompanion.networks import TransformerSize
    >>> plan = network_traces.Plan(
    ...     language=HMMPlan(states=2, words=6, length=4), shape=TransformerSize(8, 1, 2),
    ...     training=TrainingPlan(20, 32, weight_decay=0.0), seeds=(0, 1), inputs=20, labels=1,
    ...     probes=2, largest_scale=2.0, factor=2, more_layers=1, seed=0,
    ... )
    >>> traces = network_traces.run(plan)
    >>> round(float(np.ptp(traces.rescalings("balanced"))), 3)
    0.0
    """
    device, seeds = checked_device(plan.device), [*plan.seeds]
    language = plan.language.build(device)
    shape = plan.shape.for_sentences(plan.language.words, plan.language.length)
    untrained = initial_stack(shape, seeds, device, deviation=0.1)
    stack = trained_stack(untrained, plan.training, language, seeds, "live", labels="exact")
    drawn = draw_test_set(language, max(plan.inputs, 200), shape.positions, plan.seed, device)
    test = TestSet(
        *(part[: plan.inputs] for part in (drawn.tokens, drawn.positions, drawn.conditional))
    )
    generator = torch_stream(plan.seed, "labels of traces", device)
    uniforms = torch.rand(plan.inputs, plan.labels, generator=generator, device=device)
    small = [stack.model(row).double() for row in range(len(seeds))]
    larger = _larger(plan, small[:1], "released")
    squares = [squares_by_group(model, test.tokens[:SENTENCES]) for model in (small[0], *larger)]
    return Result(
        rescaled=tuple(_rescaled(plan, stack, test, uniforms)),
        transformed=tuple(_transformed(plan, stack, test, uniforms)),
        embedded=tuple(_embedded(plan, small, test)),
        weights_error=abs(squares[1]["weights"] / squares[0]["weights"] - 1),
    )


def _rescaled(plan: Plan, stack: Stack, test: TestSet, uniforms: Tensor) -> Iterator[Rescaled]:
    logs = np.linspace(-1, 1, FACTORS) * np.log(plan.largest_scale)
    names = scale_names(plan.shape.layers)
    moves = [(kind, log) for kind in SCALES for log in logs]
    rows = [[0.0] * len(names)]  # the network as it is
    rows += [[log * name.endswith(kind) for name in names] for kind, log in moves]
    scales = torch.tensor(rows).to(uniforms.device)
    copies = stack.take([0] * len(scales)).parameters
    moved = rescale({name: p.double() for name, p in copies.items()}, scales)
    traces = measured_traces(stack.network, moved, test.tokens, test.positions, uniforms)
    plain, balanced = (
        (values / traces.plain[0]).tolist() for values in (traces.plain, traces.balanced)
    )
    for (kind, log), *multiples in zip(moves, plain[1:], balanced[1:], strict=True):
        yield Rescaled(kind=kind, factor=np.exp(log), plain=multiples[0], balanced=multiples[1])


def _transformed(
    plan: Plan, stack: Stack, test: TestSet, uniforms: Tensor
) -> Iterator[Transformed]:
    first = {name: p[:1].double().cpu() for name, p in stack.parameters.items()}
    generator = torch_stream(plan.seed, "planted symmetries")
    drawn = random_symmetry(first, plan.shape.heads, 1.0, generator)
    none = identity(first, plan.shape.heads)
    changed = [
        transform(first, replace(none, **{name: getattr(drawn, name) for name in fields}))
        for fields in SYMMETRIES.values()
    ]
    planted = {n: torch.cat([copy[n] for copy in changed]).to(uniforms.device) for n in first}
    logits = Stack(stack.plan, planted).logits(test.tokens, test.positions)
    change = (logits - logits[0]).abs().flatten(1).amax(1).tolist()
    measured = stack.network, planted, test.tokens, test.positions, uniforms
    traces, function = measured_traces(*measured), function_traces(*measured).value
    columns = {"plain": traces.plain, "balanced": traces.balanced, "function": function}
    for row, symmetry in enumerate(SYMMETRIES):
        multiples = {name: float(x[row] / x[0]) for name, x in columns.items()}
        yield Transformed(symmetry=symmetry, logit=change[row], **multiples)


def _larger(plan: Plan, small: list[LanguageModel], scaling: Scaling) -> list[LanguageModel]:
    size = plan.shape
    large = TransformerSize(
        plan.factor * size.width, size.layers + plan.more_layers, plan.factor * size.heads
    ).for_sentences(plan.language.words, plan.language.length)
    return [enlarge(model, large, scaling) for model in small]


def _embedded(plan: Plan, small: list[LanguageModel], test: TestSet) -> Iterator[Embedded]:
    def fisher(model: LanguageModel) -> float:  # with the same labels for models of one function
        flat = FlatModule(OneMask(model))
        generator = torch_stream(plan.seed, "labels of the Fisher trace")
        sample = {"labels_per_input": plan.labels, "generator": generator}
        return fisher_trace(flat, flat.theta, test.tokens, **sample).value

    inside = {s: [fisher(model) for model in _larger(plan, small, s)] for s in SCALINGS}
    for row, model in enumerate(small):
        before, flat = fisher(model), FlatModule(OneMask(model))

        def loss(theta: Tensor, flat: FlatModule = flat) -> Tensor:
            return population_loss(flat(theta, test.tokens), test)

        estimate = hutchinson_trace(
            loss,
            flat.theta,
            probes=plan.probes,
            generator=torch_stream(plan.seed + row, "vectors of Hutchinson's estimate"),
        )
        ratios = {scaling: values[row] / before for scaling, values in inside.items()}
        yield Embedded(hutchinson=estimate.value / before - 1, **ratios)
