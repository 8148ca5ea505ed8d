"""What predictors lose that are blind to some of the context: how much a language leaves to be
learned from it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ntpcompanion.checks import Count, Device, checked, need
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.language import PADDING, exact_entropy_floor
from ntpcompanion.mlm.evaluation.evaluate import TestSet, draw_test_set

FEW_SENTENCES = 20_000  # strings of words that are enumerated in place of drawn
SENTENCES_PER_CHUNK = 2048  # sentences of a grammar that are read together


@dataclass(frozen=True)
class ContextGaps:
    """The least losses, in nats, of predictors of one masked word that know ever less of the rest.

    The masked position is uniform over the words of the sentence, as in training; all predictors
    know it, and the length of the sentence.

    Fields
    ------
    floor, floor_stderr
        E H(x_t | all other words), the entropy lower bound; and its standard error over drawn
        sentences, 0 where all were enumerated.
    position
        H(x_t | position and length).
    block
        H(x_t | position and block) for an HMM with blocks; `position` if there is one block, and
        for a grammar.
    neighbours, neighbours_stderr
        E H(x_t | the words before and after it, position and length); and its standard error, 0
        where it is exact: for every HMM, and for grammars with few words.
    """

    floor: float
    floor_stderr: float
    position: float
    block: float
    neighbours: float
    neighbours_stderr: float

    @property
    def learnable_gap(self) -> float:
        """What context is worth beyond position and block."""
        return min(self.position, self.block) - self.floor

    @property
    def neighbours_gap(self) -> float:
        """What context is worth beyond the two neighbouring words."""
        return self.neighbours - self.floor


@checked(need("language", "getattr(language, 'longest', 1)", "have a longest sentence"))
def context_gaps(
    language: HMM | PCFG,
    sentences: int,
    seed: Count,
    device: Device = "cpu",
    *,
    enumerated: Count = 150_000,
) -> ContextGaps:
    """The losses of the predictors that know position, block, neighbours, and everything.

    Parameters
    ----------
    language
        an HMM, or a grammar whose sentences have at most `longest` words.
    sentences
        how many are drawn where not all can be enumerated.
    seed
        of the drawn sentences, as for `draw_test_set`.
    device
        on which the drawn sentences are read.
    enumerated
        the loss given the neighbours in a grammar is exact if they can be chosen in at most so many
        ways, over all positions and lengths: half a minute for 60 words and sentences of at most 8.
        0 for an average over the drawn sentences.

    Returns
    -------
    ContextGaps
        all losses in nats.

    Raises
    ------
    ValueError
        a grammar that is recursive or has no sentence; fewer sentences than `draw_test_set` takes;
        another kind of language, or of number.

    Notes
    -----
    For an HMM of S states, V words and length T all but the floor is exact linear algebra, with
    O(T V³ S) time for the neighbours. For a grammar the distribution of a word given some of the
    others is that in the grammar that also erases words at random (see `with_erasures`): exact for
    position and length, and for the neighbours where they are few, else an average over drawn
    sentences.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import HMM
    >>> from ntpcompanion.mlm import context_gaps
    >>> step = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    >>> start = torch.full((2,), 0.5, dtype=torch.float64)
    >>> chain = HMM(start, step, torch.eye(2, dtype=torch.float64), length=4)
    >>> gaps = context_gaps(chain, sentences=100, seed=0)
    >>> round(gaps.learnable_gap, 4), abs(gaps.neighbours_gap) < 1e-12  # its states are its words
    (0.4412, True)
    """
    longest = language.length if isinstance(language, HMM) else language.longest or 0
    test = draw_test_set(language, sentences, longest, seed, device)
    floor = _floor(language, longest, test)
    if isinstance(language, HMM):
        losses = (_position_loss(language), _block_loss(language), _neighbours_loss(language))
        return ContextGaps(*floor, *losses, neighbours_stderr=0.0)
    position = _grammar_position_loss(language, longest)
    neighbours = _grammar_neighbours(language, longest, test, enumerated)
    return ContextGaps(*floor, position, position, *neighbours)


def _floor(language: HMM | PCFG, longest: int, test: TestSet) -> tuple[float, float]:
    lengths = list(range(longest if isinstance(language, HMM) else 1, longest + 1))
    if sum(language.vocab_size**n for n in lengths) <= FEW_SENTENCES:
        return exact_entropy_floor(language, lengths).per_sentence, 0.0
    return _mean_and_stderr(torch.special.entr(test.conditional).sum(1))


def _mean_and_stderr(values: Tensor) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / len(values) ** 0.5)


def _conditional_entropy(joint: Float[Tensor, "contexts words"]) -> Tensor:
    """H(word | context) times the total of the joint probabilities."""
    return torch.special.entr(joint).sum() - torch.special.entr(joint.sum(1)).sum()


def _state_marginals(language: HMM) -> Iterator[Float[Tensor, " S"]]:
    """The distribution of the hidden state at each position."""
    state = language.initial
    for _ in range(language.length):
        yield state
        state = state @ language.transition


def _position_loss(language: HMM) -> float:
    chances = torch.stack([state @ language.emission for state in _state_marginals(language)])
    return float(torch.special.entr(chances).sum(1).mean())


def _blocks(language: HMM) -> Float[Tensor, "blocks S"]:
    """Which states are linked by transitions or by words that they share, one row a block."""
    step, word = (language.transition > 0).double(), (language.emission > 0).double()
    linked = step + step.T + word @ word.T
    for _ in range(language.num_states.bit_length()):  # paths twice as long each time
        linked = (linked @ linked > 0).double()
    return linked.unique(dim=0)


def _block_loss(language: HMM) -> float:
    blocks = _blocks(language)
    losses = [
        _conditional_entropy(blocks * state @ language.emission)
        for state in _state_marginals(language)
    ]
    return float(torch.stack(losses).mean())


def _neighbours_loss(language: HMM) -> float:
    emission, step = language.emission, language.transition
    states = list(_state_marginals(language))
    losses = []
    for t, state in enumerate(states):
        # Pr(word before, state here) and Pr(word after | state here); one blank word at the ends
        before = (states[t - 1][:, None] * emission).T @ step if t else state[None]
        after = step @ emission if t + 1 < len(states) else torch.ones_like(state)[:, None]
        losses += [_conditional_entropy((row * after.T) @ emission) for row in before]
    return float(torch.stack(losses).sum()) / language.length


def with_erasures(grammar: PCFG) -> PCFG:
    """The grammar after each word of its sentences was replaced by word V with probability ½.

    Its conditionals are those of the grammar given only the words that are not erased, and a
    sentence of n words has 2⁻ⁿ times the probability of the words that are left.
    """
    erased = grammar.lexical.sum(1, keepdim=True)
    return PCFG(grammar.root, grammar.binary, torch.cat([grammar.lexical, erased], 1) / 2)


def _word_entropies(erasing: PCFG, tokens: Int[Tensor, "batch n"]) -> Float[Tensor, "batch n"]:
    """H(x_t | the other words, as far as they are not erased), at every position."""
    parts = []
    for part in tokens.split(SENTENCES_PER_CHUNK):
        words = erasing.masked_conditional(part)[..., :-1]
        words = words / torch.where(part == PADDING, 1.0, words.sum(-1))[..., None]
        parts.append(torch.special.entr(words).sum(-1))
    return torch.cat(parts)


def _grammar_position_loss(grammar: PCFG, longest: int) -> float:
    chance = grammar.length_distribution(longest)
    lengths = chance.nonzero() + 1
    columns = torch.arange(longest, device=lengths.device)
    blank = torch.where(columns < lengths, grammar.vocab_size, PADDING)
    entropy = _word_entropies(with_erasures(grammar), blank).sum(1) / lengths[:, 0]
    return float((entropy * chance[lengths[:, 0] - 1]).sum())


def _grammar_neighbours(
    grammar: PCFG, longest: int, test: TestSet, enumerated: int
) -> tuple[float, float]:
    """The loss given the neighbours, and its standard error."""
    words, erasing = grammar.vocab_size, with_erasures(grammar)
    lengths = (grammar.length_distribution(longest).nonzero()[:, 0] + 1).tolist()
    if sum(max(n - 2, 0) for n in lengths) * words**2 > enumerated:
        columns = torch.arange(longest, device=test.positions.device)
        far = ((columns - test.positions).abs() != 1) & (test.tokens != PADDING)
        entropies = _word_entropies(erasing, test.tokens.masked_fill(far, words))
        return _mean_and_stderr(entropies.gather(1, test.positions)[:, 0])
    loss = 0.0
    for n in lengths:
        for t in range(n):
            contexts = _neighbour_contexts(words, n, t).to(grammar.root.device)
            chance = (erasing.log_prob(contexts) + n * math.log(2)).exp()
            possible = chance > 0
            entropies = _word_entropies(erasing, contexts[possible])[:, t]
            loss += float((chance[possible] * entropies).sum()) / n
    return loss, 0.0


def _neighbour_contexts(words: int, n: int, t: int) -> Int[Tensor, "contexts n"]:
    """Every choice of the words before and after position t, all others erased."""
    neighbours = [other for other in (t - 1, t + 1) if 0 <= other < n]
    contexts = torch.full((words ** len(neighbours), n), words)
    if neighbours:
        choices = torch.cartesian_prod(*[torch.arange(words)] * len(neighbours))
        contexts[:, neighbours] = choices.view(len(contexts), len(neighbours))
    return contexts
