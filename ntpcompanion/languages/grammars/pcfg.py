"""Probabilistic context-free grammars in Chomsky normal form: exact masked conditionals of all
positions from one inside–outside pass.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.checks import Count, Device, Size, checked
from ntpcompanion.languages.grammars.inside_outside import Chart
from ntpcompanion.languages.language import PADDING, cumulative, draw
from ntpcompanion.languages.language_checks import (
    check_normalized,
    check_possible,
    checked_distributions,
    checked_entries,
    checked_tokens,
)
from ntpcompanion.validation import require

# of sentences that are short enough: below it, sampling by rejection draws more than 10,000 for
# each one it keeps
MIN_FRACTION = 1e-4
MAX_WORDS = 1024  # of a sentence, unless asked for: the probabilities of lengths take O(n²) time
# words of the sentences that are expanded at one time: 16 MB in each of about ten tensors
MAX_CELLS = 2**21


@dataclass(frozen=True, eq=False)
class PCFG:
    """S symbols, each rewritten as two symbols or as one of V words; a language in the sense of
    `Language`.

    Pr(sentence) is the sum, over all its parse trees, of root[top symbol] times the probabilities
    of the rules used. Sentences of mixed lengths share a batch, padded with −1 on the right.
    Grammars may be recursive, and supercritical (derivations that never end then have positive
    probability, so that Σ Pr(sentence) < 1): everything that is asked about given sentences stays
    exact.

    Fields
    ------
    root
        (S,) distribution of the symbol of the whole sentence.
    binary
        (S, S, S) binary[a, b, c] = Pr(a → b c).
    lexical
        (S, V) lexical[a, v] = Pr(a → word v). For every symbol a, Σ binary[a] + Σ lexical[a] = 1.

    Raises
    ------
    ValueError
        tables of the wrong shape, not finite, negative, or a distribution that does not sum to 1
        within 1e-8.

    Notes
    -----
    Cost for B sentences of n words: an inside pass takes O(B n² S³ + B n³ S²) time and about 16 B
    (n² S + n S²) bytes; masked conditionals take an outside pass more (the derivative of the inside
    pass) and as many bytes again, plus 8 B n V. Every span keeps its own scale, so that long
    sentences do not underflow; but a rule whose two parts together are 1e300 times less likely than
    the best ones over their spans counts as impossible, and masked conditionals and posteriors lose
    parts that weigh e³⁰⁰ times as much as the span itself, which symbols that exclude each other
    can have from some 40 words on. Source: Lari and Young 1990 (inside–outside); Liu et al. 2023,
    sections 3.2 and A.2.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import PCFG
    >>> root = torch.tensor([1.0, 0.0], dtype=torch.float64)
    >>> binary = torch.zeros(2, 2, 2, dtype=torch.float64)
    >>> binary[0, 1, 1] = 0.4  # symbol 0 → symbol 1, symbol 1
    >>> lexical = torch.tensor([[0.6, 0.0], [0.5, 0.5]], dtype=torch.float64)
    >>> grammar = PCFG(root, binary, lexical)
    >>> sentences = torch.tensor([[0, -1], [1, 1]])  # one word; two words
    >>> grammar.log_prob(sentences).exp().round(decimals=4).tolist()
    [0.6, 0.1]
    >>> grammar.masked_conditional(sentences[1:])[0].round(decimals=4).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    root: Float[Tensor, " S"]
    binary: Float[Tensor, "S S S"]
    lexical: Float[Tensor, "S V"]

    def __post_init__(self) -> None:
        root = checked_distributions("root", self.root, (None,))
        symbols = len(root)
        binary = checked_entries("binary", self.binary, (symbols, symbols, symbols))
        lexical = checked_entries("lexical", self.lexical, (symbols, None))
        check_normalized("binary` and `lexical", binary.sum((1, 2)) + lexical.sum(1))
        for name, table in (("root", root), ("binary", binary), ("lexical", lexical)):
            object.__setattr__(self, name, table)

    @property
    def vocab_size(self) -> int:
        """The number V of words."""
        return self.lexical.shape[1]

    @property
    def num_symbols(self) -> int:
        """The number S of symbols that are not words (the paper's non-terminals)."""
        return len(self.root)

    @cached_property
    def longest(self) -> int | None:
        """The number of words of the longest sentence; None if the grammar is recursive, so that
        there is none, 0 if there is no sentence.

        Trees without a symbol below itself have at most S levels; more levels give longer sentences
        exactly if some symbol recurs.
        """
        rules, words = self.binary.cpu() > 0, (self.lexical > 0).any(1).cpu()
        once = self._grown(torch.where(words, 1.0, -torch.inf).double(), rules)
        twice = self._grown(once, rules)
        ends = once.isfinite()
        top = used = (self.root.cpu() > 0) & ends
        for _ in range(self.num_symbols):
            pairs = rules[used].any(0) & ends[:, None] & ends
            used = used | pairs.any(0) | pairs.any(1)
        if not torch.equal(once[used], twice[used]):
            return None
        return int(once[top].max()) if top.any() else 0

    def _grown(self, longest: Tensor, rules: Tensor) -> Tensor:
        """The longest yield of each symbol when its tree may have S levels more."""
        for _ in range(self.num_symbols):
            pairs = (
                (longest[:, None] + longest[None])
                .expand(rules.shape)
                .masked_fill(~rules, -torch.inf)
            )
            longest = torch.maximum(longest, pairs.amax((1, 2)))
        return longest

    @cached_property
    def _rules(self) -> tuple[slice | Tensor, Tensor]:
        """The pairs (b, c), as numbers b S + c, on the right of some rule, and the probabilities of
        the rules, (S, pairs).

        Most grammars use few of the S² pairs: the levelled family of 50 symbols one in seven, which
        is what its charts cost.
        """
        rules = self.binary.flatten(1)
        used = (rules > 0).any(0)
        return (slice(None), rules) if used.all() else (used.nonzero()[:, 0], rules[:, used])

    @checked
    def to(self, device: Device) -> "PCFG":
        """The same language with its tables on `device`; itself if they are there.

        Raises ValueError for what is not a device.
        """
        if self.root.device == torch.device(device):
            return self
        return PCFG(self.root.to(device), self.binary.to(device), self.lexical.to(device))

    @checked
    def length_distribution(self, max_length: Size) -> Float[Tensor, " max_length"]:
        """Pr(the sentence has n words) for n = 1 … max_length; what is missing to 1 is longer or
        never ends.

        Cost O(max_length² S² + max_length S³). Raises ValueError if `max_length` is below 1.
        """
        yields = [self.lexical.sum(1)]
        for n in range(2, max_length + 1):
            # k words on the left, n − k on the right
            left, right = torch.stack(yields), torch.stack(yields[::-1])
            yields.append(torch.einsum("abc,bc->a", self.binary, left[: n - 1].T @ right[: n - 1]))
        return torch.stack(yields) @ self.root

    @checked
    def sample(
        self,
        n: Count,
        generator: torch.Generator,
        device: Device = "cpu",
        max_length: Size | None = None,
    ) -> Int[Tensor, "n length"]:
        """Draw n sentences, (n, length) int64, padded with −1 to the longest of them.

        Computed on the device of the generator and moved to `device`: a generator on the CPU gives
        the same sentences on every device.

        Parameters
        ----------
        max_length
            sentences with more words, and those that never end, are rejected and drawn again: the
            distribution is that of the language given at most `max_length` words, and the share
            rejected is 1 − length_distribution(max_length).sum(). By default the longest sentence
            there is, which rejects nothing but what never ends; a recursive grammar has none and
            needs a number.

        Raises
        ------
        ValueError
            a negative n; no `max_length` for a recursive grammar or one with sentences of more than
            1024 words; a `max_length` that less than a share of 1e-4 of the sentences keeps to.
        """
        max_length, fraction = self._checked_maximum(max_length)
        local = self.to(generator.device)
        rules = cumulative(torch.cat([local.lexical, local.binary.flatten(1)], 1))
        batches = [torch.zeros(0, max_length, dtype=torch.int64, device=generator.device)]
        while (missing := n - sum(map(len, batches))) > 0:
            rows = max(1, min(int(1.1 * missing / fraction) + 1, MAX_CELLS // max_length))
            forms = first_symbols(local.root, rows, max_length, generator)
            sizes = self.num_symbols, self.vocab_size
            batches.append(all_words(forms, rules, sizes, generator)[:missing])
        tokens = torch.cat(batches)
        return tokens[:, (tokens != PADDING).any(0)].to(device) if n else tokens.to(device)

    def _checked_maximum(self, max_length: int | None) -> tuple[int, float]:
        """The most words of a sentence, and how likely a sentence is to have no more."""
        if max_length is None:
            max_length = self._usual_maximum()
        fraction = float(self.length_distribution(max_length).sum())
        few = f"{max_length} keeps a fraction of {fraction:.3g} of all sentences"
        require(fraction >= MIN_FRACTION, f"`max_length` = {few}. Allow more words.")
        return max_length, min(fraction, 1.0)

    def _usual_maximum(self) -> int:
        """The words of the longest sentence. Raises ValueError if there is none, or a very long
        one.
        """
        if self.longest is not None and self.longest <= MAX_WORDS:
            return max(self.longest, 1)
        why = (
            "the grammar is recursive and has no longest sentence"
            if self.longest is None
            else f"sentences reach {self.longest} words"
        )
        raise ValueError(
            f"`max_length` is needed: {why}. Give a number of words; longer sentences are then "
            "rejected."
        )

    def log_prob(self, tokens: Integer[Tensor, "batch length"]) -> Float[Tensor, " batch"]:
        """The log-probability of each sentence in nats, (batch,); −∞ for an impossible one. Raises
        ValueError for what are not tokens.
        """
        tokens, lengths = checked_tokens(tokens, self.vocab_size)
        return self._chart(tokens, lengths).log_prob

    def log_inside(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length length S"]:
        """Entry [·, i, w, a] is log Pr(symbol a yields the w + 1 words from word i on) in nats,
        (batch, length, length, S).

        −∞ where that is impossible, and for spans that leave the sentence. Raises ValueError for
        what are not tokens.
        """
        tokens, lengths = checked_tokens(tokens, self.vocab_size)
        chart = self._chart(tokens, lengths)
        return chart.inside.log() + chart.scale[..., None]

    def masked_conditional(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Pr(x_t = v | all other words), for every position t at once, (batch, length, V); 0 at
        padded positions.

        The length of the sentence is among what is given. Raises ValueError for a sentence of
        probability 0 and for what are not tokens.
        """
        tokens, lengths = checked_tokens(tokens, self.vocab_size)
        chart = self._chart(tokens, lengths)
        check_possible(tokens, chart.log_prob.isfinite())
        if not tokens.numel():
            return tokens.new_zeros((*tokens.shape, self.vocab_size), dtype=torch.float64)
        weights = chart.outside()[:, :, 0] @ chart.lexical
        return weights / torch.where(tokens == PADDING, 1.0, weights.sum(-1))[..., None]

    def latent_posterior(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length length S"]:
        """Entry [·, i, w, a] is Pr(the w + 1 words from word i on are a constituent of symbol a |
        sentence), (batch, length, length, S).

        All entries of one sentence of n words sum to 2n − 1, the number of nodes of each of its
        trees. Raises ValueError for a sentence of probability 0 and for what are not tokens.
        """
        tokens, lengths = checked_tokens(tokens, self.vocab_size)
        chart = self._chart(tokens, lengths)
        check_possible(tokens, chart.log_prob.isfinite())
        return chart.outside() * chart.inside

    def _chart(self, tokens: Tensor, lengths: Tensor) -> Chart:
        grammar = self.to(tokens.device)
        return Chart(grammar.root, grammar.lexical, *grammar._rules, tokens, lengths)


def first_symbols(
    root: Float[Tensor, " S"], rows: int, columns: int, generator: torch.Generator
) -> Int[Tensor, "rows columns"]:
    """Forms of one symbol each, drawn from the distribution of the symbol of the whole sentence."""
    forms = torch.full((rows, columns), PADDING, device=generator.device)
    whole = torch.zeros(rows, dtype=torch.int64, device=generator.device)
    forms[:, 0] = -2 - draw(cumulative(root[None]), whole, len(root), generator)
    return forms


def all_words(
    forms: Int[Tensor, "rows columns"],
    rules: Tensor,
    sizes: tuple[int, int],
    generator: torch.Generator,
) -> Int[Tensor, "kept columns"]:
    """Expand forms until only words are left. Those that outgrow the columns are dropped, complete
    or not, as every symbol becomes at least one word.

    `rules` is what `cumulative` makes of the rules of each symbol: V words first, then S² pairs.
    `sizes` are S and V.
    """
    while bool((forms < PADDING).any()):
        forms = _rewritten(forms, rules, sizes, generator)
    return forms


def _rewritten(
    forms: Tensor, rules: Tensor, sizes: tuple[int, int], generator: torch.Generator
) -> Tensor:
    """All symbols rewritten once, without the rows that became too long."""
    symbols, words = sizes
    open_ = forms < PADDING
    first, second = forms.clone(), torch.full_like(forms, PADDING)
    rule = draw(rules, -2 - forms[open_], words + symbols**2, generator)
    pair = rule - words
    first[open_] = torch.where(pair < 0, rule, -2 - pair.div(symbols, rounding_mode="floor"))
    second[open_] = torch.where(pair < 0, PADDING, -2 - pair % symbols)
    wide = torch.stack([first, second], 2).flatten(1)
    column_of = (wide != PADDING).cumsum(1) - 1
    fits = column_of[:, -1] < forms.shape[1]
    wide, column_of = wide[fits], column_of[fits]
    row, column = (wide != PADDING).nonzero(as_tuple=True)
    grown = torch.full((len(wide), forms.shape[1]), PADDING, device=forms.device)
    grown[row, column_of[row, column]] = wide[row, column]
    return grown
