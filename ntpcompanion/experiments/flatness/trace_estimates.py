"""Where is the paper's estimate of a trace biased, and is it cheap? Has one function one trace?"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Annotated

import numpy as np
import pandas as pd
import torch
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.flatness.valley_models import PROBABILITY, coin, network
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.flatness.fisher_bias import fisher_bias
from ntpcompanion.flatness.hessian import FlatModule
from ntpcompanion.flatness.toy_models import ToyModel
from ntpcompanion.flatness.trace_estimators import (
    TraceEstimate,
    exact_trace,
    fisher_trace,
    hutchinson_trace,
)
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate, mean_effect

NEAR = 3e-3  # displacement up to which the order of the bias is measured
WORDS, WIDTH, POSITIONS = 50, 32, 16  # of the network on which costs are compared


class Plan(experiment.Plan):
    """Estimates at a minimizer of a masked network, and exact traces beside it."""

    hidden: Annotated[int, Field(ge=16, description="hidden units of the network")] = 24
    directions: Annotated[int, Field(ge=2, description="in which parameters are displaced")] = 8
    inputs: Annotated[int, Field(ge=100, description="sentences of an estimate")] = 8000
    seed: Annotated[int, Field(ge=0, description="of networks, inputs and labels")]


class Biased(experiment.Result):
    """The traces at one displaced point."""

    size: Annotated[float, Field(description="displacement, of each parameter")]
    direction: Annotated[int, Field(description="number, from 0")]
    excess: Annotated[float, Field(description="loss above the entropy (nats)")]
    bias: Annotated[float, Field(description="trace of the Hessian less that of the Fisher")]
    bound: Annotated[float, Field(description="on the bias, by Pinsker's inequality")]


class Estimated(experiment.Result):
    """One estimate of a trace."""

    estimate: str
    trace: float
    error: Annotated[float, Field(description="standard error; 0: exact")]
    draws: Annotated[int, Field(description="independent ones; 0: exact")]
    seconds: float


class Written(experiment.Result):
    """The function with the logit log 4, written with one a and b."""

    a: float
    trace: float


class Result(experiment.Result):
    """All traces."""

    parameters: Annotated[int, Field(description="of the masked network")]
    biases: tuple[Biased, ...]
    estimates: Annotated[
        tuple[Estimated, ...], Field(description="exact, the paper's, Hutchinson's")
    ]
    costs: Annotated[tuple[Estimated, ...], Field(description="on a larger network at the floor")]
    written: tuple[Written, ...]

    @property
    def bias_table(self) -> pd.DataFrame:
        """A row for each displaced point."""
        return table_of(self.biases)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each estimate at the minimizer."""
        table = table_of(self.estimates).drop(columns="seconds")
        draws = table.draws.astype("Int64").where(table.draws > 0)
        return table.assign(draws=draws).set_index("estimate")

    @property
    def cost_table(self) -> pd.DataFrame:
        """A row for each estimate on the larger network."""
        table = table_of(self.costs).drop(columns="draws")
        table["relative variance × seconds"] = (table.error / table.trace) ** 2 * table.seconds
        return table.rename(columns={"error": "standard error"}).set_index("estimate")

    @property
    def written_table(self) -> pd.DataFrame:
        """A row for each a."""
        return table_of(self.written)

    @property
    def ratio(self) -> Effect:
        """The paper's estimate over the exact trace, at the minimizer."""
        exact, paper = self.estimates[:2]
        return estimate(paper.trace / exact.trace, paper.error / exact.trace, paper.draws)

    @property
    def order(self) -> Effect:
        """Power of the excess loss in the bias near the minimizer."""
        near = self.bias_table[self.bias_table["size"] < NEAR]
        logs = near.assign(excess=np.log(near.excess), bias=np.log(near.bias.abs()))
        parts = [part for _, part in logs.groupby("direction")]
        return mean_effect([np.polyfit(part.excess, part.bias, 1)[0] for part in parts])

    def bias_at(self, excess: float) -> float:
        """The bias at an excess loss, between the medians over directions of each size."""
        middle = self.bias_table.abs().groupby("size")[["excess", "bias"]].median()
        return float(np.exp(np.interp(np.log(excess), *np.log(middle.to_numpy().T))))


