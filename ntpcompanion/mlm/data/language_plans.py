"""Languages of the two random families, named by their sizes and a seed: plain values that a record
can hold.
"""

from dataclasses import dataclass, field
from typing import Literal

from ntpcompanion.checks import Count, Device, Positive, Size, checked, need
from ntpcompanion.languages.grammars.levelled_grammars import random_levelled_pcfg
from ntpcompanion.languages.grammars.pcfg import PCFG
from ntpcompanion.languages.hmm import HMM
from ntpcompanion.languages.random_hmms import random_block_hmm
from ntpcompanion.randomness import stream


@dataclass(frozen=True)
@checked
class HMMPlan:
    """A random hidden Markov model, see `random_block_hmm`.

    Fields
    ------
    states
        hidden states.
    words
        of the vocabulary.
    length
        words of every sentence.
    blocks
        of the transition and emission matrices; a number that divides `states` and `words`.
    seed
        of the tables.
    transition, emission
        parameters of the Dirichlet distributions of the rows of the two matrices within a block: 1
        is the uniform distribution, near 0 few entries of a row carry it.
    family
        "hmm", which tells this plan from a `PCFGPlan` in a file.

    Raises
    ------
    ValueError
        a size below 1, a negative seed, a Dirichlet parameter that is not positive and finite;
        `build` rejects blocks that do not divide.

    Examples
    --------
    >>> from ntpcompanion.mlm import HMMPlan
    >>> language = HMMPlan(states=4, words=20, length=8, blocks=2, seed=1).build()
    >>> language.emission.shape, language.length
    (torch.Size([4, 20]), 8)
    """

    states: Size
    words: Size
    length: Size
    blocks: Size = 1
    seed: Count = 0
    transition: Positive = 1.0
    emission: Positive = 1.0
    family: Literal["hmm"] = field(default="hmm", kw_only=True)

    @checked
    def build(self, device: Device = "cpu") -> HMM:
        """The language itself, its tables on `device`; the same tables on every device. Raises
        ValueError for what is not a device.
        """
        return random_block_hmm(
            stream(self.seed, "language"),
            states=self.states,
            vocab=self.words,
            length=self.length,
            blocks=self.blocks,
            transition_concentration=self.transition,
            emission_concentration=self.emission,
        ).to(device)


@dataclass(frozen=True)
@checked(
    need(
        "nonterminals", "nonterminals >= depth", "be at least `depth` = {depth}, one for each level"
    ),
    need("words_each", "words_each is None or words_each <= words", "be at most `words` = {words}"),
)
class PCFGPlan:
    """A random levelled grammar, see `random_levelled_pcfg`, by default with as many rules for each
    symbol as fit up to those of the paper (20 pairs, 100 words).

    Fields
    ------
    nonterminals
        symbols of the grammar that are not words, over all levels.
    words
        of the vocabulary.
    depth
        levels; the longest sentence has 2^(depth − 1) words.
    seed
        of the tables.
    pairs
        how many pairs of symbols a symbol above the last level may be rewritten as; None for 20, or
        all there are.
    words_each
        how many words a symbol of the last level may be rewritten as; None for 100, or all there
        are.
    family
        "pcfg", which tells this plan from an `HMMPlan` in a file.

    Raises
    ------
    ValueError
        a size below 1, a negative seed; `build` rejects fewer nonterminals than levels, and more
        pairs or words than there are.

    Examples
    --------
    >>> from ntpcompanion.mlm import PCFGPlan
    >>> plan = PCFGPlan(nonterminals=12, words=20, depth=4)
    >>> plan.length, plan.build().vocab_size
    (8, 20)
    """

    nonterminals: Size
    words: Size
    depth: Size
    seed: Count = 0
    pairs: Size | None = None
    words_each: Size | None = None
    family: Literal["pcfg"] = field(default="pcfg", kw_only=True)

    @property
    def length(self) -> int:
        """Words of the longest sentence."""
        return 2 ** (self.depth - 1)

    @checked
    def build(self, device: Device = "cpu") -> PCFG:
        """The language itself, its tables on `device`; the same tables on every device. Raises
        ValueError for what is not a device, and for numbers that do not fit, see above.
        """
        on_last_level = self.nonterminals // self.depth
        return random_levelled_pcfg(
            stream(self.seed, "language"),
            symbols=self.nonterminals,
            vocab=self.words,
            depth=self.depth,
            pairs=min(20, on_last_level**2) if self.pairs is None else self.pairs,
            words=min(100, self.words) if self.words_each is None else self.words_each,
        ).to(device)
