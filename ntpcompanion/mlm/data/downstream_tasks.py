"""The downstream tasks of Liu et al. 2023: which hidden state, or which symbol, made a part of the
sentence.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.checks import Range, Size, checked
from ntpcompanion.languages.grammars.levelled_grammars import NO_LABEL, span_labels
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.mlm.data.labelled_examples import LabelledExamples
from ntpcompanion.mlm.data.special_tokens import padded_to
from ntpcompanion.mlm.data.task_accuracy import (
    Accuracy,
    accuracy_of,
    bayes_accuracy,
    posterior_accuracy,
)

SENTENCES_PER_CHUNK = 500  # sentences whose labels are worked out together
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

    train: LabelledExamples
    test: LabelledExamples
    bayes: Accuracy

    def with_inputs(self, train: Tensor, test: Tensor) -> tuple[LabelledExamples, LabelledExamples]:
        """The labels with other inputs, such as the features of a model."""
        return LabelledExamples(train, self.train.labels, self.train.classes), LabelledExamples(
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


@checked
def draw_task(
    language: HMM | PCFG,
    position: Size,
    train: Size,
    test: Size,
    positions: Size,
    generator: torch.Generator,
) -> Task:
    """Draw `train` and `test` sentences with labels, on the device of the generator.

    Parameters
    ----------
    language
        an HMM or a PCFG.
    position
        1, 2, …: of an HMM the label is the hidden state there, as it was drawn (task-6 and task-10
        of the paper). Of a PCFG it is the likeliest symbol, given the sentence, of the first words
        up to there (tasks A, B and C of the paper: 32, 16 and 8); sentences without that label, too
        short ones for instance, are left out.
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
        a position that the language does not have, or that too few of its sentences reach;
        sentences longer than `positions`; a recursive grammar, a number below 1, an argument of
        another kind.

    Notes
    -----
    The label of a PCFG is a function of the sentence: its Bayes accuracy is 1. That of an HMM is E
    max_s Pr(z_position = s | x).

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
    if isinstance(language, HMM):
        tokens, labels = _hidden_states(language, position, train + test, positions, generator)
        bayes = bayes_accuracy(
            torch.cat(
                [
                    language.latent_posterior(part)[:, position - 1]
                    for part in tokens[train:].split(SENTENCES_PER_CHUNK)
                ]
            )
        )
        classes = language.num_states
    else:
        tokens, labels = _spanned(language, position, train + test, positions, generator)
        bayes, classes = accuracy_of(torch.ones(test)), language.num_symbols
    return Task(
        LabelledExamples(tokens[:train], labels[:train], classes),
        LabelledExamples(tokens[train:], labels[train:], classes),
        bayes,
    )


@checked
def label_posterior(
    language: HMM | PCFG,
    tokens: Int[Tensor, "n length"],
    position: Annotated[int, Range(1, "length", "as the sentences have words")],
) -> Float[Tensor, "n classes"]:
    """The exact distribution of the label of `draw_task` given each sentence.

    For an HMM that of the hidden state at `position` = 1, 2, …; the label was drawn from it. For a
    PCFG that of the symbol of the first `position` words, given the sentence and that some symbol
    spans them; its largest entry is the label.

    Raises
    ------
    ValueError
        a position beyond the columns of `tokens`; a sentence of probability 0, or whose first words
        have no symbol.
    """
    span = (position - 1,) if isinstance(language, HMM) else (0, position - 1)
    joint = torch.cat(
        [language.latent_posterior(part)[:, *span] for part in tokens.split(SENTENCES_PER_CHUNK)]
    )
    total = joint.sum(1, keepdim=True)
    if not (total > 0).all():
        row = int((total[:, 0] == 0).nonzero()[0])
        raise ValueError(
            f"`tokens`: row {row} has no label at `position` = {position}. Leave it out."
        )
    return joint / total


@checked
def with_posteriors(task: Task, language: HMM | PCFG, position: int) -> PosteriorTask:
    """A task of `draw_task` with the exact posteriors of its labels, which stay as they are. Raises
    ValueError as `label_posterior`.
    """
    train = label_posterior(language, task.train.inputs, position)
    test = label_posterior(language, task.test.inputs, position)
    return PosteriorTask(task.train, task.test, bayes_accuracy(test), train, test)


def _hidden_states(
    language: HMM, position: int, sentences: int, positions: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    _check_position(position, language.length)
    tokens, states = language.sample_with_states(sentences, generator, generator.device)
    return padded_to(tokens, positions), states[:, position - 1]


def _check_position(position: int, longest: int) -> None:
    if position > longest:
        raise ValueError(
            f"`position` must be at most {longest}, the length of the sentences, got {position}."
        )


def _spanned(
    language: PCFG, position: int, sentences: int, positions: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Sentences that have a label, in the order in which they are drawn."""
    if language.longest is None:
        raise ValueError(
            "`language` must be a grammar with a longest sentence, got one that is recursive."
        )
    _check_position(position, language.longest)
    tokens, labels, drawn, count = [], [], 0, 0
    while count < sentences:
        part = language.sample(SENTENCES_PER_CHUNK, generator, generator.device)
        classes = span_labels(language, part, position, "posterior")
        tokens.append(padded_to(part, positions)[classes != NO_LABEL])
        labels.append(classes[classes != NO_LABEL])
        drawn, count = drawn + SENTENCES_PER_CHUNK, count + len(labels[-1])
        if drawn >= 10 / FEWEST and count < FEWEST * drawn:
            raise ValueError(
                f"`position` = {position}: {count} of {drawn} sentences have a symbol over their "
                f"first {position} words. Take fewer."
            )
    return torch.cat(tokens)[:sentences], torch.cat(labels)[:sentences]
