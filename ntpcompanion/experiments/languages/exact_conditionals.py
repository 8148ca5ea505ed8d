"""What is known exactly of hidden Markov models and grammars: conditionals, floors, labels."""

from typing import Annotated

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from ntpcompanion.experiments import experiment
from ntpcompanion.languages.grammars.derivation import draw_derivation
from ntpcompanion.languages.grammars.levelled_grammars import (
    NO_LABEL,
    random_levelled_pcfg,
    span_labels,
)
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.language import estimate_entropy_floor
from ntpcompanion.languages.random_hmms import random_block_hmm
from ntpcompanion.randomness import stream
from ntpcompanion.statistics.effects import Effect, mean_effect

Numbers = tuple[float, ...]
Counts = Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
SPANS = (16, 8, 2)  # words of the spans that are labelled, beside the whole sentence
LABELLED = (6, 10)  # positions, from 1, whose hidden state is guessed
TREE = range(9, 15)  # words of the sentence whose tree is drawn


class Plan(experiment.Plan):
    """The languages, and how many sentences of each are drawn.

    `lexicon` is as long as `pairs`.
    """

    states: Annotated[int, Field(ge=1, description="hidden states")]
    words: Annotated[int, Field(ge=1, description="of both vocabularies")]
    length: Annotated[int, Field(ge=2, le=64, description="words of a sentence of the models")]
    blocks: Annotated[Counts, Field(description="of the models; each divides states and words")]
    pictured_blocks: Annotated[
        int, Field(ge=1, description="of the models that are checked and labelled")
    ]
    symbols: Annotated[int, Field(ge=6, le=200, description="of a grammar")]
    depth: Annotated[int, Field(ge=2, le=7, description="levels of a grammar")]
    pairs: Annotated[Counts, Field(description="of each symbol, for each grammar")]
    lexicon: Annotated[Counts, Field(description="words of a last symbol, for each grammar")]
    draws: Annotated[int, Field(ge=2, le=10, description="languages of each kind")]
    sentences: Annotated[int, Field(ge=100, description="of all models of a kind")]
    parsed: Annotated[int, Field(ge=100, description="of all grammars of a kind")]
    checked: Annotated[int, Field(ge=10, description="sentences whose conditionals are checked")]
    seed: Annotated[int, Field(ge=0, description="of languages and sentences")]

    @model_validator(mode="after")
    def _a_lexicon_for_each_grammar(self) -> "Plan":
        if len(self.lexicon) != len(self.pairs):
            raise ValueError(
                f"`lexicon` must be as long as `pairs`, {len(self.pairs)}, got {self.lexicon}."
            )
        return self

    def markov_model(self, blocks: int, draw: int = 0) -> HMM:
        """A random hidden Markov model with so many blocks."""
        shape = {"states": self.states, "vocab": self.words, "length": self.length}
        return random_block_hmm(stream(self.seed, f"hmm {blocks} {draw}"), **shape, blocks=blocks)

    def grammar(self, kind: int = 0, draw: int = 0) -> PCFG:
        """A random grammar with the `pairs` and the `lexicon` of that number."""
        pairs, words = self.pairs[kind], self.lexicon[kind]
        sizes = {"symbols": self.symbols, "vocab": self.words, "depth": self.depth}
        rng = stream(self.seed, f"pcfg {pairs} {words} {draw}")
        return random_levelled_pcfg(rng, **sizes, pairs=pairs, words=words)


