"""What padding must not change, for any language."""

import pytest
import torch

from ntpcompanion.languages.language import PADDING

SENTENCES = [[0, 1, 2, 3, 0], [2], [3, 3, 1]]


def check_padding_changes_nothing(language, atol):
    """Everything about a padded batch equals what each sentence gives alone; returns the
    posteriors, and the lengths.
    """
    padded = torch.tensor([s + [PADDING] * (5 - len(s)) for s in SENTENCES])
    conditional, posterior, log_prob = (
        language.masked_conditional(padded),
        language.latent_posterior(padded),
        language.log_prob(padded),
    )
    for row, sentence in enumerate(SENTENCES):
        n, alone = len(sentence), torch.tensor([sentence])
        expected = language.latent_posterior(alone)[0]
        assert torch.allclose(
            conditional[row, :n], language.masked_conditional(alone)[0], atol=atol
        )
        assert torch.allclose(
            posterior[row][tuple(map(slice, expected.shape))], expected, atol=atol
        )
        assert float(log_prob[row]) == pytest.approx(float(language.log_prob(alone)), abs=10 * atol)
        assert not conditional[row, n:].any()
    return posterior, [len(sentence) for sentence in SENTENCES]
