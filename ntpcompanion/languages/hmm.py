"""Hidden Markov models: exact masked conditionals of all positions from one forward and one
backward pass.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor

from ntpcompanion.checks import Count, Device, checked
from ntpcompanion.languages.language import PADDING, cumulative, draw
from ntpcompanion.languages.language_checks import (
    check_possible,
    checked_distributions,
    checked_tokens,
)
from ntpcompanion.validation import as_integer

TINY = torch.finfo(torch.float64).tiny


@dataclass(frozen=True, eq=False)
class HMM:
    """Hidden states z₁ → z₂ → … of S kinds, each emitting one of V words; a language in the sense
    of `Language`.

    Pr(x₁ … x_T) = Σ_z initial[z₁] emission[z₁, x₁] Π_t transition[z_{t−1}, z_t] emission[z_t, x_t].

    Sentences of any length can be scored, padded with −1 on the right to the longest of their
    batch: the distribution is then that of the first words of the process, given how many they are.
    Everything is computed in float64 on the device of the tokens (`to` saves the copy of the
    tables). Messages are scaled to sum 1 at every step; sentences in which a message comes so close
    to the smallest float64 that a state could be lost are computed again in log space, so that no
    length underflows.

    Fields
    ------
    initial
        (S,) distribution of the first state.
    transition
        (S, S) row s is the distribution of the state after s.
    emission
        (S, V) row s is the distribution of the word in state s.
    length
        of the sentences that `sample` draws.

    Raises
    ------
    ValueError
        tables of the wrong shape, not finite, negative, or with rows that do not sum to 1 within
        1e-8; a length below 1.

    Notes
    -----
    For B sentences of T words, `log_prob`, `masked_conditional` and `latent_posterior` take O(B T S
    (S + V)) time and about 8 B T (4 S + 2 V) bytes; a sentence that needs log space takes 8 S²
    bytes more, and about ten times as long. Source: Rabiner 1989 (forward–backward); Liu et al.
    2023, section 3.2, for the use, where the algorithm is called Viterbi.

    Examples
    --------
    >>> import torch
    >>> from ntpcompanion.languages import HMM
    >>> step = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    >>> start = torch.full((2,), 0.5, dtype=torch.float64)
    >>> switch = HMM(start, step, torch.eye(2, dtype=torch.float64), length=4)
    >>> sentence = torch.tensor([[0, 0, 1, 1]])
    >>> round(float(switch.log_prob(sentence).exp()), 4)  # 0.5 · 0.9 · 0.1 · 0.9
    0.0405
    >>> given_the_others = switch.masked_conditional(sentence)  # (batch, position, word)
    >>> given_the_others[0].round(decimals=4).tolist()
    [[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.1, 0.9]]
    """

    initial: Float[Tensor, " S"]
    transition: Float[Tensor, "S S"]
    emission: Float[Tensor, "S V"]
    length: int

    def __post_init__(self) -> None:
        initial = checked_distributions("initial", self.initial, (None,))
        states = len(initial)
        transition = checked_distributions("transition", self.transition, (states, states))
        emission = checked_distributions("emission", self.emission, (states, None))
        object.__setattr__(self, "length", as_integer("length", self.length, 1))
        for name, table in (
            ("initial", initial),
            ("transition", transition),
            ("emission", emission),
        ):
            object.__setattr__(self, name, table)

    @property
    def vocab_size(self) -> int:
        """The number V of words."""
        return self.emission.shape[1]

    @property
    def num_states(self) -> int:
        """The number S of hidden states."""
        return len(self.initial)

    @checked
    def to(self, device: Device) -> "HMM":
        """The same language with its tables on `device`; itself if they are there.

        Raises ValueError for what is not a device.
        """
        if self.initial.device == torch.device(device):
            return self
        return HMM(
            self.initial.to(device),
            self.transition.to(device),
            self.emission.to(device),
            self.length,
        )

    def sample(
        self, n: int, generator: torch.Generator, device: torch.device | str = "cpu"
    ) -> Int[Tensor, "n length"]:
        """Draw n sentences of `length` words, (n, length) int64.

        Computed on the device of the generator and moved to `device`: a generator on the CPU gives
        the same sentences on every device.
        """
        return self.sample_with_states(n, generator, device)[0]

    @checked
    def sample_with_states(
        self, n: Count, generator: torch.Generator, device: Device = "cpu"
    ) -> tuple[Int[Tensor, "n length"], Int[Tensor, "n length"]]:
        """Draw n sentences as `sample` does, and the hidden states that emitted them: columns 5 and
        9 are the labels of task-6 and task-10.

        Raises ValueError for a negative n.
        """
        local = self.to(generator.device)
        moves, words = cumulative(local.transition), cumulative(local.emission)
        rows = torch.zeros(n, dtype=torch.int64, device=generator.device)
        states = [draw(cumulative(local.initial[None]), rows, self.num_states, generator)]
        for _ in range(self.length - 1):
            states.append(draw(moves, states[-1], self.num_states, generator))
        path = torch.stack(states, 1)
        return draw(words, path, self.vocab_size, generator).to(device), path.to(device)

    def log_prob(self, tokens: Integer[Tensor, "batch length"]) -> Float[Tensor, " batch"]:
        """The log-probability of each sentence in nats, (batch,); −∞ for an impossible one. Raises
        ValueError for what are not tokens.
        """
        return self._read(tokens)[2]

    def masked_conditional(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length vocab"]:
        """Pr(x_t = v | all other words), for every position t at once, (batch, length, V); 0 at
        padded positions.

        Raises ValueError for a sentence of probability 0, which need not have conditionals, and for
        what are not tokens.
        """
        tokens, around, log_prob = self._read(tokens)
        check_possible(tokens, log_prob.isfinite())
        return (around @ self.emission.to(tokens.device)) * (tokens != PADDING)[..., None]

    def latent_posterior(
        self, tokens: Integer[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length S"]:
        """Pr(z_t = s | the whole sentence), (batch, length, S); 0 at padded positions.

        Raises ValueError for a sentence of probability 0 and for what are not tokens.
        """
        tokens, around, log_prob = self._read(tokens)
        check_possible(tokens, log_prob.isfinite())
        weight = around * self._likelihood(tokens)
        return weight / weight.sum(-1, keepdim=True) * (tokens != PADDING)[..., None]

    def _read(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Checked tokens, Pr(z_t = s | all words but x_t), (batch, length, S), and log Pr(x)."""
        tokens = checked_tokens(tokens, self.vocab_size)[0]
        likelihood = self._likelihood(tokens)
        around, log_prob, unsafe = self._scaled_passes(likelihood)
        rows = unsafe.nonzero()[:, 0]
        for row in rows.tolist():  # one at a time: S² numbers for each
            around[row], log_prob[row] = self._log_passes(likelihood[row].log())
        return tokens, around, log_prob

    def _likelihood(self, tokens: Tensor) -> Tensor:
        """Pr(x_t | z_t = s), (batch, length, S); 1 at padded positions, which then say nothing."""
        return (
            self.emission.to(tokens.device)
            .T[tokens.clamp_min(0)]
            .masked_fill((tokens == PADDING)[..., None], 1.0)
        )

    def _scaled_passes(self, likelihood: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pr(z_t | x₋ₜ), log Pr(x), and which sentences came too close to the smallest float64 to
        be trusted.

        What is above `_risky` cannot underflow in the next step, a product with one transition and
        one emission probability at most. So a positive entry that is never risky is never lost.
        """
        transition = self.transition.to(likelihood.device)
        before, after = torch.empty_like(likelihood), torch.ones_like(likelihood)
        log_prob = likelihood.new_zeros(len(likelihood))
        message = self.initial.to(likelihood.device).expand(len(likelihood), -1)
        for t in range(likelihood.shape[1]):
            before[:, t] = message
            seen = message * likelihood[:, t]
            scale = seen.sum(1, keepdim=True)
            log_prob = log_prob + scale[:, 0].log()
            message = (seen / torch.where(scale > 0, scale, 1.0)) @ transition
        for t in range(likelihood.shape[1] - 2, -1, -1):
            message = (after[:, t + 1] * likelihood[:, t + 1]) @ transition.T
            scale = message.amax(1, keepdim=True)
            after[:, t] = message / torch.where(scale > 0, scale, 1.0)
        around = before * after
        total = around.sum(-1, keepdim=True)
        near = ((before > 0) & (before < self._risky) | (after > 0) & (after < self._risky)).any(-1)
        meet = ((before > 0) & (after > 0)).any(-1)
        # above, products that underflowed are below rounding
        lost = near | meet & (total[..., 0] < TINY * 1e30)
        return around / torch.where(total > 0, total, 1.0), log_prob, lost.any(1)

    @cached_property
    def _risky(self) -> float:
        """The smallest float64 divided by the least positive product of a transition and an
        emission probability.
        """
        smallest = [float(table[table > 0].min()) for table in (self.transition, self.emission)]
        return TINY / max(smallest[0] * smallest[1], TINY)

    def _log_passes(self, log_likelihood: Float[Tensor, "length S"]) -> tuple[Tensor, Tensor]:
        """The same two results for one sentence, with every message a logarithm."""
        transition = self.transition.to(log_likelihood.device).log()
        before, after = torch.empty_like(log_likelihood), torch.zeros_like(log_likelihood)
        before[0] = self.initial.to(log_likelihood.device).log()
        for t in range(1, len(before)):
            before[t] = torch.logsumexp(
                (before[t - 1] + log_likelihood[t - 1])[:, None] + transition, 0
            )
        for t in range(len(after) - 2, -1, -1):
            after[t] = torch.logsumexp(transition + after[t + 1] + log_likelihood[t + 1], 1)
        around = before + after
        return torch.softmax(around, -1).nan_to_num(0.0), torch.logsumexp(
            before[-1] + log_likelihood[-1], 0
        )