class Result(experiment.Result):
    """Errors, floors in nats and labels; where there are several languages, one number for each."""

    model_error: Annotated[
        float, Field(description="of conditionals of the pictured model, largest; by Bayes' rule")
    ]
    grammar_error: Annotated[float, Field(description="the same of the first grammar")]
    viterbi: Annotated[
        Numbers, Field(description="KL of the conditionals to those of the likeliest path, nats")
    ]
    sentence: Annotated[tuple[int, ...], Field(description="words drawn from the pictured model")]
    per_sentence: Annotated[
        dict[str, Numbers], Field(description="floors of each kind; a position of each sentence")
    ]
    per_token: Annotated[
        dict[str, Numbers], Field(description="the same, with all positions equally likely")
    ]
    bayes: Annotated[
        float,
        Field(description="best accuracy on the hidden state at positions 6 and 10, or the last"),
    ]
    labels: Annotated[
        dict[str, dict[str, Numbers]],
        Field(description="by the labelled span: fractions of the sentences of a grammar"),
    ]

    @property
    def floors(self) -> pd.DataFrame:
        """The means over languages with their errors: a row for each kind."""
        columns = {
            "per_sentence": pd.DataFrame(self.per_sentence),
            "per_token": pd.DataFrame(self.per_token),
        }
        means = {name: values.mean() for name, values in columns.items()}
        errors = {f"{name}_stderr": values.sem() for name, values in columns.items()}
        return pd.DataFrame(means | errors).rename_axis("language")

    def nearest_floor(self, printed: float, among: int) -> Effect:
        """The floor per sentence that is nearest to a printed one, of the first kinds."""
        kinds = [mean_effect(np.array(kind)) for kind in self.per_sentence.values()]
        return min(kinds[:among], key=lambda floor: abs(floor.mean - printed))

    @property
    def label_fractions(self) -> pd.DataFrame:
        """The means over grammars: a row for each labelled span."""
        rows = {task: pd.DataFrame(columns).mean() for task, columns in self.labels.items()}
        return pd.DataFrame(rows).T.rename_axis("task")


