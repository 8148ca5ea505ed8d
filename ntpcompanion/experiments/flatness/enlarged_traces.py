"""What of the trace of a small network does a larger one keep that holds it, and do printed sizes
fit?
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated

import pandas as pd
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.mlm.curvature.squared_gradients import fisher_by_parameter
from ntpcompanion.mlm.data.language_plans import HMMPlan
from ntpcompanion.mlm.evaluation.evaluate import draw_test_set
from ntpcompanion.mlm.training import enlarge_mlp
from ntpcompanion.mlm.training.enlarge import GRADIENT_POWERS, enlarge, parameter_groups
from ntpcompanion.networks.build_network import build_model
from ntpcompanion.networks.network_plan import TransformerSize
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

# millions of parameters as printed: width, heads, layers
TABLE3 = {2: (64, 1, 1), 9: (192, 3, 5), 41: (512, 8, 8)}
TABLE3 |= {235: (1024, 16, 16), 730: (1536, 24, 24)}
# width: heads, layers, d-inter as printed
TABLE4 = {128: (2, 4, 512), 192: (3, 5, 768), 320: (5, 6, 1024), 384: (6, 7, 2048)}
TABLE4 |= {640: (10, 12, 3072), 960: (15, 16, 4096), 1920: (30, 20, 5120)}
WIDEST = max(TABLE4)
VOCABULARY, POSITIONS = 30_522, 32  # tokens of the released code, words of a sentence
GRAMMAR = 200  # words of the paper's grammar
DRAWS = 5  # random networks
SIZES, SLOPES, INPUTS = (8, 12, 12, 5), (0.0, 0.1), 20  # of the perceptrons
ADDED = 2  # layers of zeros


class Plan(experiment.Plan):
    """Random perceptrons and transformers inside larger ones."""

    factor: Annotated[int, Field(ge=2, description="k, how many times wider")] = 3
    seed: Annotated[int, Field(ge=0, description="of weights and inputs")]


class Replicated(experiment.Result):
    """Traces by matrix of a perceptron inside a wider one, over those of the small one."""

    scaling: Annotated[str, Field(description="balanced or naive factors")]
    k: Annotated[int, Field(description="how many times wider")]
    draw: Annotated[int, Field(description="number of the network")]
    slope: Annotated[float, Field(description="of the activation below 0")]
    first: float
    middle: float
    last: float


class Embedded(experiment.Result):
    """The trace of a transformer inside one that is k times as wide and has more layers."""

    k: Annotated[int, Field(description="how many times wider")]
    draw: Annotated[int, Field(description="number of the network")]
    change: Annotated[float, Field(description="relative, of the trace")]
    added: Annotated[float, Field(description="part of the added layers, relative")]
    gap: Annotated[float, Field(description="of that part over the derived one, less 1")]


class Result(experiment.Result):
    """All networks."""

    replicated: tuple[Replicated, ...]
    embedded: tuple[Embedded, ...]
    fractions: Annotated[
        dict[str, dict[int, float]],
        Field(description="parameters whose squared gradients are kept, by scaling and width"),
    ]
    millions: Annotated[
        dict[int, dict[int, float]], Field(description="parameters, by vocabulary and printed size")
    ]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each perceptron inside a wider one."""
        return table_of(self.replicated)

    @property
    def width_free(self) -> pd.DataFrame:
        """Fractions of parameters, a row for each width of Table 4."""
        return pd.DataFrame(self.fractions).rename_axis("width")

    @property
    def size_table(self) -> pd.DataFrame:
        """Millions of parameters, a row for each network of Table 3."""
        table = pd.DataFrame(self.millions).rename(columns="{:,} words".format)
        return table.rename_axis("printed (millions)").reset_index()

    @property
    def size_error(self) -> float:
        """Largest relative distance of a size with the whole vocabulary from the printed one."""
        return max(abs(size / printed - 1) for printed, size in self.millions[VOCABULARY].items())

    def change(self, k: int) -> Effect:
        """Relative change of the trace in a network k times as wide with added layers."""
        return mean_effect([one.change for one in self.embedded if one.k == k])

    @property
    def gap(self) -> float:
        """The largest distance of an added part from the derived one."""
        return max(abs(one.gap) for one in self.embedded)


