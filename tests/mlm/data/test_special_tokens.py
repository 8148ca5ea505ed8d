import pytest
import torch

from ntpcompanion.languages.language import PADDING
from ntpcompanion.mlm.data.special_tokens import MASK, masked_at, padded_to


def test_padding_to_more_and_to_fewer_columns():
    short = torch.tensor([[1, 2, PADDING], [3, PADDING, PADDING]])
    assert padded_to(short, 4).tolist() == [[1, 2, -1, -1], [3, -1, -1, -1]]
    assert padded_to(short, 2).tolist() == [[1, 2], [3, -1]]
    with pytest.raises(ValueError, match="holds sentences of 3 words, the model has 1 `positions`"):
        padded_to(short, 1)


def test_only_a_word_at_the_position_is_hidden():
    tokens = torch.tensor([[1, 2, PADDING], [3, PADDING, PADDING]])
    assert masked_at(tokens, 1).tolist() == [[1, MASK, -1], [3, -1, -1]]
    assert tokens.tolist() == [[1, 2, -1], [3, -1, -1]]


@pytest.mark.parametrize("position", [-1, 3])
def test_a_position_that_is_no_column_is_refused(position):
    with pytest.raises(
        ValueError, match=f"`position` must lie in 0 … 2 .*`tokens`.*, got {position}"
    ):
        masked_at(torch.zeros(1, 3, dtype=torch.int64), position)
