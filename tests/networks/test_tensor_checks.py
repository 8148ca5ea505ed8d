import pytest
import torch

from ntpcompanion.networks.tensor_checks import check_as_many, check_asked, check_tokens

TOKENS = torch.tensor([[0, 1], [2, -1]])


def test_sentences_and_positions_pass():
    check_tokens("tokens", TOKENS.int())
    check_asked("at", None, TOKENS)
    check_asked("at", TOKENS[:, :1], TOKENS)
    check_as_many("fed", TOKENS, "prefix", TOKENS)


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (
            lambda: check_tokens("tokens", TOKENS[0]),
            "`tokens` must be a matrix of integers, a sentence in each row, got a torch.Tensor of "
            "torch.int64 with shape (2,).",
        ),
        (
            lambda: check_tokens("tokens", TOKENS > 0),
            "`tokens` must be a matrix of integers, a sentence in each row, got a torch.Tensor of "
            "torch.bool with shape (2, 2).",
        ),
        (
            lambda: check_asked("at", TOKENS[:1], TOKENS),
            "`at` must have a row for each of the 2 rows of `tokens`, got a torch.Tensor of "
            "torch.int64 with shape (1, 2).",
        ),
    ],
)
def test_what_is_wrong_is_told(check, sentence):
    with pytest.raises(ValueError) as refusal:
        check()
    assert str(refusal.value) == sentence


def test_entries_are_not_looked_at():
    """Under vmap nobody can."""

    def first(tokens):
        check_tokens("tokens", tokens)
        return tokens[:, 0]

    assert torch.func.vmap(first)(TOKENS.expand(3, 2, 2)).shape == (3, 2)