def run(plan: Plan) -> Result:
    """Put random networks into larger ones, and compare the traces by parameter.

    Returns ratios of traces, and numbers of parameters. Cost 5 s.

    Examples
    --------
    >>> from ntpcompanion.experiments.flatness import enlarged_traces
    >>> result = enlarged_traces.run(enlarged_traces.Plan(factor=2, seed=0))
    >>> result.gap < 1e-6, enlarged_traces.misfits()
    (True, 6)
    """
    numbers = {width: _counts(width) for width in TABLE4}
    tokens = draw_test_set(HMMPlan(2, 6, 4, 2).build(), 5, 4, plan.seed).tokens
    return Result(
        replicated=tuple(one for draw in range(DRAWS) for one in _replicated(plan, draw)),
        embedded=tuple(one for draw in range(DRAWS) for one in _embedded(plan, draw, tokens)),
        fractions={
            scaling: {
                width: _width_free_fraction(counts, powers) for width, counts in numbers.items()
            }
            for scaling, powers in GRADIENT_POWERS.items()
        },
        millions={
            words: {printed: _millions(*sizes, words) for printed, sizes in TABLE3.items()}
            for words in (GRAMMAR, VOCABULARY)
        },
    )


def misfits() -> int:
    """How many networks of Table 4 have a printed d-inter that, times k, is not that of the widest
    one.
    """
    return sum(WIDEST // width * row[2] != TABLE4[WIDEST][2] for width, row in TABLE4.items())


def _replicated(plan: Plan, draw: int) -> Iterator[Replicated]:
    rng = stream(plan.seed, f"perceptron {draw}")
    weights = [rng.normal(size=(b, a)) / a**0.5 for a, b in pairwise(SIZES)]
    inputs = rng.normal(size=(INPUTS, SIZES[0]))
    for slope in SLOPES:
        before = enlarge_mlp.mlp_traces(weights, inputs, slope=slope)
        for scaling in enlarge_mlp.MLP_SCALINGS:
            for k in range(1, plan.factor + 1):
                wide = enlarge_mlp.enlarge_mlp(weights, k, scaling=scaling)
                ratios = enlarge_mlp.mlp_traces(wide, inputs, slope=slope) / before
                names = dict(zip(("first", "middle", "last"), ratios, strict=True))
                yield Replicated(scaling=scaling, k=k, draw=draw, slope=slope, **names)


def _embedded(plan: Plan, draw: int, sentences: Int[Tensor, "n positions"]) -> Iterator[Embedded]:
    start = int(stream(plan.seed, f"transformer {draw}").integers(2**31))
    small_plan = TransformerSize(16, 2, 2).for_sentences(6, 4)
    small = build_model(small_plan, start, deviation=0.1).double()  # its own labels
    single = fisher_by_parameter(small, sentences)
    total = sum(single.values())
    for k in (1, plan.factor):
        size = TransformerSize(16 * k, 2 + ADDED, 2 * k).for_sentences(6, 4)
        traces = fisher_by_parameter(enlarge(small, size, "balanced"), sentences)
        added = sum(traces[name] for name in traces if name.startswith(("blocks.2", "blocks.3")))
        derived = 2 * ADDED * single["blocks.1.down.bias"] / k
        yield Embedded(
            k=k,
            draw=draw,
            change=sum(traces.values()) / total - 1,
            added=added / total,
            gap=added / derived - 1,
        )


def _counts(width: int) -> dict[str, int]:
    """Parameters of a network with width, heads and layers of Table 4, by group. Its inner width is
    four times the width, as in appendix B.4; five of the seven printed ones differ.
    """
    heads, layers, _ = TABLE4[width]
    plan = TransformerSize(width, layers, heads).for_sentences(VOCABULARY, POSITIONS)
    groups = parameter_groups(build_model(plan, 0, "meta"))
    return {name: sum(q.numel() for q in group) for name, group in groups.items()}


def _width_free_fraction(counts: dict[str, int], powers: dict[str, int]) -> float:
    """The fraction of the parameters whose squared gradients do not depend on the width."""
    return sum(counts[name] for name, power in powers.items() if power == 0) / sum(counts.values())


def _millions(width: int, heads: int, layers: int, words: int) -> float:
    plan = TransformerSize(width, layers, heads).for_sentences(words, POSITIONS)
    sizes = [q.numel() for q in build_model(plan, 0, "meta").parameters()]
    return float(sum(sizes) / 1e6)
