import pytest
import torch

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.evaluation.features import (
    extract_features,
    gaussian_projection,
    token_features,
)
from ntpcompanion.networks.build_network import build_model
from tests.mlm.cases import LSTM, TRANSFORMER, generator
from tests.networks.cases import double


@pytest.mark.parametrize("plan", [TRANSFORMER, LSTM])
def test_features_are_the_vectors_of_the_words_in_order(plan):
    model = build_model(plan, 0)
    tokens = torch.tensor([[0, 5, 1, PADDING], [3, 3, 2, 4], [1, PADDING, PADDING, PADDING]])
    vectors = model.features(tokens).detach()[:, -4:]
    found = extract_features(model, tokens, batch=2)
    assert found.shape == (3, 32)
    assert not found.requires_grad
    for row, sentence in zip(found, vectors, strict=True):
        assert torch.allclose(row, torch.cat(list(sentence)), rtol=0, atol=1e-6)
    # padded to the model
    assert torch.allclose(
        extract_features(model, tokens[:, :3])[[0, 2]], found[[0, 2]], rtol=0, atol=1e-6
    )
    assert token_features(model, tokens).requires_grad


def test_features_are_projected_batch_by_batch():
    model, tokens = double(TRANSFORMER), torch.randint(6, (20, 4), generator=generator())
    projection = gaussian_projection(32, 5, generator()).double()
    assert torch.allclose(
        extract_features(model, tokens, batch=7, projection=projection),
        extract_features(model, tokens) @ projection,
    )
    with pytest.raises(ValueError, match="`batch` must be at least 1, got 0"):
        extract_features(model, tokens, batch=0)


def test_a_projection_keeps_lengths_and_is_fixed_by_its_generator():
    assert torch.equal(
        gaussian_projection(9, 4, generator(1)), gaussian_projection(9, 4, generator(1))
    )
    rows = torch.randn(50, 300, generator=generator())
    ratio = (rows @ gaussian_projection(300, 400, generator(1))).square().sum(
        1
    ) / rows.square().sum(1)
    assert float((ratio - 1).abs().max()) < 6 * (2 / 400) ** 0.5