def run(plan: Plan) -> Result:
    """Estimate the trace of the Hessian of a masked network at a minimizer, compute it beside, and
    time the estimates on a larger network.

    Returns traces, biases and standard errors. Seconds differ from run to run. Cost 0.1 s for each
    displaced point of 24 hidden units.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import trace_estimates
    >>> plan = trace_estimates.Plan(hidden=16, directions=2, inputs=500, seed=0)
    >>> result = trace_estimates.run(plan)
    >>> abs(result.ratio.mean - 1) < 5 * result.ratio.stderr, round(result.order.mean, 2)
    (True, 0.5)
    """
    toy = network(plan.seed, "network", plan.hidden)
    generator = torch.Generator().manual_seed(plan.seed)
    return Result(
        parameters=len(toy.start),
        biases=tuple(_biases(plan, toy)),
        estimates=tuple(_timed(_estimates(plan, toy, generator))),
        costs=tuple(_timed(_larger(plan.seed, generator))),
        written=tuple(_written()),
    )


def _biases(plan: Plan, toy: ToyModel) -> Iterator[Biased]:
    rng = stream(plan.seed, "displaced")
    directions = torch.tensor(rng.normal(size=(plan.directions, len(toy.start))))
    for size in np.geomspace(1e-4, 0.3, 9):
        for number, direction in enumerate(directions):
            point = fisher_bias(toy.model, toy.start + size * direction)
            numbers = {"excess": point.excess, "bias": point.bias, "bound": point.bound}
            yield Biased(size=size, direction=number, **numbers)


Estimates = dict[str, Callable[[], TraceEstimate]]


def _estimates(plan: Plan, toy: ToyModel, generator: torch.Generator) -> Estimates:
    model = toy.model
    frequencies = model.weight / model.weight.sum()
    rng = stream(plan.seed, "inputs")
    inputs = torch.tensor(rng.choice(len(frequencies), plan.inputs, p=frequencies))

    def logits(theta: Tensor, rows: Tensor) -> Tensor:
        return model.logits(theta)[rows]

    labels = {"labels_per_input": 5, "generator": generator}
    return {
        "exact": partial(exact_trace, model.loss, toy.start),
        "the paper's": partial(fisher_trace, logits, toy.start, inputs, **labels),
        "Hutchinson's": partial(
            hutchinson_trace, model.loss, toy.start, probes=2000, generator=generator
        ),
    }


def _larger(seed: int, generator: torch.Generator) -> Estimates:
    """Estimates for a network that is its own true distribution."""
    rng = stream(seed, "deep")
    torch.manual_seed(int(rng.integers(2**31)))
    net = FlatModule(
        torch.nn.Sequential(
            torch.nn.Embedding(WORDS + 1, WIDTH),
            torch.nn.Flatten(),
            torch.nn.Linear(POSITIONS * WIDTH, 64),
            torch.nn.Tanh(),
            torch.nn.Linear(64, WORDS),
        )
    )
    theta, tokens = net.theta, torch.tensor(rng.integers(WORDS + 1, size=(256, POSITIONS)))
    truth = net(theta, tokens).softmax(1).detach()

    def loss(theta: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(net(theta, tokens), truth)

    labels = partial(fisher_trace, net, theta, tokens, generator=generator)
    return {
        "the paper's, 1 label": partial(labels, labels_per_input=1),
        "the paper's, 10 labels": partial(labels, labels_per_input=10),
        "Hutchinson's, 20 probes": partial(
            hutchinson_trace, loss, theta, probes=20, generator=generator
        ),
    }


def _timed(estimates: Estimates) -> Iterator[Estimated]:
    for name, compute in estimates.items():
        begun = time.perf_counter()
        trace = compute()
        yield Estimated(
            estimate=name,
            trace=trace.value,
            error=trace.stderr,
            draws=trace.samples,
            seconds=time.perf_counter() - begun,
        )


def _written() -> Iterator[Written]:
    loss, logit = coin().model.loss, np.log(PROBABILITY / (1 - PROBABILITY))
    for a in np.geomspace(0.4, 4, 9):
        yield Written(a=a, trace=exact_trace(loss, torch.tensor([a, logit / a])).value)
