"""Where do random tables become separable, and where are they predicted to?"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.thresholds import phase
from ntpcompanion.linear.tables.contexts import ContextTable
from ntpcompanion.linear.thresholds.kinematic import face_probabilities, separable_probability
from ntpcompanion.linear.thresholds.phase_diagram import CrossingSample, crossing_sample
from ntpcompanion.linear.thresholds.threshold import predicted_threshold, statistical_dimension
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, estimate

SAME_DRAWS = 4  # times as many tables with one support for all contexts
Sizes = tuple[Annotated[int, Field(ge=1)], ...]


class Plan(experiment.Plan):
    """Random tables of one number of tokens and of contexts.

    `support_sizes` and `mixed_sizes` lie below `vocab_size`.
    """

    vocab_size: Annotated[int, Field(ge=3, description="V, tokens")]
    support_sizes: Annotated[
        Sizes,
        Field(min_length=1, description="S, tokens, each below V, one for each kind of table"),
    ]
    mixed_sizes: Annotated[
        Sizes, Field(min_length=1, description="dealt in turn to the contexts of one kind of table")
    ]
    num_contexts: Annotated[int, Field(ge=4, description="m, contexts of a table")]
    draws: Annotated[int, Field(ge=2, description="tables of each kind")]
    seed: Annotated[int, Field(ge=0, description="of embeddings and supports")]

    @model_validator(mode="after")
    def _sizes_fit(self) -> "Plan":
        for name in ("support_sizes", "mixed_sizes"):
            sizes = list(getattr(self, name))
            if max(sizes) >= self.vocab_size:
                raise ValueError(
                    f"`{name}` must lie in 1 … {self.vocab_size - 1} (`vocab_size` − 1), got "
                    f"{sizes}."
                )
        return self

    def of_sizes(self, sizes: Sizes) -> phase.Plan:
        """The plan of the tables with these sizes."""
        return phase.Plan(
            support_sizes=sizes, **self.model_dump(exclude={"support_sizes", "mixed_sizes"})
        )

    @property
    def theory(self) -> pd.DataFrame:
        """For each support size `S` the statistical dimension `δ`, the `predicted d/m`, and what
        `by counting` equations would be expected.
        """
        V, S = self.vocab_size, np.arange(1, self.vocab_size)
        table = pd.DataFrame({"S": S})
        table["δ"] = [statistical_dimension(V, size) for size in S]
        table["predicted d/m"] = [predicted_threshold(V, size) for size in S]
        table["by counting"] = (V + S - 2) / (2 * (V - 1))
        return table


class Result(experiment.Result):
    """The sides of all draws, for each kind of table."""

    plan: Plan
    sizes: Annotated[tuple[phase.Result, ...], Field(description="of each support size")]
    mixed: Annotated[phase.Result, Field(description="of the mixed sizes")]
    same: Annotated[phase.Result, Field(description="of one support for all contexts")]

    @property
    def samples(self) -> dict[int, CrossingSample]:
        """The sample of each support size."""
        samples = (one.sample(self.plan.num_contexts) for one in self.sizes)
        return dict(zip(self.plan.support_sizes, samples, strict=True))

    @property
    def measured(self) -> pd.DataFrame:
        """`Plan.theory` of each support size, with the `crossing` d/m, its `error`, and the
        fraction of `undecided` draws.
        """
        samples = self.samples
        table = pd.DataFrame({"S": list(samples)}).merge(self.plan.theory, on="S")
        table["crossing"] = [sample.crossing for sample in samples.values()]
        table["error"] = [sample.stderr for sample in samples.values()]
        table["undecided"] = [sample.undecided for sample in samples.values()]
        return table

    @property
    def diagram(self) -> pd.DataFrame:
        """For each support size `S` and each dimension the fields of `ShareCurve`."""
        dims = np.arange(1, self.plan.num_contexts + 1)
        curves = {size: sample.shares(dims) for size, sample in self.samples.items()}
        frames = {size: pd.DataFrame(vars(curve)) for size, curve in curves.items()}
        return pd.concat(frames, names=["S", None]).reset_index("S")

    def predicted_shares(self, size: int) -> np.ndarray:
        """The probability of separability at each dimension, as if logits were uniform."""
        return separable_probability(self.plan.vocab_size, size, self.plan.num_contexts)

    @property
    def mixed_sample(self) -> CrossingSample:
        """The sample of mixed sizes."""
        return self.mixed.sample(self.plan.num_contexts)

    @property
    def mixed_predictions(self) -> tuple[float, float]:
        """The threshold of mixed sizes by the mean of δ, and that of their mean size."""
        dealt, theory = np.resize(self.plan.mixed_sizes, self.plan.num_contexts), self.plan.theory
        by_size = np.interp(dealt.mean(), theory["S"], theory["predicted d/m"])
        return predicted_threshold(self.plan.vocab_size, dealt), float(by_size)

    @property
    def same_crossing(self) -> Effect:
        """The crossing d/m of one support for all contexts."""
        sample = self.same.sample(self.plan.num_contexts)
        return estimate(sample.crossing, sample.stderr, SAME_DRAWS * self.plan.draws)

    @property
    def counting_gap(self) -> Effect:
        """The largest difference of a crossing and the count of equations (dimensions)."""
        table, m = self.measured, self.plan.num_contexts
        off = (table.crossing - table["by counting"]).abs()
        error = table.error.iloc[int(off.argmax())]
        return estimate(m * off.max(), m * error, self.plan.draws)

    def probabilities(
        self, recorded: Mapping[tuple[int, int, int], CrossingSample]
    ) -> dict[str, Any]:
        """What the page's widget shows: the distributions of faces that give exact probabilities,
        and measured shares, these ones and recorded ones by V, S and m.
        """
        V, m = self.plan.vocab_size, self.plan.num_contexts
        known = {(V, size, m): sample for size, sample in self.samples.items()} | dict(recorded)
        faces = [
            [face_probabilities(tokens, size).round(6) for size in range(1, tokens)]
            for tokens in range(2, max(12, V) + 1)
        ]
        return {
            "faces": faces,
            "contexts": sorted({5, 10, 20} | {contexts for _, _, contexts in known}),
            "measured": [_steps(*sizes, sample) for sizes, sample in known.items()],
            "start": {"V": V, "S": self.plan.support_sizes[0], "m": m},
        }


def run(plan: Plan) -> Result:
    """Measure where random tables become separable: supports of one size, of mixed sizes, and one
    support for all contexts.

    Returns the proved sides of all draws, beside the predictions for their sizes. Cost that of
    `phase.run` for each kind of table: 15 s for 500 tables with 30 contexts.

    Examples
    --------
    >>> from ntpcompanion.experiments.thresholds import random_tables
    >>> sizes = {"vocab_size": 4, "support_sizes": (1, 2), "mixed_sizes": (1, 2)}
    >>> found = random_tables.run(random_tables.Plan(**sizes, num_contexts=8, draws=3, seed=0))
    >>> found.measured.S.tolist(), sum(found.same.draws)
    ([1, 2], 12)
    """
    sizes = tuple(phase.run(plan.of_sizes((size,))) for size in plan.support_sizes)
    names = [f"same token, table {draw}" for draw in range(SAME_DRAWS * plan.draws)]
    same = crossing_sample(_same_token(plan, stream(plan.seed, name)) for name in names)
    return Result(
        plan=plan,
        sizes=sizes,
        mixed=phase.run(plan.of_sizes(plan.mixed_sizes)),
        same=phase.Result(**phase.counted_sides(same)),
    )


def _same_token(plan: Plan, rng: np.random.Generator) -> ContextTable:
    m = plan.num_contexts
    p = np.tile(np.eye(plan.vocab_size)[0], (m, 1))
    return ContextTable(rng.standard_normal((m, m)), p, np.full(m, 1 / m))


def _steps(V: int, S: int, m: int, sample: CrossingSample) -> dict[str, Any]:
    """Measured shares at the dimensions where draws differ."""
    first, last = sample.not_separable_to.min(), sample.separable_from.max()
    dims = np.arange(max(1, first), min(m, last) + 1)
    curve = sample.shares(dims)
    return {
        "V": V,
        "S": S,
        "m": m,
        "first": dims[0],
        "draws": len(sample.separable_from),
        "share": curve.separable,
        "crossing": sample.crossing,
        "stderr": sample.stderr,
        "lowest": curve.lowest.round(4),
        "highest": curve.highest.round(4),
    }
