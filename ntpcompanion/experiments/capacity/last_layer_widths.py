"""How many fixed features does the last layer need, for full support and for text?"""

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import torch
from pydantic import Field

from ntpcompanion.capacity.beginnings import paragraph_documents, tabulate_beginnings
from ntpcompanion.capacity.decoder import DecoderStack
from ntpcompanion.capacity.last_layer import fit_last_layer, least_last_width
from ntpcompanion.experiments import experiment
from ntpcompanion.experiments.result_table import table_of
from ntpcompanion.languages.text.corpus import read_text
from ntpcompanion.randomness import stream, torch_stream
from ntpcompanion.statistics.effects import Effect, mean_effect, slope_within_seeds

CRITERIA = (0.01, 0.001, 0.0001)  # excess loss over the entropy
TEXT = "pydoc_data.topics"
TEXT_FEATURES = 32  # of the untrained decoder, at most


class Plan(experiment.Plan):
    """Tables with full support, and texts of two sizes."""

    contexts: Annotated[int, Field(ge=4, description="N of the tables with full support")]
    documents: Annotated[
        int, Field(ge=24, multiple_of=2, description="paragraphs of the larger text")
    ]
    seeds: Annotated[int, Field(ge=2, description="of texts, targets and features")]
    seed: Annotated[int, Field(ge=0, description="the first of them")]

    @property
    def all_seeds(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)

    @property
    def sizes(self) -> tuple[int, int]:
        """Paragraphs of the two texts."""
        return self.documents // 2, self.documents


class Fits(experiment.Result):
    """Last layers on the features of one table with full support."""

    half: Annotated[
        float, Field(description="excess of every decoder on N/2 features, over the entropy")
    ]
    proof: Annotated[float, Field(description="loss of the one found less its bound (nats)")]
    exact: Annotated[float, Field(description="excess of the loss on N features (nats)")]
    threshold: Annotated[int, Field(description="least width within 1e-6 of the entropy, less N")]


class Width(experiment.Result):
    """The least width that comes within a criterion."""

    targets: Annotated[Literal["text", "random"], Field(description="next words, or full support")]
    seed: int
    n: Annotated[int, Field(description="paragraphs")]
    N: Annotated[int, Field(description="contexts")]
    V: Annotated[int, Field(description="words")]
    support: Annotated[int, Field(description="pairs of a context and a next word")]
    entropy: Annotated[float, Field(description="nats")]
    criterion: Annotated[float, Field(description="excess over the entropy, at most")]
    width: Annotated[int, Field(description="features")]


class Result(experiment.Result):
    """Fits to full support, and least widths."""

    plan: Plan
    fits: tuple[Fits, ...]
    widths: tuple[Width, ...]

    @property
    def fits_table(self) -> pd.DataFrame:
        """A row for each seed."""
        return table_of(self.fits)

    @property
    def text_table(self) -> pd.DataFrame:
        """A row for each seed, size of text and criterion."""
        table = table_of(self.widths)
        return table[table.targets == "text"].drop(columns="targets")

    @property
    def half(self) -> Effect:
        """Relative excess that no decoder on half of the features avoids."""
        return mean_effect(self.fits_table.half)

    def factors(self, targets: str, documents: int) -> pd.DataFrame:
        """N (V − 1) over the parameters used: a row for each seed, a column for each criterion."""
        widths = self._by_seed("width", targets, documents)
        return self._by_seed("N", targets, documents) / widths

    def _by_seed(self, column: str, targets: str, documents: int) -> pd.DataFrame:
        table = table_of(self.widths)
        rows = table[(table.targets == targets) & (table.n == documents)]
        return rows.pivot(index="seed", columns="criterion", values=column)[list(CRITERIA)]

    @property
    def growth(self) -> Effect:
        """Log of the ratio of widths at the tightest and the loosest criterion, on text."""
        widths = [self._by_seed("width", "text", n) for n in self.plan.sizes]
        rises = [np.log(one[CRITERIA[-1]] / one[CRITERIA[0]]) for one in widths]
        return mean_effect((rises[0] + rises[1]) / 2)

    @property
    def below(self) -> Effect:
        """Log of the factor on the larger text at the tightest criterion."""
        return mean_effect(np.log(self.factors("text", self.plan.documents)[CRITERIA[-1]]))

    def filled(self, criterion: float) -> Effect:
        """Parameters used for random targets, over N (V − 1)."""
        return mean_effect(1 / self.factors("random", self.plan.documents // 4)[criterion])

    def exponent(self, criterion: float) -> Effect:
        """The power of N (V − 1) with which parameters used grow from one text to the other."""
        table = self.text_table[self.text_table.criterion == criterion]
        by_size = table.assign(count=(table.V - 1) * table.N, used=(table.V - 1) * table.width)
        by_size = by_size.pivot(index="seed", columns="n")
        return slope_within_seeds(np.log(by_size["count"]), np.log(by_size.used))


def run(plan: Plan) -> Result:
    """Fit last layers on fixed random features, and search for the least number of them.

    Returns certified fits to full support; least widths for text and for random targets. Cost that
    of `least_last_width`: 10 s for five seeds and 40 paragraphs.

    Examples
    --------
    >>> from ntpcompanion.experiments.capacity import last_layer_widths
    >>> plan = last_layer_widths.Plan(contexts=4, documents=24, seeds=2, seed=0)
    >>> found = last_layer_widths.run(plan)
    >>> found.fits_table.threshold.tolist(), found.below.mean > 0
    ([0, 0], True)
    """
    content, widths = read_text(TEXT).content, []
    for seed in plan.all_seeds:
        for n in plan.sizes:
            widths += _widths(content, seed, n, "text")
        widths += _widths(content, seed, plan.documents // 4, "random")
    return Result(
        plan=plan,
        fits=tuple(_fits(seed, plan.contexts) for seed in plan.all_seeds),
        widths=tuple(widths),
    )


def _fits(seed: int, N: int) -> Fits:
    rng, pi = stream(seed, "last layer"), np.full(N, 1 / N)
    p = rng.dirichlet(np.ones(8), size=N)
    inputs, into, shift = (rng.standard_normal(shape) for shape in ((N, 6), (6, N), N))
    h = np.tanh(inputs @ into + shift)
    narrow, wide = fit_last_layer(h[:, : N // 2], p, pi), fit_last_layer(h, p, pi)
    return Fits(
        half=narrow.bound / narrow.entropy - 1,
        proof=narrow.loss - narrow.bound,
        exact=wide.loss - wide.entropy,
        threshold=least_last_width(h, p, pi, 1e-6) - N,
    )


def _widths(
    content: str, seed: int, documents: int, targets: Literal["text", "random"]
) -> list[Width]:
    rng = stream(seed, f"{documents} paragraphs")
    table = tabulate_beginnings(paragraph_documents(content, documents, 3, rng))
    N, V = table.num_contexts, table.vocab_size
    features = N if targets == "random" else min(N, TEXT_FEATURES)
    stack = DecoderStack(V, 8, [features], torch_stream(seed, f"{documents} features"))
    with torch.no_grad():
        h = stack.hidden(table)[0].numpy()
    if targets == "random":
        table = table.with_random_targets(rng)
    pi = table.joint.sum(axis=1)
    p = table.joint / pi[:, None]
    sizes: dict[str, Any] = {"seed": seed, "n": documents, "N": N, "V": V}
    sizes |= {"support": np.count_nonzero(p), "entropy": table.entropy}
    return [
        Width(
            targets=targets,
            **sizes,
            criterion=criterion,
            width=least_last_width(h, p, pi, criterion),
        )
        for criterion in CRITERIA
    ]
