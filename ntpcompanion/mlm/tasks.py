"""The downstream tasks of Liu et al. 2023: which hidden state, or which symbol, made a part of the
sentence.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.languages.grammars import NO_LABEL, span_labels
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.pcfg import PCFG
from ntpcompanion.mlm.downstream import (
    Accuracy,
    Examples,
    accuracy_of,
    bayes_accuracy,
    posterior_accuracy,
)
from ntpcompanion.mlm.tokens import padded_to

AT_ONCE = 500  # sentences whose labels are worked out together
FEWEST = 0.001  # share of sentences with a label below which drawing them is given up


@dataclass(frozen=True, eq=False)
class Task:
    """Sentences with labels.

    Fields
    ------
    train, test
        tokens padded to `positions` columns, and labels, drawn alike from the language and
        independent.
    bayes
        what no guess from the sentence can exceed on average, over the test sentences.
    """

    train: Examples
    test: Examples
    bayes: Accuracy

    def with_inputs(self, train: Tensor, test: Tensor) -> tuple[Examples, Examples]:
        """The labels with other inputs, such as the features of a model."""
        return Examples(train, self.train.labels, self.train.classes), Examples(
            test, self.test.labels, self.test.classes
        )


@dataclass(frozen=True, eq=False)
class PosteriorTask(Task):
    """A task whose guesses are scored without the noise of drawn labels.

    Fields
    ------
    train_posterior, test_posterior
        (sentences, classes) the exact Pr(label | sentence), see `label_posterior`.
    bayes
        E max_y Pr(y | sentence) over the test sentences: the accuracy of the best guesses.
    """

    train_posterior: Float[Tensor, "train classes"]
    test_posterior: Float[Tensor, "test classes"]

    def accuracy(self, guesses: Integer[Tensor, " n"]) -> Accuracy:
        """The mean posterior probability of the class guessed for each test sentence; its standard
        error is that over sentences.

        Raises ValueError unless there is one guess, of a class, for each.
        """
        return posterior_accuracy(self.test_posterior, guesses)


def draw_task(
    language: HMM | PCFG,
    place: int,
    train: int,
    test: int,
    positions: int,
    generator: torch.Generator,
) -> Task:
    """Draw `train` and `test` sentences with labels, on the device of the generator.

    Parameters
    ----------
    language
        an HMM: the label is the hidden state at position `place` = 1, 2, …, as it was drawn (task-6
        and task-10 of the paper). A PCFG: it is the likeliest symbol of the first `place` words
        given the sentence (tasks A, B and C: 32, 16 and 8); sentences without that label, too short
        ones for instance, are left out.
    place
        1, 2, …, see above.
    train, test
        how many sentences of each.
    positions
        columns to which sentences are padded.
    generator
        draws sentences and states.

    Returns
    -------
    Task
        examples to train on and to test on, and the Bayes accuracy.

    Raises
    ------
    ValueError
        a place that the language does not have, or that too few of its sentences reach; sentences
        longer than `positions`.

    Notes
    -----
    The label of a PCFG is a function of the sentence: its Bayes accuracy is 1. That of an HMM is E
    max_s Pr(z_place = s | x).

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import PCFGPlan, draw_task
    >>> grammar = PCFGPlan(nonterminals=8, words=6, depth=3).build()
    >>> generator = torch.Generator().manual_seed(0)
    >>> task = draw_task(grammar, 2, train=50, test=30, positions=4, generator=generator)
    >>> task.train.inputs.shape, len(task.test.labels), task.bayes.value
    (torch.Size([50, 4]), 30, 1.0)
    """
    if place < 1:
        raise ValueError(f"`place` must be at least 1, got {place}.")
    if isinstance(language, HMM):
        tokens, labels = _hidden_states(language, place, train + test, positions, generator)
        bayes = bayes_accuracy(
            torch.cat(
                [
                    language.latent_posterior(part)[:, place - 1]
                    for part in tokens[train:].split(AT_ONCE)
                ]
            )
        )
        classes = language.num_states
    else:
        tokens, labels = _spanned(language, place, train + test, positions, generator)
        bayes, classes = accuracy_of(torch.ones(test)), language.num_symbols
    return Task(
        Examples(tokens[:train], labels[:train], classes),
        Examples(tokens[train:], labels[train:], classes),
        bayes,
    )


def label_posterior(
    language: HMM | PCFG, tokens: Int[Tensor, "n length"], place: int
) -> Float[Tensor, "n classes"]:
    """The exact distribution of the label of `draw_task` given each sentence.

    For an HMM that of the hidden state at position `place` = 1, 2, …; the label was drawn from it.
    For a PCFG that of the symbol of the first `place` words, given the sentence and that some
    symbol spans them; its largest entry is the label.

    Raises
    ------
    ValueError
        a place beyond the columns of `tokens`; a sentence of probability 0, or whose first words
        have no symbol.
    """
    if not 1 <= place <= tokens.shape[1]:
        raise ValueError(
            f"`place` must be a position of the sentences, 1 … {tokens.shape[1]}, got {place}."
        )
    span = (place - 1,) if isinstance(language, HMM) else (0, place - 1)
    joint = torch.cat([language.latent_posterior(part)[:, *span] for part in tokens.split(AT_ONCE)])
    total = joint.sum(1, keepdim=True)
    if not (total > 0).all():
        row = int((total[:, 0] == 0).nonzero()[0])
        raise ValueError(f"`tokens`: row {row} has no label at `place` = {place}. Leave it out.")
    return joint / total


def with_posteriors(task: Task, language: HMM | PCFG, place: int) -> PosteriorTask:
    """The task that `draw_task` drew from `language` for `place`, with the exact posteriors of its
    labels.

    Parameters
    ----------
    task
        whose inputs are sentences.
    language, place
        as for `draw_task`.

    Raises
    ------
    ValueError
        as `label_posterior`.

    Notes
    -----
    The labels to train on stay as they are: drawn states of an HMM, likeliest symbols of a PCFG.
    """
    train = label_posterior(language, task.train.inputs, place)
    test = label_posterior(language, task.test.inputs, place)
    return PosteriorTask(task.train, task.test, bayes_accuracy(test), train, test)


def _hidden_states(
    language: HMM, place: int, sentences: int, positions: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    if place > language.length:
        raise ValueError(
            f"`place` must be at most {language.length}, the length of the sentences, got {place}."
        )
    tokens, states = language.sample_with_states(sentences, generator, generator.device)
    return padded_to(tokens, positions), states[:, place - 1]


def _spanned(
    language: PCFG, place: int, sentences: int, positions: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Sentences that have a label, in the order in which they are drawn."""
    tokens, labels, drawn, kept = [], [], 0, 0
    while kept < sentences:
        part = language.sample(AT_ONCE, generator, generator.device)
        found = span_labels(language, part, place, "posterior")
        tokens.append(padded_to(part, positions)[found != NO_LABEL])
        labels.append(found[found != NO_LABEL])
        drawn, kept = drawn + AT_ONCE, kept + len(labels[-1])
        if drawn >= 10 / FEWEST and kept < FEWEST * drawn:
            raise ValueError(
                f"`place` = {place}: {kept} of {drawn} sentences have a symbol over their first "
                f"{place} words. Take fewer."
            )
    return torch.cat(tokens)[:sentences], torch.cat(labels)[:sentences]
