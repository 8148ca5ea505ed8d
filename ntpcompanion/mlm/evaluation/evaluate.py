"""How far a model is from the exact conditionals: its loss as entropy plus divergence."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ntpcompanion.checks import Range, Size, checked, need
from ntpcompanion.languages.language import Language
from ntpcompanion.mlm.data.masked_sentences import MaskedBatch, batch_generator, draw_batch

SUBSETS = 5  # as in Liu et al. 2023
SATURATED = 0.01  # nats: a model is called saturated when its KL plus two standard errors is below


@dataclass(frozen=True)
class TestSet:
    """Masked sentences that no training step draws, and the exact distribution of each hidden word.

    Fields
    ------
    tokens, positions
        (sentences, positions) with one MASK each, at position positions[i, 0].
    conditional
        (sentences, words) Pr(x_t | x₋ₜ), float64.
    """

    tokens: Int[Tensor, "sentences positions"]
    positions: Int[Tensor, "sentences 1"]
    conditional: Float[Tensor, "sentences words"]

    __test__ = False  # pytest: no test


@dataclass(frozen=True)
class Evaluation:
    """The loss of a model on a language, in nats, split into what no model can avoid and the rest.

    Fields
    ------
    entropy
        mean of H(Pr(· | x₋ₜ)) over the test set.
    kl, kl_stderr
        mean of KL(Pr(· | x₋ₜ) ‖ model), and its standard error from 5 subsets.
    """

    entropy: float
    kl: float
    kl_stderr: float

    @property
    def loss(self) -> float:
        """Entropy plus divergence: L(θ) without the noise of the drawn words."""
        return self.entropy + self.kl

    @property
    def log_kl(self) -> float:
        """The natural logarithm of the divergence."""
        return math.log(self.kl) if self.kl > 0 else -math.inf

    @property
    def saturated(self) -> bool:
        """Whether KL + 2 standard errors is below SATURATED = 0.01 nats."""
        return self.kl + 2 * self.kl_stderr < SATURATED


@checked
def draw_test_set(
    language: Language,
    sentences: Annotated[int, Range(SUBSETS, reason="for a standard error")],
    positions: int,
    seed: int,
    device: torch.device | str = "cpu",
    *,
    batch: Size = 256,
) -> TestSet:
    """Draw masked sentences with their exact conditionals, one mask each.

    Parameters
    ----------
    language
        with its tables on `device`.
    sentences
        how many, at least SUBSETS = 5.
    positions
        columns, those of the models that are evaluated.
    seed
        of the sentences, none of which a training run of any seed draws.
    device
        as for torch.
    batch
        how many are drawn at a time.

    Returns
    -------
    TestSet
        sentences, masked positions, and the conditional distribution of each hidden word.

    Raises
    ------
    ValueError
        fewer sentences than SUBSETS, a batch below 1, what is not a language, and what `draw_batch`
        and `batch_generator` reject.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.mlm import HMMPlan, draw_test_set
    >>> language = HMMPlan(states=2, words=6, length=4).build()
    >>> test = draw_test_set(language, 100, positions=4, seed=0)
    >>> test.tokens.shape, test.conditional.shape
    (torch.Size([100, 4]), torch.Size([100, 6]))
    """
    parts = []
    for number, first in enumerate(range(0, sentences, batch)):
        generator = batch_generator(seed, "evaluation", number, device)
        drawn = draw_batch(language, min(batch, sentences - first), positions, 0.0, generator)
        parts.append(
            (
                drawn.tokens,
                drawn.positions,
                hidden_conditional(language, drawn.tokens, drawn.positions, drawn.targets),
            )
        )
    return TestSet(*(torch.cat(column) for column in zip(*parts, strict=True)))


def hidden_conditional(
    language: Language,
    tokens: Int[Tensor, "n positions"],
    positions: Int[Tensor, "n 1"],
    targets: Int[Tensor, "n 1"],
) -> Float[Tensor, "n words"]:
    """Pr(x_t | x₋ₜ) at the masked position: that of the sentence itself, which does not depend on
    the hidden word.
    """
    conditionals = language.masked_conditional(tokens.scatter(1, positions, targets))
    return conditionals[torch.arange(len(positions), device=positions.device), positions[:, 0]]


def divergence(
    true: Float[Tensor, "n words"], logits: Float[Tensor, "*models n words"]
) -> Float[Tensor, "*models n"]:
    """KL(true ‖ softmax of the logits) in nats, in float64; what is impossible adds nothing."""
    log_model = logits.double().log_softmax(-1)
    cross = torch.where(true > 0, true * log_model, 0.0)
    return (torch.special.xlogy(true, true) - cross).sum(-1)


@torch.no_grad()
@checked
def evaluate(
    model: Callable[[Tensor, Tensor], Tensor], test: TestSet, *, batch: Size = 1024
) -> Evaluation:
    """Compare a model with the exact conditionals on a test set.

    Divergences are computed in float64, and sums of probabilities that the model gives to words
    that are impossible count.

    Parameters
    ----------
    model
        any module whose `model(tokens, positions)` are logits (sentences, 1, words).
    test
        from `draw_test_set`.
    batch
        sentences at a time.

    Returns
    -------
    Evaluation
        entropy and divergence in nats, with the standard error of the second.

    Raises
    ------
    ValueError
        a model whose logits are not finite where the language has a word, or not one for each word;
        what is not a model or test set; a batch below 1.

    Examples
    --------
    >>> from ntpcompanion.mlm import HMMPlan, draw_test_set
    >>> from ntpcompanion.mlm import evaluate
    >>> from ntpcompanion.networks import TransformerSize, build_model
    >>> language = HMMPlan(states=2, words=6, length=4).build()
    >>> model = build_model(TransformerSize(8, 1, 1).for_sentences(words=6, positions=4), seed=0)
    >>> found = evaluate(model, draw_test_set(language, 100, positions=4, seed=0))
    >>> found.loss == found.entropy + found.kl, found.saturated
    (True, False)
    """
    parts = []
    for first in range(0, len(test.positions), batch):
        part = slice(first, first + batch)
        logits = model(test.tokens[part], test.positions[part])[:, 0]
        _check_words(logits, test)
        parts.append(divergence(test.conditional[part], logits))
    kl = torch.cat(parts).cpu()
    if not kl.isfinite().all():
        raise ValueError(
            "`model` gives a logit that is not finite to a word that can occur: its KL is not "
            "finite. Lower the learning rate."
        )
    means = torch.stack([subset.mean() for subset in kl.chunk(SUBSETS)])
    return Evaluation(
        float(torch.special.entr(test.conditional).sum(1).mean()),
        float(kl.mean()),
        float(means.std() / SUBSETS**0.5),
    )


def _check_words(logits: Tensor, test: TestSet) -> None:
    words = test.conditional.shape[1]
    if logits.shape[-1] != words:
        raise ValueError(
            f"`model` must give a logit for each of the {words} words of `test`, got "
            f"{logits.shape[-1]}."
        )


@checked(
    need(
        "batch",
        "batch.positions.shape[1] == 1",
        "have one mask a sentence",
        "Draw it with share 0.",
    )
)
@torch.no_grad()
def drawn_and_expected_losses(
    model: nn.Module, language: Language, batch: MaskedBatch
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """The loss of each sentence on the word that was hidden, and its expectation over that word
    (entropy plus divergence), in nats. `model(tokens, positions)` are logits (n, 1, words). Raises
    ValueError for a sentence with several masks.
    """
    true = hidden_conditional(language, batch.tokens, batch.positions, batch.targets)
    log_model = model(batch.tokens, batch.positions)[:, 0].double().log_softmax(1)
    drawn = -log_model.gather(1, batch.targets)[:, 0]
    return drawn, -torch.where(true > 0, true * log_model, 0.0).sum(1)
