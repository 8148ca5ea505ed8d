import pytest
import torch

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.evaluation.lookup_table import lookup_features
from ntpcompanion.mlm.probes.converged_probe import gaussian_projection
from tests.mlm.cases import MIXED, SMALL, generator


def by_enumeration(language, sentence, positions):
    """Every word is tried in every place."""
    rows = torch.zeros(positions, language.vocab_size, dtype=torch.float64)
    for t in range(len(sentence)):
        tried = torch.tensor(
            [[*sentence[:t], v, *sentence[t + 1 :]] for v in range(language.vocab_size)]
        )
        rows[t] = language.log_prob(tried).softmax(0)
    return rows.flatten()


@pytest.mark.parametrize("plan", [SMALL, MIXED])
def test_features_are_the_exact_conditionals(plan):
    language = plan.build()
    tokens = language.sample(30, generator())
    found = lookup_features(language, tokens, 6, batch=7)
    assert found.dtype == torch.float32
    for row, sentence in zip(found, tokens.tolist(), strict=True):
        words = [word for word in sentence if word != PADDING]
        assert torch.allclose(row.double(), by_enumeration(language, words, 6), rtol=0, atol=1e-7)
    conditionals = language.masked_conditional(tokens).float().flatten(1)
    assert torch.equal(found[:, : conditionals.shape[1]], conditionals)


def test_a_projection_is_applied_batch_by_batch():
    language = SMALL.build()
    tokens = language.sample(20, generator())
    projection = gaussian_projection(24, 5, generator())
    projected = lookup_features(language, tokens, 4, batch=6, projection=projection)
    assert torch.allclose(
        projected, lookup_features(language, tokens, 4) @ projection, rtol=0, atol=1e-6
    )


def test_what_has_no_conditionals_is_refused():
    language = SMALL.build()
    tokens = language.sample(5, generator())
    with pytest.raises(ValueError, match="`batch` must be at least 1, got 0"):
        lookup_features(language, tokens, 4, batch=0)
    with pytest.raises(ValueError, match="holds sentences of 4 words, the model has 3 `positions`"):
        lookup_features(language, tokens, 3)
    with pytest.raises(ValueError, match="has probability 0 in this language"):
        lookup_features(language, torch.tensor([[0, 5, 0, 5]]), 4)  # words of two blocks