def run(plan: Plan) -> Result:
    """Draw languages, check their conditionals, estimate their floors, and label sentences.

    Returns errors of conditionals, floors, and how good a guess of latent variables can be.
    Sentences of a grammar take longest: 6 ms each on one core with 50 symbols and 6 levels.

    Raises
    ------
    ValueError
        as `random_block_hmm` and `random_levelled_pcfg`, for sizes that do not fit.

    Examples
    --------
    >>> from ntpcompanion.experiments import exact_conditionals
    >>> sizes = {"states": 4, "words": 8, "length": 4, "blocks": (1, 2), "pictured_blocks": 2}
    >>> sizes |= {"symbols": 6, "depth": 3, "pairs": (2,), "lexicon": (3,)}
    >>> drawn = {"draws": 2, "sentences": 100, "parsed": 100, "checked": 10}
    >>> found = exact_conditionals.run(exact_conditionals.Plan(**sizes, **drawn, seed=0))
    >>> found.model_error < 1e-12, len(found.floors)
    (True, 3)
    """
    generator = torch.Generator().manual_seed(plan.seed)
    models = {
        k: [plan.markov_model(k, draw) for draw in range(plan.draws)]
        for k in (*plan.blocks, plan.pictured_blocks)
    }
    grammars = [
        [plan.grammar(kind, draw) for draw in range(plan.draws)] for kind in range(len(plan.pairs))
    ]
    pictured = models[plan.pictured_blocks]
    rng = stream(plan.seed, "checks")
    errors = [_bayes_error(one, plan, generator, rng) for one in (pictured[0], grammars[0][0])]
    each = plan.checked // plan.draws
    viterbi = [_viterbi_divergence(model, model.sample(each, generator)) for model in pictured]
    sentence = pictured[0].sample(1, generator)[0].tolist()
    kinds = {
        f"hidden Markov model, {k} blocks": (plan.sentences, models[k]) for k in plan.blocks
    } | {
        f"grammar, {pairs} pairs and {words} words": (plan.parsed, drawn)
        for pairs, words, drawn in zip(plan.pairs, plan.lexicon, grammars, strict=True)
    }
    floors = {
        name: [
            estimate_entropy_floor(one, total // plan.draws, generator, batch=100) for one in drawn
        ]
        for name, (total, drawn) in kinds.items()
    }
    return Result(
        model_error=errors[0],
        grammar_error=errors[1],
        viterbi=tuple(viterbi),
        sentence=tuple(sentence),
        per_sentence={k: tuple(one.per_sentence for one in kind) for k, kind in floors.items()},
        per_token={k: tuple(one.per_token for one in kind) for k, kind in floors.items()},
        bayes=_bayes_accuracy(pictured[0], plan.sentences, generator),
        labels=_labels(grammars[0], plan.parsed // plan.draws, generator),
    )


def drawn_tree(grammar: PCFG, seed: int) -> pd.DataFrame:
    """The tree of a random sentence of 9 to 14 words: a row for each of its nodes, with the
    `posterior` probability of its symbol given the words.
    """
    rng = stream(seed, "tree")
    while (nodes := draw_derivation(grammar, rng))[0].words not in TREE:
        pass
    words = torch.tensor([[node.word for node in nodes if node.word is not None]])
    spans = grammar.latent_posterior(words)[0]
    posterior = [float(spans[node.start, node.words - 1, node.symbol]) for node in nodes]
    return pd.DataFrame([vars(node) for node in nodes]).assign(posterior=posterior)


def _bayes_error(
    language: HMM | PCFG, plan: Plan, generator: torch.Generator, rng: np.random.Generator
) -> float:
    """At a random position of each sentence, against the probabilities of whole sentences with some
    words in its place.
    """
    errors = []
    for row in language.sample(plan.checked, generator):
        length = int((row >= 0).sum())
        t = int(rng.integers(length))
        some = torch.tensor([row[t], *rng.choice(plan.words, 10)]).unique()
        swapped = row[:length].repeat(len(some), 1)
        swapped[:, t] = some
        joint = language.log_prob(swapped).softmax(0)
        fast = language.masked_conditional(row[None, :length])[0, t, some]
        errors.append(float((joint - fast / fast.sum()).abs().max()))
    return max(errors)


def _viterbi_divergence(model: HMM, rows: Int[Tensor, "n length"]) -> float:
    """KL of the conditionals to those in which the likeliest path stands for the sum of all."""
    step, emit = model.transition.log(), model.emission.log()
    first, length = model.initial.log().expand(len(rows), -1), rows.shape[1]
    ahead, back = [first], [torch.zeros(1)]
    for t in range(length - 1):
        past = ahead[-1] + emit.T[rows[:, t]]
        ahead.append((past[:, :, None] + step).amax(1))
        rest = back[-1] + emit.T[rows[:, length - 1 - t]]
        back.append((step + rest[:, None]).amax(2))
    best: Float[Tensor, "n length states vocab"] = (
        torch.stack(ahead, 1) + torch.stack([*back[:0:-1], 0 * first], 1)
    )[..., None] + emit
    viterbi, exact = best.amax(2).log_softmax(-1), model.masked_conditional(rows)
    ratio = torch.where(exact > 0, exact.log() - viterbi, 0.0)
    return float((exact * ratio).sum(-1).mean())


def _bayes_accuracy(model: HMM, sentences: int, generator: torch.Generator) -> float:
    posterior = model.latent_posterior(model.sample_with_states(sentences, generator)[0])
    ends = [end for end in LABELLED if end <= model.length] or [model.length]
    return float(np.mean([float(posterior[:, end - 1].amax(1).mean()) for end in ends]))


def _labels(
    grammars: list[PCFG], sentences: int, generator: torch.Generator
) -> dict[str, dict[str, Numbers]]:
    """By posterior and by inside probability, over spans of several lengths."""
    tasks: dict[str, int | None] = {"whole sentence": None}
    tasks |= {f"first {k} words": k for k in SPANS if k < (grammars[0].longest or k + 1)}
    columns = "sentences with a label", "most common label", "labels agree"
    fractions: dict[str, list[Numbers]] = {task: [] for task in tasks}
    for grammar in grammars:
        batch = grammar.sample(sentences, generator)
        order = (batch >= 0).sum(1).argsort()  # a batch costs what its longest does
        parts = [part[:, (part >= 0).any(0)] for part in batch[order].split(20)]
        for task, span in tasks.items():
            posterior, inside = (
                torch.cat([span_labels(grammar, part, span, by) for part in parts])
                for by in ("posterior", "inside")
            )
            labelled = (posterior != NO_LABEL) & (inside != NO_LABEL)
            agree = (posterior == inside)[labelled].double().mean()
            common = posterior[labelled].bincount().max() / labelled.sum()
            fractions[task].append((float(labelled.double().mean()), float(common), float(agree)))
    return {
        task: dict(zip(columns, zip(*rows, strict=True), strict=True))
        for task, rows in fractions.items()
    }
